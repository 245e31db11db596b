"""Measure how much less random the difference of two agents is with rewards by pulls.

python benchmarks/pairing.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab_gym import evaluate

TRIALS = 100
MOVIES = {"task": "movie", "pad": 0.4}
PAIRS: tuple[tuple[str, str, str, dict[str, Any], int], ...] = (
    ("movies", "c-ucb", "c-ts", MOVIES, 5000),
    ("movies", "c-ucb", "tc-ucb", MOVIES, 5000),
    ("movies", "ucb", "ts", MOVIES, 2000),
    ("movies", "ucb", "c-ucb", MOVIES, 2000),
    ("genres", "c-ucb", "c-ts", {}, 2000),
)


def measure() -> list[dict[str, Any]]:
    """Return, for each pair, the standard deviation of the difference and the correlation."""
    return [row(*pair) for pair in PAIRS]


def row(task: str, one: str, other: str, env_kwargs: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Compare two agents by rounds and by pulls."""
    found: dict[str, Any] = {"task": task, "pair": f"{one} - {other}", "rounds": rounds}
    for draws in ("rounds", "pulls"):
        results = evaluate(
            "CMAB-MovieLens-v0",
            [one, other],
            rounds,
            TRIALS,
            env_kwargs={**env_kwargs, "draws": draws},
            checkpoints=1,
        )
        first, second = (results.regret(agent)[:, -1] for agent in (one, other))
        found[f"{draws}_draws"] = {
            "mean": float((first - second).mean()),
            "sd": float((first - second).std(ddof=1)),
            "correlation": float(np.corrcoef(first, second)[0, 1]),
        }
    return found


def main() -> None:
    """Print the table of docs/comparing-agents.md."""
    print(
        "| task | difference | rounds | sd, by rounds | sd, by pulls | correlation | trials saved |"
    )
    print("| --- | --- | ---: | ---: | ---: | --- | ---: |")
    for each in measure():
        by_rounds, by_pulls = each["rounds_draws"], each["pulls_draws"]
        saved = (by_rounds["sd"] / by_pulls["sd"]) ** 2
        print(
            f"| {each['task']} | {each['pair']} | {each['rounds']:,} | {by_rounds['sd']:.1f} "
            f"| {by_pulls['sd']:.1f} | {by_rounds['correlation']:.2f} to "
            f"{by_pulls['correlation']:.2f} | {saved:.1f} times |"
        )


if __name__ == "__main__":
    main()
