"""What the command line prints: tables that fit the terminal, progress bars and notes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from cmab_gym.envs_data.unknown import unknown_note

PIPE_WIDTH = 160  # columns of a file or a pipe, which have no width of their own


class _Console(Console):
    """A console that raises when its reader has closed it, instead of ending the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """Return a console for standard output or standard error."""
    stream = sys.stderr if stderr else sys.stdout
    terminal = stream is not None and stream.isatty()
    return _Console(stderr=stderr, highlight=False, width=None if terminal else PIPE_WIDTH)


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], droppable: Collection[str] = ()
) -> None:
    """Print a table; columns of numbers are never cut.

    Args:
        header: names of the columns.
        rows: their cells.
        droppable: names of columns to leave out, the first one first, while the table is too wide.
    """
    out = console()
    kept = _fitting(header, rows, droppable, out.width)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in kept:
        numeric = rows[0][column].lstrip("+-")[:1].isdigit() if rows else False
        table.add_column(
            header[column],
            justify="right" if numeric else "left",
            no_wrap=numeric or column == 0,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(escape(row[column]) for column in kept))
    out.print(table)


def _fitting(
    header: Sequence[str], rows: Sequence[Sequence[str]], droppable: Collection[str], width: int
) -> list[int]:
    """Return the indices of the columns to print."""
    kept = list(range(len(header)))
    sizes = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for name in droppable:
        if sum(sizes[column] + 2 for column in kept) <= width:
            break
        kept.remove(header.index(name))
    return kept


def print_survey_notes(provenance: Mapping[str, Any]) -> None:
    """Print on standard error which ratings a survey used, and what is unknown.

    Args:
        provenance: that of a model or of results; empty if the rewards are not from a survey.
    """
    if "file" in provenance:
        print(f"ratings: {provenance['file']} ({provenance['source']})", file=sys.stderr)
    counts = provenance.get("left_out", {})
    some = [f"{count:,} {reason}" for reason, count in counts.items() if count]
    if some:
        print(f"left out of {provenance['source']}: {', '.join(some)}", file=sys.stderr)
    if note := unknown_note(provenance):
        print(note, file=sys.stderr)


@contextmanager
def progress_bar(what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, once it has advanced.

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
    bar = Progress(*columns, console=console(stderr=True))
    task = bar.add_task(what, total=total)

    def advance(units: int) -> None:
        with suppress(OSError):  # a terminal that is gone must not end the run
            if not bar.live.is_started:
                bar.start()
            bar.advance(task, units)

    try:
        yield advance
    finally:
        with suppress(OSError):
            if bar.live.is_started:
                bar.stop()
