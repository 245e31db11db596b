"""Record the leaderboard of the built-in agents, and measure the speed of all of them.

python benchmarks/leaderboard.py [--only board speed] [--runs FOLDER] [--replay]

It plays the agents that `cmab_gym/leaderboard/records.npz` does not have (with --replay all of
them, which takes ten minutes of one core), and writes that file, the tables of docs/leaderboard.md
and its pictures. Runs that are finished in FOLDER are not repeated.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import page
from process import HERE
from scipy.stats import rankdata

from cmab_gym import make_agent
from cmab_gym.agents.registry import INDEX_AGENTS, agents_by_idea, is_policy
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.playing.batch import find_environment, make_environment
from cmab_gym.evaluation.results.results import half_width
from cmab_gym.evaluation.tables import Table
from cmab_gym.leaderboard import (
    BUNDLED,
    SUITE,
    Records,
    built_in_agents,
    leaderboard,
    play,
    plot_profile,
    plot_ranks,
)
from cmab_gym.leaderboard.suite import FAMILIES
from cmab_gym.leaderboard.tables import other_cells, ranked_cells
from cmab_gym.streams import TrialStreams
from cmab_gym.told_problem import ToldProblem

PAGE = HERE.parent / "docs" / "leaderboard.md"
TASKS = PAGE.with_name("leaderboard-tasks.md")
IMAGES = PAGE.parent / "images"
FILMS: tuple[str, dict[str, Any]] = ("CMAB-MovieLens-v0", {"task": "movie"})  # 50 arms, 1 to 5
TRIALS, HORIZON, PARTS, ROUNDS = 100, 5000, 10, 20  # of a measurement of speed
# Ideas whose agents cannot play the bundled films, and agents that cannot.
OTHER_IDEAS = {"learning", "from the factors of a survey", "from the classes of a survey"}
OTHER_AGENTS = {"ucucb", "latent-ts", "ucb-n", "graves-lai"}


def record(runs: str, replay: bool) -> Records:
    """Play the agents that are not recorded yet, and write the records."""
    known = None if replay or not BUNDLED.is_file() else Records.load(BUNDLED, SUITE)
    new = [name for name in built_in_agents() if known is None or name not in known.agents]
    if new:
        played = play(new, SUITE, runs)
        records = played if known is None else known + played
        records.save(BUNDLED)
    return Records.load(BUNDLED, SUITE)


def tables(records: Records) -> dict[str, str]:
    """Return the tables of the leaderboard, as Markdown."""
    board = leaderboard(records)
    has_place = board["place"].notna()
    made = {row.agent: row.made for row in records.rows}
    versions = made["random"]["versions"]
    packages = ("cmab-gym", "numpy", "scipy", "numba", "python")
    days = sorted({own["started"][:10] for own in made.values()})
    return {
        "suite": page.markdown(suite_rows()),
        "board": _table(ranked_cells(board[has_place])),
        "others": _table(other_cells(board[~has_place])),
        "made": f"Recorded on {' to '.join(dict.fromkeys([days[0], days[-1]]))} with "
        + ", ".join(f"{name} {versions[name]}" for name in packages if name in versions)
        + ".\n",
    }


def _table(table: Table) -> str:
    return page.markdown([table.header, *((f"`{name}`", *rest) for name, *rest in table.rows)])


def task_tables(records: Records) -> dict[str, str]:
    """Return a table of final regret for each family of tasks, as Markdown."""
    return {family: page.markdown(task_rows(records, family)) for family in FAMILIES}


def task_rows(records: Records, family: str) -> Iterator[tuple[str, ...]]:
    """Show the final regret of all agents on the tasks of a family, the best on average first."""
    own = [i for i, task in enumerate(records.suite.tasks) if task.family == family]
    yield "agent", *(records.suite.tasks[i].name for i in own)
    regret = np.array([row.regret for row in records.rows])[:, own] * records.scales[own, None]
    means = regret.mean(axis=2)
    ranked = np.array([not row.told for row in records.rows])[:, None]
    ranks = rankdata(np.where(ranked, means, np.nan), axis=0, nan_policy="omit")
    order = (means / records.scales[own]).mean(axis=1).argsort()  # those that do not play are last
    for a in order[~np.isnan(means[order]).all(axis=1)]:
        yield f"`{records.rows[a].agent}`", *map(_cell, regret[a], ranks[a])


def _cell(regret: FloatArray, rank: float) -> str:
    if np.isnan(regret).any():
        return ""
    half = half_width(regret.size, float(regret.std(ddof=1)))
    place = "" if np.isnan(rank) else f" ({rank:g})"
    return f"{regret.mean():.1f} ± {half:.1f}{place}"


def suite_rows() -> Iterator[tuple[str, ...]]:
    """Show the families of tasks."""
    yield "family", "tasks", "names", "what they are"
    for family, about in FAMILIES.items():
        own = [task.name for task in SUITE.tasks if task.family == family]
        yield family, f"{len(own)}", ", ".join(own), about


def speed() -> list[tuple[str, ...]]:
    """Return the rounds a second of every agent and its correlated versions."""
    rows = [("agent", *(f"{prefix}NAME" for prefix in INDEX_AGENTS))]
    for idea, classes in agents_by_idea().items():
        for name, cls in classes.items():
            if idea in OTHER_IDEAS or name in OTHER_AGENTS:
                continue
            prefixes = tuple(INDEX_AGENTS) if is_policy(cls) else ("",)
            speeds = [f"{rounds_per_second(prefix + name):,}" for prefix in prefixes]
            rows.append((name, *speeds, *[""] * (len(INDEX_AGENTS) - len(speeds))))
    return rows


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


def main() -> None:
    """Record, measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=["board", "speed"], default=["board", "speed"])
    parser.add_argument("--runs", default="leaderboard-runs", help="folder of the runs")
    parser.add_argument("--replay", action="store_true", help="play all agents again")
    chosen = parser.parse_args()
    if "board" in chosen.only:
        records = record(chosen.runs, chosen.replay)
        page.replace(tables(records), PAGE)
        page.replace(task_tables(records), TASKS)
        plot_profile(records, IMAGES / "leaderboard-profile.png")
        plot_ranks(records, IMAGES / "leaderboard-ranks.png")
    if "speed" in chosen.only:
        os.environ["CMAB_GYM_COMPILED"] = "0"  # all agents in NumPy
        page.replace({"speed": page.markdown(speed())}, PAGE)


if __name__ == "__main__":
    main()
