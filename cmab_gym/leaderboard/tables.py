"""The cells of the leaderboard's tables, on the terminal and on its page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cmab_gym.evaluation.tables import Table
from cmab_gym.leaderboard.suite import FAMILIES

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"iqm": "IQM", "mean": "mean"}


def ranked_cells(table: pd.DataFrame, by: str = "iqm") -> Table:
    """Return the table of the agents that have a place, with what decides it in front."""
    first, second = (by, *(name for name in _NAMES if name != by))
    header = (
        "agent",
        "place",
        _NAMES[first],
        "95 % interval",
        "places",
        _NAMES[second],
        "mean rank",
        *FAMILIES,
        "µs",
    )
    rows = [
        (
            str(row["agent"]),
            f"{row['place']:.0f}",
            f"{row[first]:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            f"{row['place_low']:.0f} to {row['place_high']:.0f}",
            f"{row[second]:.3f}",
            f"{row['mean_rank']:.1f}",
            *(_cell(row[family], ".2f") for family in FAMILIES),
            f"{row['microseconds']:.1f}",
        )
        for row in table.to_dict("records")
    ]
    return Table(header, rows)


def other_cells(table: pd.DataFrame, by: str = "iqm") -> Table:
    """Return the table of the agents that have no place."""
    header = (
        "agent",
        "tasks",
        _NAMES[by],
        "95 % interval",
        "would be",
        *FAMILIES,
        "µs",
        "not ranked",
    )
    rows = [
        (
            str(row["agent"]),
            f"{row['tasks']}",
            f"{row[by]:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            _cell(row["would_be"], ".0f"),
            *(_cell(row[family], ".2f") for family in FAMILIES),
            f"{row['microseconds']:.1f}",
            f"told {row['told']}" if row["told"] else "does not play all tasks",
        )
        for row in table.to_dict("records")
    ]
    return Table(header, rows)


def _cell(value: float, form: str) -> str:
    return "-" if math.isnan(value) else f"{value:{form}}"
