"""Measure what a C-Bandit gains and loses if an arm is significant after 8 ln t pulls.

python benchmarks/significance.py

It prints a table and writes it into docs/significance.md. Rewards are drawn by pulls, so that both
rules meet the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import page
from process import HERE
from tightening import RATINGS

from cmab_gym import evaluate
from cmab_gym.models.presets import LATENT, TABULAR

PAGE = HERE.parent / "docs" / "significance.md"
FACTOR, AGENTS = 8, ("c-ucb", "c-ts")
EARLY, ROUNDS, TRIALS, SEED = 5000, 100_000, 100, 0
PROBLEMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"`{name}`": ("CMAB-Tabular-v0", {"preset": name}) for name in TABULAR},
    **{f"`{name}`": ("CMAB-Latent-v0", {"preset": name}) for name in LATENT},
    **RATINGS,
}


def rows() -> Iterator[Sequence[str]]:
    """Compare both rules on every problem."""
    rounds = (f"{EARLY:,}", f"{ROUNDS:,}")
    differences = [f"difference, {each}" for each in rounds]
    yield "problem", "agent", *rounds, *differences, "worse trials", "worst"
    for name, (env_id, env_kwargs) in PROBLEMS.items():
        for agent in AGENTS:
            plain, option = agent, f"{agent}(log_factor={FACTOR})"
            results = evaluate(
                env_id,
                [plain, option],
                ROUNDS,
                TRIALS,
                SEED,
                env_kwargs=env_kwargs,
                checkpoints=[EARLY],
            )
            regret = results.regret(plain)
            difference = results.regret(option) - regret
            yield (
                name,
                f"`{agent}`",
                *(page.with_error(column) for column in regret.T),
                *(page.with_error(column, sign="+") for column in difference.T),
                f"{np.count_nonzero(difference[:, -1] > 0)}",
                f"{difference[:, -1].max():+,.0f}",
            )


def main() -> None:
    """Measure, print, and rewrite the page's table."""
    found = []
    for row in rows():
        print(" | ".join(row), flush=True)
        found.append(row)
    page.replace({"significance": page.markdown(found)}, PAGE)


if __name__ == "__main__":
    main()
