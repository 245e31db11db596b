"""Measure what the bins of a latent source's table cost in regret.

python benchmarks/bins.py

It prints a table and writes it into docs/environments.md. Rewards are drawn by pulls, so that every
table meets the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import page
from process import HERE

from cmab_gym import evaluate
from cmab_gym.arrays import FloatArray
from cmab_gym.models.presets import LATENT

PAGE = HERE.parent / "docs" / "environments.md"
AGENTS = ("c-ucb", "c-ts")
FINEST, BINS = 100_000, (100, 500, 1000, 2000, 8000)
ROUNDS, TRIALS, SEED, USUAL_TRIALS = 5000, 400, 0, 100


def rows() -> Iterator[Sequence[str]]:
    """Compare the tables on every preset."""
    yield "preset", "agent", f"{FINEST:,} bins", *(f"{bins:,} bins" for bins in BINS)
    for preset in LATENT:
        finest = regrets(preset, FINEST)
        others = {bins: regrets(preset, bins) for bins in BINS}
        for agent, regret in finest.items():
            noise = regret.std(ddof=1) / np.sqrt(USUAL_TRIALS)
            differences = [others[bins][agent] - regret for bins in BINS]
            yield (
                f"`{preset}`",
                f"`{agent}`",
                f"{regret.mean():.2f} ± {noise:.2f}",
                *(page.with_error(difference, 2, "+") for difference in differences),
            )


def regrets(preset: str, bins: int) -> dict[str, FloatArray]:
    """Return the regret of every trial by agent."""
    env_kwargs = {"preset": preset, "bins": bins}
    results = evaluate("CMAB-Latent-v0", AGENTS, ROUNDS, TRIALS, SEED, env_kwargs=env_kwargs)
    return {agent: results.final(agent) for agent in AGENTS}


def main() -> None:
    """Measure, print, and rewrite the page's table."""
    table = page.markdown(rows())
    print(table)
    page.replace({"bins": table}, PAGE)


if __name__ == "__main__":
    main()
