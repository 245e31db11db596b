"""A limit on the time that an agent may take for a round, in a worker process."""

from __future__ import annotations

import faulthandler
import re
import threading
import time
from pathlib import Path
from typing import BinaryIO

from cmab_gym.user_code import is_of_user

TIME_IS_UP = "Timeout "  # the start of what faulthandler writes, as long as a reply's length
_AGAIN = 0.1  # share of the limit after which the timer, a thread, is started again


class TimeLimit:
    """Ends this process when a round takes longer than a limit, at most a tenth of it later.

    The timer of faulthandler also ends a process whose native code holds the interpreter's lock.
    It first writes where each thread is.

    Args:
        seconds: the limit; None sets none.
        report: the file to which the timer writes this; None sets no limit.
    """

    def __init__(self, seconds: float | None, report: BinaryIO | None) -> None:
        self._seconds = seconds if report is not None else None
        self._report = report
        self._started = -float("inf")

    def start_round(self) -> None:
        """Start the time of a round and end that of the round before."""
        if self._seconds is None:
            return
        now = time.monotonic()
        if now - self._started > _AGAIN * self._seconds:
            assert self._report is not None  # noqa: S101
            seconds = min((1 + _AGAIN) * self._seconds, threading.TIMEOUT_MAX)
            faulthandler.dump_traceback_later(seconds, exit=True, file=self._report.fileno())
            self._started = now

    def stop(self) -> None:
        """End the last round."""
        if self._seconds is not None:
            faulthandler.cancel_dump_traceback_later()
            self._started = -float("inf")


def line_in_dump(text: str) -> str:
    """Name the line of the user's code in what faulthandler wrote: " (my_file.py line 12)"."""
    for name, line in re.findall(r'File "(.*)", line (\d+) in ', text):
        if Path(name).is_file() and is_of_user(name):
            return f" ({Path(name).name} line {line})"
    return ""
