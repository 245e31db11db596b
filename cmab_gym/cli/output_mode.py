"""What a command prints: everything, with `--quiet` only errors, with `--json` one document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class OutputMode:
    """The options of a command.

    Args:
        quiet: print no tables, notes and progress.
        json: print a JSON document on standard output in place of tables and text.
    """

    quiet: bool = False
    json: bool = False

    @property
    def text(self) -> bool:
        """Whether to print tables and text on standard output."""
        return not (self.quiet or self.json)


_current: ContextVar[OutputMode] = ContextVar("output_mode", default=OutputMode())  # noqa: B039


def current_mode() -> OutputMode:
    """Return the mode of the command that runs."""
    return _current.get()


@contextmanager
def output_mode(mode: OutputMode) -> Iterator[None]:
    """Use a mode inside the context."""
    before = _current.set(mode)
    try:
        yield
    finally:
        _current.reset(before)
