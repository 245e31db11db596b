"""The live view of `run`: a line for each agent, with its regret so far and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cmab_gym.cli.output_mode import current_mode
from cmab_gym.cli.printing import terminal_size
from cmab_gym.cli.progress_bar import ErrorConsole, progress_bar
from cmab_gym.evaluation.playing.progress import BatchProgress, OnBatch
from cmab_gym.text import CanShow, encodable, shown

_MOST_LINES = 20
_OTHER_LINES = 4  # header, total, and room for the prompt
_BAR_ROOM = 60  # columns of a terminal from which there are bars
_REFRESHES = 5  # a second


@contextmanager
def live_view(names: Mapping[str, str], pulls: int) -> Iterator[OnBatch]:
    """Show how far the agents have come, on standard error; a progress bar without a terminal.

    Args:
        names: the name to show for each label.
        pulls: pulls that each agent will make, in all trials.

    Yields:
        A function to call with the progress of batches.
    """
    stream = sys.stderr  # rich replaces it while the view is shown
    size = None if current_mode().quiet else terminal_size(stream)
    if size is None:
        with progress_bar("running", len(names) * pulls, "rounds") as advance:
            yield lambda batch: advance(batch.pulls)
        return
    view = View(names, pulls)
    live = Live(
        get_renderable=lambda: _drawn(view, *(terminal_size(stream) or size), encodable(stream)),
        console=ErrorConsole(stderr=True, highlight=False),
        refresh_per_second=_REFRESHES,
        transient=True,  # the table of the results replaces it
    )
    with suppress(OSError):  # the run goes on without its terminal
        live.start()
    try:
        yield view.add
    finally:
        with suppress(OSError):
            live.stop()


@dataclass
class Line:
    """How far one agent has come.

    Args:
        name: the name to show.
        pulls: its pulls in all trials.
    """

    name: str
    pulls: int = 0
    since: float = 0.0  # when it began, and when it was reported last
    until: float = 0.0
    new: int = 0  # pulls in this time
    failed: bool = False
    batches: dict[int, tuple[int, float]] = field(default_factory=dict)

    @property
    def regret(self) -> float | None:
        """Mean regret over the trials that have begun; None before."""
        trials = sum(count for count, _ in self.batches.values())
        total = sum(count * regret for count, regret in self.batches.values())
        return total / trials if trials else None


class View:
    """How far all agents have come.

    Args:
        names: the name to show for each label.
        pulls: pulls that each agent will make.
        now: the clock.

    Attributes:
        lines: those of the agents, by label.
    """

    def __init__(
        self, names: Mapping[str, str], pulls: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.lines = {label: Line(name) for label, name in names.items()}
        self._pulls, self._now = pulls, now
        self._started = self._last = now()

    def add(self, batch: BatchProgress) -> None:
        """Add a report."""
        line, now = self.lines[batch.label], self._now()
        if not line.batches:
            line.since = self._last if batch.pulls else now  # the first report has none
        line.failed |= batch.failed
        if not batch.failed:
            line.batches[batch.trials.start] = (len(batch.trials), batch.regret)
        line.pulls += batch.pulls
        line.new += 0 if batch.resumed else batch.pulls
        line.until = self._last = now

    def done(self, line: Line) -> float:
        """Return the share of its pulls that an agent has made."""
        return line.pulls / self._pulls

    def seconds_left(self, line: Line) -> float | None:
        """Return the time that an agent needs at its speed so far; None before it has one."""
        if not line.new:
            return None
        passed = self._now() - line.until
        left = (self._pulls - line.pulls) * (line.until - line.since) / line.new
        return max(0.0, left - passed)

    def all_seconds_left(self) -> float | None:
        """Return the time that all agents need at the speed so far; None before there is one."""
        lines = [line for line in self.lines.values() if not line.failed]
        new = sum(line.new for line in self.lines.values())
        left = sum(self._pulls - line.pulls for line in lines)
        return left * (self._last - self._started) / new if new else None

    def ended(self, line: Line) -> bool:
        """Return whether an agent has failed or made all its pulls."""
        return line.failed or line.pulls >= self._pulls

    def most_important(self, most: int) -> list[Line]:
        """Return at most so many lines: agents that run, then the last to end, then others."""
        lines = [*self.lines.values()]

        def rank(line: Line) -> tuple[int, float]:
            return (1 if self.ended(line) else 0 if line.batches else 2), -line.until

        chosen = {id(line) for line in sorted(lines, key=rank)[:most]}
        return [line for line in lines if id(line) in chosen]

    def total(self) -> str:
        """Return the line below the agents."""
        lines = self.lines.values()
        ended = sum(map(self.ended, lines))
        share = sum(map(self.done, lines)) / len(lines)
        left = _clock(self.all_seconds_left())
        return f"{ended} of {len(lines)} agents, {share:.0%}, {left} left"


def _drawn(view: View, columns: int, rows: int, can_show: CanShow) -> Group:
    """Draw the lines that fit the terminal."""
    most = max(1, min(_MOST_LINES, rows - _OTHER_LINES))
    with_bars = columns >= _BAR_ROOM
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    if with_bars:
        table.add_column()
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True)
    bar_head = [Text("")] if with_bars else []
    table.add_row(Text("agent"), *bar_head, Text("done"), Text("regret"), Text("time left"))
    for line in view.most_important(most):
        done = view.done(line)
        bar = [ProgressBar(total=1, completed=done, width=columns // 4)] if with_bars else []
        regret = "failed" if line.failed else "-" if line.regret is None else f"{line.regret:.1f}"
        table.add_row(
            Text(shown(line.name, can_show, columns // 3)),
            *bar,
            Text(f"{done:.0%}"),
            Text(regret),
            Text("-" if line.failed else _clock(view.seconds_left(line))),
        )
    return Group(table, Text(view.total(), no_wrap=True, overflow="ellipsis"))


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
