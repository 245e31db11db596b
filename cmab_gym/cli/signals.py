"""Treat every signal that ends the program like Ctrl-C, so that results are kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# `kill` and cluster schedulers send SIGTERM; a terminal that is closed sends SIGHUP.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # not all of them exist on Windows
_ENDING = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


@contextmanager
def as_keyboard_interrupt() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt when a signal would end the program.

    A signal that is ignored, such as SIGHUP after `nohup`, stays ignored. In a thread other than
    the main one this does nothing, since Python cannot handle signals there.

    Yields:
        The numbers of the signals received so far.
    """
    received: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(number)
        # `timeout` and others send SIGTERM twice: the second must not interrupt the saving.
        if len(received) == 1 or number == signal.SIGINT:
            raise KeyboardInterrupt

    with _handled(interrupt):
        yield received


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore these signals inside the context."""
    with _handled(signal.SIG_IGN):
        yield


@contextmanager
def _handled(handler: signal._HANDLER) -> Iterator[None]:
    """Handle the ending signals by a handler inside the context."""
    main = threading.current_thread() is threading.main_thread()
    before = {
        number: signal.getsignal(number)
        for number in _ENDING
        if main and signal.getsignal(number) is not signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
