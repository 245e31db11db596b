"""A worker process: it runs the calls that it reads from its standard input.

A call is a pickled function with its arguments; the reply is a pickled result on standard output.
Each is preceded by its length.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from traceback import format_exc
from typing import Any, BinaryIO

import cloudpickle

LENGTH = 8  # bytes
_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux

replies: BinaryIO | None = None  # None in a process that is not a worker


def serve() -> None:
    """Run calls, until this process is killed or the one that started it has ended."""
    global replies
    if sys.platform == "linux":
        # The thread below can do nothing while an agent's native code holds the interpreter's lock.
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGINT, lambda number, frame: None)  # Ctrl-C: the parent decides
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # An agent may read and print: it gets no input, and its output goes to standard error.
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(calls, waiting), daemon=True).start()
    while True:
        call = waiting.get()
        if _parent_has_ended(calls):  # before the death signal was set, perhaps
            os._exit(1)
        reply = _called(call)
        replies.write(len(reply).to_bytes(LENGTH, "big") + reply)
        replies.flush()


def _read(calls: BinaryIO, waiting: SimpleQueue[bytes]) -> None:
    """Read calls; the input ends when the parent has ended: then end this process at once."""
    while length := calls.read(LENGTH):
        waiting.put(calls.read(int.from_bytes(length, "big")))
    os._exit(1)


def _parent_has_ended(calls: BinaryIO) -> bool:
    """Return whether the other end of the pipe is closed; False where that cannot be asked."""
    if not hasattr(select, "poll"):  # Windows
        return False
    hang_up = select.poll()
    hang_up.register(calls, select.POLLHUP)  # macOS reports only what is asked for
    return bool(hang_up.poll(0))


def _called(call: bytes) -> bytes:
    """Run a call; return the pickled reply: True and a result, or False, an error and traceback."""
    try:
        function, arguments = cloudpickle.loads(call)
        return _pickled((True, function(*arguments), ""))
    except BaseException as error:
        try:
            reply = _pickled((False, error, format_exc()))
            pickle.loads(reply)  # noqa: S301 - many errors can be pickled but not unpickled
        except Exception:
            text = f"{type(error).__name__}: {error}"
            reply = _pickled((False, RuntimeError(text), format_exc()))
        return reply


def _pickled(reply: Any) -> bytes:
    pickled: bytes = cloudpickle.dumps(reply)
    return pickled


def command() -> list[str]:
    """Return the command that starts a worker, with the modules of this process."""
    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    return [sys.executable, "-c", program]
