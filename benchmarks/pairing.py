"""Measure how much less random the difference of two agents is with rewards by pulls.

python benchmarks/pairing.py

It prints a table and writes it into docs/comparing-agents.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import page
from process import HERE

from cmab_gym import evaluate
from cmab_gym.arrays import FloatArray

PAGE = HERE.parent / "docs" / "comparing-agents.md"
TRIALS = 100
MOVIES = ("movies, `pad=0.4`", {"task": "movie", "pad": 0.4})
GENRES: tuple[str, dict[str, Any]] = ("genres", {})
# Task, two agents, rounds.
PAIRS = (
    (MOVIES, "c-ucb", "c-ts", 5000),
    (MOVIES, "c-ucb", "tc-ucb", 5000),
    (MOVIES, "ucb", "ts", 2000),
    (MOVIES, "ucb", "c-ucb", 2000),
    (GENRES, "c-ucb", "c-ts", 2000),
)


def rows() -> Iterator[Sequence[str]]:
    """Compare the agents of each pair with rewards by rounds and by pulls."""
    yield "task", "difference", "rounds", "by rounds", "by pulls", "correlation", "ratio of trials"
    for (task, env_kwargs), first, second, rounds in PAIRS:
        found = [
            final_regret((first, second), rounds, {**env_kwargs, "draws": draws})
            for draws in ("rounds", "pulls")
        ]
        by_rounds, by_pulls = (float(np.std(one - other, ddof=1)) for one, other in found)
        correlations = (f"{np.corrcoef(*regrets)[0, 1]:.2f}" for regrets in found)
        ratio = (by_rounds / by_pulls) ** 2
        yield (
            *(task, f"{first} - {second}", f"{rounds:,}"),
            *(f"{by_rounds:.1f}", f"{by_pulls:.1f}"),
            *(" to ".join(correlations), f"{ratio:,.1f}"),
        )


def final_regret(
    agents: Sequence[str], rounds: int, env_kwargs: dict[str, Any]
) -> list[FloatArray]:
    """Return the final regret of each agent in all trials."""
    results = evaluate(
        "CMAB-MovieLens-v0", agents, rounds, TRIALS, env_kwargs=env_kwargs, checkpoints=1
    )
    return [results.final(agent) for agent in agents]


def main() -> None:
    """Measure, print, and rewrite the page's table."""
    table = page.markdown(rows())
    print(table)
    page.replace({"pairing": table}, PAGE)


if __name__ == "__main__":
    main()
