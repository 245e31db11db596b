"""Print tables and notes that fit the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cmab_gym.cli.layout import table_lines, wrapped
from cmab_gym.cli.output_mode import current_mode
from cmab_gym.envs_data.surveys.unknown import unknown_note
from cmab_gym.text import encodable, shown, write

PIPE_WIDTH = 160  # columns of a file or a pipe, which have no width of their own


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], text: Collection[str] = ()
) -> None:
    """Print a table that fits the terminal, by `cmab_gym.cli.layout.table_lines`.

    Args:
        header: names of the columns.
        rows: their cells.
        text: names of the columns whose cells may wrap.
    """
    if not current_mode().text:
        return
    can_show = encodable(sys.stdout)
    cells = [[shown(cell, can_show) for cell in row] for row in rows]
    room = terminal_width(sys.stdout) or PIPE_WIDTH
    write("\n".join(table_lines(header, cells, text, room)))


def say(note: object, stderr: bool = False) -> None:
    """Print a note; in a terminal it wraps between words.

    Args:
        note: lines of text.
        stderr: whether to print it on standard error, also with `--json`.
    """
    if current_mode().quiet or not (stderr or current_mode().text):
        return
    stream = sys.stderr if stderr else sys.stdout
    lines, room = str(note).split("\n"), terminal_width(stream)
    if room is not None:
        lines = [part for line in lines for part in wrapped(line, room, fold=False)]
    write("\n".join(lines), stream)


def print_survey_notes(provenance: Mapping[str, Any]) -> None:
    """Print on standard error which ratings a survey used, and what is unknown.

    Args:
        provenance: that of a model or of results; empty if the rewards are not from a survey.
    """
    if "file" in provenance:
        say(f"ratings: {provenance['file']} ({provenance['source']})", stderr=True)
    counts = provenance.get("left_out", {})
    some = [f"{count:,} {reason}" for reason, count in counts.items() if count]
    if some:
        say(f"left out of {provenance['source']}: {', '.join(some)}", stderr=True)
    if note := unknown_note(provenance):
        say(note, stderr=True)


def terminal_width(stream: Any) -> int | None:
    """Return how many columns a stream's terminal has; None if it has no terminal."""
    size = terminal_size(stream)
    return None if size is None else size[0]


def terminal_size(stream: Any) -> tuple[int, int] | None:
    """Return the columns and rows of a stream's terminal; None if it has no terminal."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (AttributeError, ValueError, OSError):
        return None
    return (size.columns, size.lines) if size.columns else None
