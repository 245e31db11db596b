"""The report of a reproduction, in Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmab_gym.files import write_whole
from cmab_gym.paper.comparison import LEVEL_WIDENED, NOT_COMPARED, RATIO_WIDENED, Reproduced
from cmab_gym.paper.panels import AGENTS, READ_AT, READING_ERROR, figure_title

if TYPE_CHECKING:
    import pandas as pd

_INTRODUCTION = f"""# The paper's experiments, reproduced

Regret is the mean over trials at round {READ_AT}, or at the last round of shorter runs. The
published values were read from the figures, with an error of about {100 * READING_ERROR:.0f} %. C
counts the competitive arms: the exact value, and the paper's measurement of it in several runs.
Where the paper does not state a random choice, the range is that over several draws of it, and two
things within a draw are compared too: the ratios of regrets, and the order of the agents, by the
share of pairs in the published order. The paper's statements are judged by the share of regret from
the second half of the rounds ("bounded", "grows") or by a ratio of two regrets, with 4 standard
errors as the range.

- *agrees*: within the reading error and 4 standard errors of both means, or the statement holds;
- *in range*: inside the range over the options of a choice that the paper does not state (over
  draws, widened by {100 * LEVEL_WIDENED:.0f} % for a regret and {100 * RATIO_WIDENED:.0f} % for a
  ratio), or C inside the range of 95 % of its measurements;
- *differs*: none of these;
- *other data*: other data stand in for the paper's, so that nothing can agree;
- *not compared*: the run is too short, or its trials are too few to tell;
- *not published*: the paper has no such value.
"""


def write_report(path: Path, reproduced: Sequence[Reproduced], table: pd.DataFrame) -> None:
    """Write the report, whole or not at all.

    Args:
        path: the file.
        reproduced: the panels.
        table: their comparison.
    """
    lines = [_INTRODUCTION, _counts(table), _unexpected(table), *_known(table)]
    for figure in dict.fromkeys(each.panel.figure for each in reproduced):
        lines.append(f"## {figure_title(figure)}\n")
        lines.append(f"![Figure {figure}](fig{figure}.png)\n")
        for each in reproduced:
            if each.panel.figure == figure:
                lines.append(_panel(each, table[table["panel"] == each.panel.name]))
    text = "\n".join(lines)
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _counts(table: pd.DataFrame) -> str:
    counts = table["verdict"].value_counts()
    return "Rows: " + ", ".join(f"{verdict} {count}" for verdict, count in counts.items()) + ".\n"


def _unexpected(table: pd.DataFrame) -> str:
    rows = table[table["unexpected"]]
    if rows.empty:
        return "No verdict is unexpected.\n"
    lines = [f"- {row.panel}, {row.what}: {row.verdict}" for row in rows.itertuples()]
    return "\n".join(["## Unexpected verdicts\n", *lines, ""])


def _known(table: pd.DataFrame) -> list[str]:
    rows = table[(table["known"] != "") & (table["verdict"] != NOT_COMPARED)]
    if rows.empty:
        return []
    lines = [f"- {row.panel}, {row.what}: {row.known}." for row in rows.itertuples()]
    return ["## Known differences\n", *lines, ""]


def _panel(each: Reproduced, rows: pd.DataFrame) -> str:
    panel = each.panel
    env_kwargs = ", ".join(f"{key}={value}" for key, value in panel.env_kwargs.items())
    lines = [
        f"### ({panel.letter}) {panel.title}\n",
        f"`{panel.env_id}` with {env_kwargs}; {panel.parameters} parameters of the agents: "
        f"{', '.join(panel.agents.values())}.",
    ]
    if panel.note:
        lines.append(f"\nExact agreement cannot be expected: {panel.note}.")
    values = each.values()
    means = ", ".join(f"{agent} {_number(values[agent])}" for agent in AGENTS)
    counts = ", ".join(f"{c} ({n})" for c, n in sorted(Counter(each.measured).items()))
    lines.append(
        f"\nRegret: {means}. C in {len(each.measured)} measurements from 5000 pulls of the best "
        f"arm (how often): {counts}."
    )
    if each.without_bins is not None:
        lines.append(f"C is that of the table; without the table's bins it is {each.without_bins}.")
    lines.append("\n| | paper | ours | ratio | range | verdict |")
    lines.append("| --- | ---: | ---: | ---: | ---: | --- |")
    lines += [_cells(row) for row in rows.to_dict("records")]
    return "\n".join([*lines, *_options(each), ""])


def _cells(row: dict[Any, Any]) -> str:
    known = not math.isnan(row["published"])
    spread = row["low"] < row["high"]
    number = _count if row["what"] == "C" else _number
    cells = (
        row["what"],
        number(row["published"]) if known else row["place"],
        number(row["ours"]),
        f"{row['ratio']:.2f}" if known and row["verdict"] != NOT_COMPARED else "",
        f"{number(row['low'])} to {number(row['high'])}" if spread else "",
        row["verdict"],
    )
    return "| " + " | ".join(cells) + " |"


def _options(each: Reproduced) -> list[str]:
    """Show the values with each option of the choices that the paper does not state."""
    lines = []
    published: dict[str, Any] = {**each.panel.regret, "C": each.panel.competitive}
    for choice in each.panel.choices:
        options = each.options.get(choice.keyword, {})
        if not options:
            continue
        lines.append(f"\nThe paper does not say {choice.about}. By `{choice.keyword}`:")
        lines.append(f"\n| | paper | {' | '.join(str(option) for option in options)} |")
        lines.append("| --- | ---: |" + " ---: |" * len(options))
        for what in (*AGENTS, "C"):
            number = _count if what == "C" else _number
            cells = [number(values[what]) for values in options.values()]
            paper = number(published[what]) if published.get(what) else ""
            lines.append(f"| {what} | {paper} | {' | '.join(cells)} |")
    return lines


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 3}f}"


def _count(value: float) -> str:
    return f"{value:.0f}"
