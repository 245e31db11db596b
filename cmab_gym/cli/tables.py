"""What the command line prints: tables that fit the terminal, and progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 160  # a file or a pipe has no width: wide enough that nothing is wrapped


def console(stderr: bool = False) -> Console:
    """Return a console for standard output or standard error."""
    from rich.console import Console

    class Passing(Console):
        """Lets the caller see that nobody reads on, instead of ending the process."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    terminal = stream is not None and stream.isatty()
    return Passing(stderr=stderr, highlight=False, width=None if terminal else _PIPE_WIDTH)


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], droppable: Collection[str] = ()
) -> None:
    """Print a table; columns of numbers are never cut.

    Args:
        header: names of the columns.
        rows: their cells.
        droppable: names of columns to leave out, the first one first, while the table is too wide.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    out = console()
    kept = _fitting(header, rows, droppable, out.width)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place in kept:
        numeric = rows[0][place].lstrip("+-")[:1].isdigit() if rows else False
        whole = numeric or place == 0
        justify = "right" if numeric else "left"
        table.add_column(header[place], justify=justify, no_wrap=whole, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(escape(row[place]) for place in kept))
    out.print(table)


def _fitting(
    header: Sequence[str], rows: Sequence[Sequence[str]], droppable: Collection[str], width: int
) -> list[int]:
    kept = list(range(len(header)))
    sizes = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for name in droppable:
        if sum(sizes[place] + 2 for place in kept) <= width:
            break
        kept.remove(header.index(name))
    return kept


@contextmanager
def progress_bar(what: str, total: int | None, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, from the first time it advances on.

    Args:
        what: what is being done.
        total: how many units there are; None if that is unknown.
        unit: "rounds", or "bytes", which are shown as file sizes.

    Yields:
        A function to call with the number of units done since the last call.
    """
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    count = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    label = TextColumn("" if unit == "bytes" else unit)
    columns = (TextColumn(what), BarColumn(), count, label, TimeRemainingColumn())
    bar = Progress(*columns, console=console(stderr=True))
    task = bar.add_task(what, total=total)

    def advance(units: int) -> None:
        if not bar.live.is_started:
            bar.start()
        bar.advance(task, units)

    try:
        yield advance
    finally:
        if bar.live.is_started:
            bar.stop()
