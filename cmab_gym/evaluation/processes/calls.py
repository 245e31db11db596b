"""Call a function in worker processes on this machine; if one dies, the others go on."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import cloudpickle

from cmab_gym.evaluation.processes.time_limit import TIME_IS_UP, line_in_dump
from cmab_gym.evaluation.processes.worker import LENGTH, command

Done = TypeVar("Done")

_PATIENCE = 0.5  # seconds of a wait, which Ctrl-C does not interrupt on Windows
_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"),
)


class WorkerEnded(RuntimeError):
    """A worker process ended without a result."""


class TimeUp(WorkerEnded):
    """A worker process was ended by its time limit; the text names the line of the user's code."""


class RemoteTraceback(Exception):
    """The traceback, as text, of an error that was raised in another process."""


def in_processes(
    function: Callable[..., Done], jobs: Iterable[tuple[Any, ...]], n_workers: int
) -> Iterator[Done]:
    """Call a function in worker processes, once for each tuple of arguments.

    Yields:
        What the function returns, in the order of `jobs`.

    Raises:
        WorkerEnded: a worker died.
        BaseException: any error of the function.
    """
    ready: dict[int, Done] = {}
    following = 0
    for index, outcome in outcomes(function, jobs, n_workers):
        if isinstance(outcome, WorkerEnded):
            raise outcome
        ready[index] = outcome
        while following in ready:
            yield ready.pop(following)
            following += 1


def outcomes(
    function: Callable[..., Done], jobs: Iterable[tuple[Any, ...]], n_workers: int
) -> Iterator[tuple[int, Done | WorkerEnded]]:
    """Call a function in worker processes, once for each tuple of arguments.

    The processes end with the iteration, and when this process ends for any reason.

    Args:
        function: the function.
        jobs: the tuples of arguments; the next one is taken when a worker is free.
        n_workers: number of processes.

    Yields:
        The index of a job, with what the function returned, or why its worker ended. They come as
        they finish.

    Raises:
        BaseException: any error of the function.
    """
    left = _Shared(enumerate(jobs))
    done: SimpleQueue[_Outcome | None] = SimpleQueue()
    threads = {name: str(max(1, (os.cpu_count() or 1) // n_workers)) for name in _THREADS}
    workers = [_Worker(function, left, done, {**threads, **os.environ}) for _ in range(n_workers)]
    try:
        for worker in workers:
            worker.start()
        running = n_workers
        while running:
            try:
                outcome = done.get(timeout=_PATIENCE)
            except Empty:
                continue
            if outcome is None:
                running -= 1
                continue
            index, is_result, value = outcome
            if not is_result:
                raise value
            yield index, value
    finally:
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()


_Outcome = tuple[int, bool, Any]  # the index of a job, and its `_Worker._outcome`


class _Shared:
    """An iterator for several threads."""

    def __init__(self, items: Iterator[tuple[int, tuple[Any, ...]]]) -> None:
        self._items, self._lock = items, threading.Lock()

    def next(self) -> tuple[int, tuple[Any, ...]] | None:
        with self._lock:
            return next(self._items, None)


class _Worker:
    """A thread with a process of its own, which it starts again if it has died."""

    def __init__(
        self,
        function: Callable[..., Any],
        left: _Shared,
        done: SimpleQueue[_Outcome | None],
        env: dict[str, str],
    ) -> None:
        self._function, self._left, self._done, self._env = function, left, done, env
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Kill the process, which also ends the thread."""
        self._stopped = True
        if (process := self._process) is not None:
            process.kill()

    def join(self) -> None:
        """Wait for the end of the thread."""
        if self._thread.ident is not None:  # None if Ctrl-C came before it was started
            self._thread.join()

    def _work(self) -> None:
        """Do jobs until none is left."""
        try:
            while not self._stopped and (job := self._left.next()):
                self._done.put((job[0], *self._outcome(job[1])))
        except BaseException as error:  # the iterator of the jobs raised it
            self._done.put((-1, False, error))
        finally:
            self._end()
            self._done.put(None)

    def _outcome(self, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return True and the result, or a `WorkerEnded`; or False and an error to raise."""
        try:
            call = cloudpickle.dumps((self._function, arguments))
            returned, value, text = cloudpickle.loads(self._reply(call))
        except WorkerEnded as error:
            return True, error
        except Exception as error:
            return False, error
        if not returned:
            value.__cause__ = RemoteTraceback(f"\n{text}")
        return returned, value

    def _reply(self, call: bytes) -> bytes:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018
        head = b""
        with suppress(OSError):  # of a broken pipe: on Windows it is not a BrokenPipeError
            process.stdin.write(len(call).to_bytes(LENGTH, "big") + call)
            process.stdin.flush()
            head = process.stdout.read(LENGTH)
        if len(head) == LENGTH and head != TIME_IS_UP.encode():
            reply = process.stdout.read(int.from_bytes(head, "big"))
            if len(reply) == int.from_bytes(head, "big"):
                return reply
        text = (head + process.stdout.read()).decode(errors="replace")
        self._end()
        raise _ended(process, text)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command(), stdin=pipe, stdout=pipe, env=self._env)  # noqa: S603
        if self._stopped:  # `stop` may have been called before there was a process
            self._process.kill()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # close the pipes, which may be broken, and wait
                pass


def _ended(process: subprocess.Popen[bytes], text: str) -> WorkerEnded:
    """Return the error that says why a process has ended."""
    if text.startswith(TIME_IS_UP):
        error = TimeUp(line_in_dump(text))
        error.__cause__ = RemoteTraceback(f"\n{text}")
        return error
    code = process.returncode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return WorkerEnded(f"its worker process ended without a result ({how})")
