"""`Submission`: a student's agent in a process of its own, under limits."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cmab_gym import checks
from cmab_gym.files import check_plain
from cmab_gym.problem import BanditProblem
from cmab_gym.text import shortened, shown

FILE = "submission.py"  # what a submission is called in its process
CLASS = "Agent"
_PROGRAM = Path(__file__).with_name("child.py")
_LARGEST_FILE = 1 << 20  # bytes of a submission
_LONGEST_TIME = 1e6  # seconds; system calls overflow at 2e6
_LONGEST_REPLY = 4096  # bytes
_LONGEST_SENTENCE = 600  # characters of an error of the submission


class SubmissionError(ValueError):
    """A submission cannot be graded, or broke its contract or a limit."""


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    Args:
        seconds: of wall-clock and of processor time, for all tests together.
        memory: megabytes of address space; NumPy takes about 200.
        output: bytes that may be printed in one test.
        open_files: files that may be open.

    Raises:
        ValueError: a limit is wrong.
    """

    seconds: float = 60.0
    memory: int = 1024
    output: int = 100_000
    open_files: int = 64

    def __post_init__(self) -> None:
        checks.positive("seconds", self.seconds)
        checks.number_between("seconds", self.seconds, 0, _LONGEST_TIME)
        checks.whole_number("memory", self.memory, 64)
        checks.whole_number("output", self.output, 0)
        checks.whole_number("open_files", self.open_files, 16)


