"""Progress bars on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from cmab_gym.cli.output_mode import current_mode
from cmab_gym.cli.printing import PIPE_WIDTH, terminal_width


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
    room = None if terminal_width(sys.stderr) else PIPE_WIDTH
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
