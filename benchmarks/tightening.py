"""Measure what tightened pseudo-rewards gain and cost, and how often wrong entries mislead them."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from speed import LOOPS, loops

import cmab_gym
from cmab_gym.agents import UCB, CBandit, TightenedCBandit
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.evaluation.playing.batch import find_model

RATINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "genres, p = 0.25": ("CMAB-MovieLens-v0", {"mask": 0.25}),
    "genres, p = 0.5": ("CMAB-MovieLens-v0", {"mask": 0.5}),
    "genres, p = 0.7": ("CMAB-MovieLens-v0", {"mask": 0.7}),
    "movies, q = 0.1": ("CMAB-MovieLens-v0", {"task": "movie", "pad": 0.1}),
    "movies, q = 0.4": ("CMAB-MovieLens-v0", {"task": "movie", "pad": 0.4}),
    "movies, q = 0.6": ("CMAB-MovieLens-v0", {"task": "movie", "pad": 0.6}),
    "books, p = 0.1": ("CMAB-Goodreads-v0", {}),
}
PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "table1-a": ("CMAB-Tabular-v0", {"preset": "table1-a"}),
    "table1-b": ("CMAB-Tabular-v0", {"preset": "table1-b"}),
    "three-armed": ("CMAB-Tabular-v0", {"preset": "three-armed"}),
    "appendix": ("CMAB-Tabular-v0", {"preset": "appendix"}),
    **RATINGS,
}
ROUNDS, TRIALS, SEED = 5000, 100, 0


def measure() -> dict[str, Any]:
    """Return the comparison of C-UCB and tc-ucb for each problem."""
    # Load numba and SciPy, whose time would count for the first problem.
    cmab_gym.evaluate("CMAB-Tabular-v0", ["tc-ucb"], 100, 2, SEED)
    return {name: compare(*problem) for name, problem in PROBLEMS.items()}


def compare(env_id: str, env_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Run both agents with both kinds of loops; times are CPU seconds for all trials."""
    found: dict[str, Any] = {"c-ucb": {"seconds": {}}, "tc-ucb": {"seconds": {}}}
    best = find_model(env_id, env_kwargs).best_arms
    for name, kind in (("c-ucb", CBandit), ("tc-ucb", TightenedCBandit)):
        for form in LOOPS:
            start = time.process_time()
            with loops(form):
                cmab_gym.evaluate(env_id, [name], ROUNDS, TRIALS, SEED, env_kwargs=env_kwargs)
            found[name]["seconds"][form] = round(time.process_time() - start, 3)
        agent = watched(kind, best)
        results = cmab_gym.evaluate(
            env_id, {name: agent}, ROUNDS, TRIALS, SEED, env_kwargs=env_kwargs
        )
        found[name] |= gained(results.final(name), agent)
    found["cost"] = {
        form: round(found["tc-ucb"]["seconds"][form] / found["c-ucb"]["seconds"][form], 2)
        for form in LOOPS
    }
    return found


def gained(regret: FloatArray, agent: Any) -> dict[str, Any]:
    """Return regret, and how often the table misled; both kinds of loops give the same."""
    found = {
        "regret": round(float(regret.mean()), 2),
        "se": round(float(regret.std(ddof=1) / np.sqrt(TRIALS)), 2),
        "share_of_rounds_without_a_best_arm": round(float(np.mean(agent.misled)), 4),
    }
    bounds = getattr(agent, "tight_bounds", None)
    if bounds is not None:
        vectors = bounds.kept.tightened
        found |= {"programs": vectors.solved, "infeasible": vectors.infeasible}
    return found


def watched(kind: type[CBandit], best: BoolArray) -> Any:
    """Make an agent that counts the rounds in which it has ruled out every best arm."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        misled: list[float]

        def __deepcopy__(self, _: Any) -> Any:
            return self  # so that its counts can be read after the evaluation

        def allowed_arms(self) -> BoolArray:
            allowed = super().allowed_arms()
            self.misled.append(1 - float(allowed[:, best].any(axis=1).mean()))
            return allowed

    agent = Watched(UCB())
    agent.misled = []
    return agent


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
