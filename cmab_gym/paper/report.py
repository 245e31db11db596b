"""The report of a reproduction, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cmab_gym.files import write_whole
from cmab_gym.paper.comparison import Reproduced
from cmab_gym.paper.panels import AGENTS, FIGURES, READ_AT

if TYPE_CHECKING:
    import pandas as pd

_INTRODUCTION = f"""# The paper's experiments, reproduced

Regret is the mean over trials at round {READ_AT} (in shorter runs at the last round), published and
ours; the published values were read from the figures, with an error of about 2 %. C counts the
competitive arms: the exact value, and the paper's measurement of it in several runs. Where the
paper does not state a random choice, the range is that over several draws of it.

Verdicts: *agrees*, within 5 % for UCB and TS and 20 % for C-UCB and C-TS, beyond the reading error;
*in range*, inside the range over draws widened by 20 %, or C inside that of its measurements;
*differs*; *other data*, where other data stand in for the paper's.
"""


def write_report(path: Path, reproduced: Sequence[Reproduced], table: pd.DataFrame) -> None:
    """Write the report, whole or not at all.

    Args:
        path: the file.
        reproduced: the panels.
        table: their comparison.
    """
    lines = [_INTRODUCTION, _counts(table)]
    for figure in dict.fromkeys(each.panel.figure for each in reproduced):
        lines.append(f"\n## Figure {figure}: {FIGURES.get(figure, '')}\n")
        lines.append(f"![Figure {figure}](fig{figure}.png)\n")
        for each in reproduced:
            if each.panel.figure == figure:
                lines.append(_panel(each, table[table["panel"] == each.panel.name]))
    text = "\n".join(lines)
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def _counts(table: pd.DataFrame) -> str:
    counts = table["verdict"].value_counts()
    return "Total: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + ".\n"


def _panel(each: Reproduced, rows: pd.DataFrame) -> str:
    panel = each.panel
    by_what = {row["what"]: row for row in rows.to_dict("records")}
    lines = [f"### ({panel.letter}) {panel.title}\n"]
    env_kwargs = ", ".join(f"{key}={value}" for key, value in panel.env_kwargs.items())
    lines.append(
        f"`{panel.env_id}` with {env_kwargs}; {panel.parameters} parameters of the agents."
    )
    if panel.note:
        lines.append(f"Exact agreement cannot be expected: {panel.note}.")
    lines.append("\n| | published | ours | ratio | range | verdict |")
    lines.append("| --- | ---: | ---: | ---: | ---: | --- |")
    for what in (*AGENTS, "C"):
        row = by_what[what]
        digits = 0 if what == "C" or row["ours"] >= 100 else 1
        known = row["published"] == row["published"] and row["published"] is not None
        spread = row["low"] != row["high"]
        cells = (
            what,
            f"{row['published']:.0f}" if known else "",
            f"{row['ours']:.{digits}f}",
            f"{row['ratio']:.2f}" if known else "",
            f"{row['low']:.{digits}f} to {row['high']:.{digits}f}" if spread else "",
            row["verdict"],
        )
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    measured = ", ".join(str(c) for c in sorted(set(each.measured)))
    lines.append(f"\nC measured from 5000 pulls of the best arm: {measured}.\n")
    return "\n".join(lines)
