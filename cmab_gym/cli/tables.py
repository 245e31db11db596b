"""What the command line prints: tables that fit the terminal, progress bars and notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

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
    room = _terminal_width(sys.stdout) or PIPE_WIDTH
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
    lines, room = str(note).split("\n"), _terminal_width(stream)
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


@contextmanager
def progress_bar(what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, once it has advanced; none with `--quiet`.

    Args:
        what: the word in front of the bar, such as "running".
        total: number of units; None if it is unknown.
        unit: "rounds", "panels", or "bytes", which are shown as file sizes.

    Yields:
        A function to call with the number of units done since the last call.
    """
    count = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    label = TextColumn("" if unit == "bytes" else unit)
    columns = (TextColumn(what), BarColumn(), count, label, TimeRemainingColumn())
    room = None if _terminal_width(sys.stderr) else PIPE_WIDTH
    bar = Progress(*columns, console=ErrorConsole(stderr=True, highlight=False, width=room))
    task = bar.add_task(what, total=total)

    def advance(units: int) -> None:
        with suppress(OSError):  # the run goes on without its terminal
            if not (bar.live.is_started or current_mode().quiet):
                bar.start()
            bar.advance(task, units)

    try:
        yield advance
    finally:
        with suppress(OSError):
            if bar.live.is_started:
                bar.stop()


class ErrorConsole(Console):
    """A console that raises BrokenPipeError when its output is closed; rich would exit."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled."""
        raise BrokenPipeError


def _terminal_width(stream: Any) -> int | None:
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
