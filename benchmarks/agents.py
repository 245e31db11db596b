"""Compare all agents: their speed, and their regret on every bundled problem.

python benchmarks/agents.py [--only speed tabular latent independent survey] [--trials 30]

It writes the tables of docs/agents-compared.md, and takes about ten minutes of one core.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import page
from process import HERE

from cmab_gym import evaluate, make_agent
from cmab_gym.agents.registry import INDEX_AGENTS, agents_by_idea, is_policy
from cmab_gym.envs.independent import REWARDS
from cmab_gym.evaluation import Results
from cmab_gym.evaluation.batch import find_environment, make_environment
from cmab_gym.models.presets import LATENT, TABULAR
from cmab_gym.streams import TrialStreams
from cmab_gym.told_problem import ToldProblem

PAGE = HERE.parent / "docs" / "agents-compared.md"
FILMS = ("CMAB-MovieLens-v0", {"task": "movie"})  # 50 arms, 1 to 5 stars
TRIALS, HORIZON, PARTS, ROUNDS = 100, 5000, 10, 20  # of a measurement of speed
Environments = Mapping[str, tuple[str, dict[str, Any]]]
FAMILIES: dict[str, Environments] = {
    "tabular": {name: ("CMAB-Tabular-v0", {"preset": name}) for name in TABULAR},
    "latent": {name: ("CMAB-Latent-v0", {"preset": name}) for name in LATENT},
    "independent": {rewards: ("CMAB-Independent-v0", {"rewards": rewards}) for rewards in REWARDS},
    "survey": {
        "MovieLens, genres": ("CMAB-MovieLens-v0", {"task": "genre"}),
        "MovieLens, films": FILMS,
        "Goodreads": ("CMAB-Goodreads-v0", {}),
    },
}

# Agents that cannot play everywhere. Some are told more: of the hidden source, or of all rewards,
# which those drawn by pulls do not have. `graves-lai` needs few joint outcomes.
FAMILIES_OF: dict[str, tuple[str, ...]] = {
    "ucucb": ("tabular", "latent"),
    "latent-ts": ("tabular", "latent"),
    "ucb-n": (),
    "graves-lai": ("tabular",),
}


def names(family: str) -> dict[str, list[str]]:
    """Return the versions of each agent that plays on a family; agents of the extra rl do not.

    On independent arms the correlated versions are the agent itself.
    """
    left_out = {"learning"}
    # Bundled tables have neither.
    left_out |= {"from the factors of a survey", "from the classes of a survey"}
    left_out |= {"from a survey"} if family != "survey" else set()
    prefixes = ("",) if family == "independent" else tuple(INDEX_AGENTS)
    return {
        name: [prefix + name for prefix in (prefixes if is_policy(cls) else ("",))]
        for idea, classes in agents_by_idea().items()
        if idea not in left_out
        for name, cls in classes.items()
        if family in FAMILIES_OF.get(name, FAMILIES)
    }


def rounds_per_second(name: str) -> int:
    """Return rounds a second of CPU time of an agent and its environment, in NumPy.

    The best of 10 times 20 rounds, after 200 others: other processes only slow them down.
    """
    env_id, env_kwargs = FILMS
    env = make_environment(find_environment(env_id, env_kwargs), TRIALS, HORIZON, env_kwargs)
    env.reset(seed=0)
    model, agent = env.unwrapped.model, make_agent(name)
    told = ToldProblem(model.problem.with_horizon(HORIZON), model.means)
    agent.reset(told, TRIALS, TrialStreams.for_trials(0, range(TRIALS)))

    def play(rounds: int) -> float:
        start = time.process_time()
        for _ in range(rounds):
            arms = agent.act()
            agent.update(arms, env.step(arms)[1])
        return time.process_time() - start

    play(200)
    return round(TRIALS * ROUNDS / min(play(ROUNDS) for _ in range(PARTS)))


def speed() -> list[tuple[str, ...]]:
    """Return the rounds a second of every agent and its correlated versions."""
    rows = [("agent", *(f"{prefix}NAME" for prefix in INDEX_AGENTS))]
    for name, versions in names("survey").items():
        speeds = [f"{rounds_per_second(version):,}" for version in versions]
        rows.append((name, *speeds, *[""] * (len(INDEX_AGENTS) - len(speeds))))
    return rows


def regret(family: str, rounds: int, trials: int) -> list[tuple[str, ...]]:
    """Return the regret of every agent on the environments of a family."""
    agents = [version for versions in names(family).values() for version in versions]
    results = {
        label: evaluate(env_id, agents, rounds, trials, env_kwargs=kwargs)
        for label, (env_id, kwargs) in FAMILIES[family].items()
    }
    return rows_of(results, agents)


def rows_of(results: Mapping[str, Results], agents: list[str]) -> list[tuple[str, ...]]:
    """Return a row for each agent, the best mean rank first; those told more have no rank."""
    cells: dict[str, list[str]] = {agent: [] for agent in agents}
    ranks: dict[str, list[int]] = {agent: [] for agent in agents}
    for found in results.values():
        summary, place = found.summary().set_index("agent"), 0
        for agent, row in summary.sort_values("regret", kind="stable").iterrows():
            cell = f"{row['regret']:.1f} ± {row['regret'] - row['low']:.1f}"
            if agent not in found.manifest["told_more"]:
                place += 1
                ranks[str(agent)].append(place)
                cell += f" ({place})"
            cells[str(agent)].append(cell)
    mean = {agent: float(np.mean(own)) if own else 0.0 for agent, own in ranks.items()}
    rows = [("agent", "mean rank", *results)]
    for agent in sorted(agents, key=lambda agent: mean[agent]):
        rows.append((agent, f"{mean[agent]:.1f}" if ranks[agent] else "", *cells[agent]))
    return rows


def main() -> None:
    """Measure, print, and write the page."""
    every = ["speed", *FAMILIES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=every, default=every)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--trials", type=int, default=30)
    chosen = parser.parse_args()
    os.environ["CMAB_GYM_COMPILED"] = "0"  # all agents in NumPy
    for name in chosen.only:
        rows = speed() if name == "speed" else regret(name, chosen.rounds, chosen.trials)
        table = page.markdown(rows)
        print(f"{name}\n\n{table}\n", flush=True)
        page.replace({name: table}, PAGE)


if __name__ == "__main__":
    main()
