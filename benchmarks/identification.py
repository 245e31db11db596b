"""Count the pulls until agents know the best arm: the table of `docs/identification.md`.

python benchmarks/identification.py [CASE ...]

Prints the rows of the cases, by default of all; with --write it replaces the table, given all.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import page
from process import HERE

from cmab_gym.agents.identification import IDENTIFICATION_AGENTS
from cmab_gym.evaluation import identify
from cmab_gym.evaluation.tables import identification_table
from cmab_gym.models.presets import LATENT

DELTA = 0.05
# Environment, keyword arguments, trials, largest number of pulls.
CASES = {
    "table1-a": ("CMAB-Tabular-v0", {"preset": "table1-a"}, 200, 100_000),
    **{
        # The best arm of three-arm-c is 0.024 ahead, which takes a hundred times the pulls.
        name: ("CMAB-Latent-v0", {"preset": name}, 20 if name == "three-arm-c" else 200, 100_000)
        for name in LATENT
    },
    "genres": ("CMAB-MovieLens-v0", {"task": "genre"}, 200, 100_000),
    # The second best movie is 0.026 stars behind: see the page.
    "movies": ("CMAB-MovieLens-v0", {"task": "movie"}, 10, 20_000),
}


def rows(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Measure, and yield the header and a row for each case and agent."""
    yield "case", *identification_table([]).header
    for name in names:
        env_id, env_kwargs, trials, max_rounds = CASES[name]
        for agent in IDENTIFICATION_AGENTS:
            found = identify(
                env_id, agent, DELTA, trials, env_kwargs=env_kwargs, max_rounds=max_rounds
            )
            (row,) = identification_table([found]).rows
            yield f"{name}, {trials} trials", *row


def main() -> None:
    """Measure the chosen cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--write", action="store_true", help="replace the table of the page")
    chosen = parser.parse_args()
    found = []
    for row in rows(chosen.cases or list(CASES)):
        print(" | ".join(row), flush=True)
        found.append(row)
    if chosen.write:
        target = HERE.parent / "docs" / "identification.md"
        page.replace({"identification": page.markdown(found)}, target)


if __name__ == "__main__":
    main()