class Submission:
    """A submission that plays trials in a process of its own; use it in a `with` statement.

    The process gets what a player may know: the problem, the rewards of its pulls, and a seed of
    its own. Means, other rewards and other seeds are never sent.

    Args:
        path: the student's file.
        limits: what the process may use.
        deadline: when it is killed, as `time.monotonic` counts.
        user: the user that runs it; None for the present one. Only root can choose another.

    Raises:
        SubmissionError: the file is not UTF-8 text, or is too large.
    """

    def __init__(
        self, path: Path, limits: Limits, deadline: float, user: str | None = None
    ) -> None:
        self._source, self._name = read_submission(path), path.name
        self._limits, self._deadline, self._identity = limits, deadline, identity_of(user)
        self._unread = b""
        self._printed = 0  # bytes

    def __enter__(self) -> Submission:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cmab-grade-"))
            Path(folder, FILE).write_bytes(self._source)
            requests, self._requests = os.pipe()
            self._replies, replies = os.pipe()
            stack.callback(os.close, self._requests)
            stack.callback(os.close, self._replies)
            os.set_blocking(self._requests, False)
            if self._identity:  # that user must be able to read them
                Path(folder).chmod(0o755)
                Path(folder, FILE).chmod(0o644)
            limits = {**asdict(self._limits), "seconds": self._deadline - time.monotonic()}
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [
                        *(sys.executable, "-I", "-B", "-c", _PROGRAM.read_text("utf-8")),
                        *(str(requests), str(replies), json.dumps(limits), self._name),
                    ],
                    cwd=folder,
                    env=_environment(folder),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=(requests, replies),
                    start_new_session=True,
                    **self._identity,
                )
            finally:
                os.close(requests)
                os.close(replies)
            stack.callback(self._kill)
            self._selector = stack.enter_context(selectors.DefaultSelector())
            self._selector.register(self._replies, selectors.EVENT_READ)
            self._selector.register(self._output, selectors.EVENT_READ)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, problem: BanditProblem, seed: int) -> int:
        """Begin a trial and return the first arm.

        Args:
            problem: what the player may know.
            seed: of the player's generator.

        Raises:
            SubmissionError: the submission failed, or broke a limit.
        """
        self._n_arms = problem.n_arms
        public = {
            "n_arms": problem.n_arms,
            "pseudo_rewards": problem.pseudo_rewards.tolist(),
            "reward_support": problem.reward_support.tolist(),
            "reward_bounds": list(problem.reward_bounds),
            "horizon": problem.horizon,
        }
        return self._ask({"problem": public, "seed": seed})

    def next_arm(self, reward: float) -> int:
        """Give the reward of the last arm and return the next arm.

        Raises:
            SubmissionError: as for `begin`.
        """
        return self._ask(reward)

    @property
    def _output(self) -> int:
        assert self._process.stdout is not None  # noqa: S101
        return self._process.stdout.fileno()

    def _ask(self, message: Any) -> int:
        reply = self._exchange(json.dumps(message).encode() + b"\n")
        kind, _, rest = reply.decode(errors="replace").partition(" ")
        if kind == "arm" and rest.isascii() and rest.isdecimal() and int(rest) < self._n_arms:
            return int(rest)
        if kind == "error":
            raise SubmissionError(shown(shortened(rest, _LONGEST_SENTENCE)))
        raise SubmissionError("it wrote to the grader's pipe: only act() may choose arms")

    def _exchange(self, message: bytes) -> bytes:
        """Send a message and return the line that answers it, while reading what is printed."""
        message = self._send(message)
        if message:  # the pipe is full; to register it in every round would take 20 us
            self._selector.register(self._requests, selectors.EVENT_WRITE)
        while b"\n" not in self._unread:
            left = self._deadline - time.monotonic()
            ready = self._selector.select(left) if left > 0 else []
            if not ready:
                raise SubmissionError(
                    f"it took longer than the limit of {self._limits.seconds:g} s for all tests"
                )
            for key, _ in ready:
                if key.fd == self._requests:
                    message = self._send(message)
                elif key.fd == self._output:
                    self._read_output()
                elif not self._read_reply():
                    raise SubmissionError(self._how_it_ended())
        self._stop_sending()
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _send(self, message: bytes) -> bytes:
        """Send what fits into the pipe and return the rest."""
        try:
            with suppress(BlockingIOError):
                message = message[os.write(self._requests, message) :]
        except BrokenPipeError:  # the process has ended: the end of its replies says so
            message = b""
        if not message:
            self._stop_sending()
        return message

    def _stop_sending(self) -> None:
        with suppress(KeyError):
            self._selector.unregister(self._requests)

    def _read_reply(self) -> bool:
        more = os.read(self._replies, _LONGEST_REPLY)
        self._unread += more
        if len(self._unread) > _LONGEST_REPLY:
            raise SubmissionError("it wrote to the grader's pipe: only act() may choose arms")
        return bool(more)

    def _read_output(self) -> None:
        more = os.read(self._output, 65536)
        if not more:
            self._selector.unregister(self._output)
        self._printed += len(more)
        if self._printed > self._limits.output:
            raise SubmissionError(
                f"it printed more than the limit of {self._limits.output:,} bytes: print nothing"
            )

    def _how_it_ended(self) -> str:
        """Say how the process ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        if code is None:
            return "it closed the grader's pipe: leave the files alone that it did not open"
        if code == -signal.SIGXCPU:
            return f"it took longer than the limit of {self._limits.seconds:g} s for all tests"
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"its process ended ({how}): return from act() and update(), do not exit"

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        with self._process:  # close the pipe, and wait
            pass


def read_submission(path: Path) -> bytes:
    """Return the source of a submission.

    Raises:
        SubmissionError: it is not a plain file, is too large, or is not UTF-8 text.
    """
    try:
        check_plain(path)
        with path.open("rb") as file:
            source = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = str(error).replace(str(path), path.name)
        raise SubmissionError(f"the file cannot be read: {reason}") from error
    if len(source) > _LARGEST_FILE:
        raise SubmissionError(f"the file has more than {_LARGEST_FILE:,} bytes: shorten it")
    try:
        source.decode()
    except UnicodeDecodeError as error:
        raise SubmissionError(
            f"the file is not UTF-8 text (byte {error.start + 1}): save it as UTF-8"
        ) from error
    return source


def _environment(folder: str) -> dict[str, str]:
    """Return the environment variables of the process: none of the grader's."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {"PATH": os.defpath, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", **threads}


def identity_of(user: str | None) -> dict[str, Any]:
    """Return the arguments of `Popen` that start a process as a user; none for the present one.

    Raises:
        ValueError: there is no such user.
    """
    import pwd  # not on Windows

    if user is None:
        return {}
    try:
        found = pwd.getpwnam(user)
    except KeyError:
        raise ValueError(f"user={user!r} does not exist: expected one such as nobody") from None
    if found.pw_uid == os.geteuid():
        return {}
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": ()}


def check_user(user: str | None) -> None:
    """Check that a user can run submissions.

    Raises:
        ValueError: this process may not act as that user, or that user cannot run Python.
    """
    if os.name != "posix":
        raise ValueError("submissions are graded on Linux and macOS only: use a container")
    identity = identity_of(user)
    if not identity:
        return
    try:
        subprocess.run(
            [sys.executable, "-I", "-B", "-c", "import numpy"],
            **identity,
            env=_environment("/"),
            cwd="/",
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise ValueError(
            f"user={user!r} cannot run {sys.executable} ({error}): install Python and this package "
            "where that user can read them, and start the grader as root"
        ) from error
