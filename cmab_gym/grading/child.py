"""The program of a submission's process; it is passed to `python -I -c` as text.

It is given two pipes, the limits and the student's name of the file, and imports nothing of this
package, so that there is nothing of the grader in its memory. Requests are lines of JSON: a problem
and a seed begin a trial, a number is the reward of the last arm. Replies are lines: "arm 3", or
"error " and a sentence.
"""

from __future__ import annotations

import importlib.util
import json
import operator
import os
import resource
import sys
import traceback
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np

FILE, CLASS = "submission.py", "Agent"
MEGABYTE = 1 << 20
# Audit events of Python that a submission may not cause, and what they mean.
REFUSED = {
    **dict.fromkeys(
        ("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"),
        "start another process",
    ),
    **dict.fromkeys(("subprocess.Popen", "pty.spawn"), "start another process"),
    **dict.fromkeys(("os.kill", "os.killpg"), "send signals"),
    **dict.fromkeys(
        ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.truncate"),
        "change files",
    ),
    **dict.fromkeys(("os.link", "os.symlink", "os.utime", "shutil.rmtree"), "change files"),
    **dict.fromkeys(("resource.setrlimit", "resource.prlimit"), "change its limits"),
    **dict.fromkeys(
        ("socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo"), "use the network"
    ),
    **dict.fromkeys(("ctypes.dlopen", "ctypes.dlsym"), "load native code"),
    "sqlite3.connect": "read files other than its own",
}


def set_limits(limits: dict[str, Any]) -> None:
    """Set limits that this process cannot raise again, unless root runs it."""
    memory = limits["memory"] * MEGABYTE
    for name, most in (
        ("RLIMIT_CPU", int(max(limits["seconds"], 0)) + 1),
        ("RLIMIT_AS", memory),
        ("RLIMIT_FSIZE", 0),  # no file can be written
        ("RLIMIT_NOFILE", limits["open_files"]),
        ("RLIMIT_NPROC", 0),  # no process or thread can be started
        ("RLIMIT_CORE", 0),
    ):
        with suppress(AttributeError, ValueError, OSError, OverflowError):  # macOS lacks some
            resource.setrlimit(getattr(resource, name), (most, most))


def watch() -> None:
    """Refuse what an agent has no reason to do, with a sentence. This is not a sandbox."""
    folders = tuple(
        os.path.realpath(folder) + os.sep
        for folder in (os.getcwd(), sys.prefix, sys.base_prefix, *sys.path)
        if folder
    )

    # Names of this function, since a submission can replace those of modules.
    refused, realpath, fsdecode = dict(REFUSED), os.path.realpath, os.fsdecode

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event in refused:
            raise PermissionError(f"a submission may not {refused[event]} ({event})")
        if event == "import" and arguments[0].partition(".")[0] == "cmab_gym":
            raise ImportError("a submission may not import cmab_gym: write the agent yourself")
        if event == "open" and not isinstance(arguments[0], int):
            path, mode, flags = arguments
            if set(mode or "r") & set("wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR):
                raise PermissionError("a submission may not write files")
            real = realpath(fsdecode(path))
            if not real.startswith((*folders, "/dev/")):
                raise PermissionError("a submission may not read files other than its own")

    sys.addaudithook(check)


def load(name: str) -> Any:
    """Run the submission's file, which the student calls `name`, and return its class."""
    spec = importlib.util.spec_from_file_location("submission", os.path.abspath(FILE))
    assert spec is not None and spec.loader is not None  # noqa: PT018, S101
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    if not isinstance(getattr(module, CLASS, None), type):
        raise TypeError(f"{name} has no class {CLASS}: expected one with reset, act and update")
    return getattr(module, CLASS)


def problem_of(public: dict[str, Any]) -> SimpleNamespace:
    """Return the problem as an agent reads it."""
    low, high = public["reward_bounds"]
    arrays = {key: np.array(public[key]) for key in ("pseudo_rewards", "reward_support")}
    bounds = {"reward_bounds": (low, high), "reward_range": high - low}
    return SimpleNamespace(**{**public, **arrays, **bounds})


def checked(arm: Any, n_arms: int) -> int:
    """Return an arm as an int."""
    try:
        number = -1 if isinstance(arm, bool | np.bool_) else operator.index(arm)
    except TypeError:
        number = -1
    if not 0 <= number < n_arms:
        kind = type(arm).__name__
        raise ValueError(
            f"act() returned {arm!r} of type {kind}: expected an integer from 0 to {n_arms - 1}"
        )
    return number


def sentence(error: BaseException, name: str) -> str:
    """Say what went wrong, and in which line of the submission, which the student calls `name`."""
    if isinstance(error, SystemExit):
        text = "it called sys.exit: return from act() and update(), do not exit"
    elif isinstance(error, MemoryError):
        text = "MemoryError: it needed more memory than the limit"
    else:
        told = error.msg if isinstance(error, SyntaxError) else error  # the place follows
        text = f"{type(error).__name__}: {told}"
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame, number in traceback.walk_tb(error.__traceback__):
        if os.path.basename(frame.f_code.co_filename) == FILE:
            line = number
    return " ".join(text.split()) + (f" ({name} line {line})" if line else "")


def main() -> None:
    """Answer requests until there are no more."""
    requests = os.fdopen(int(sys.argv[1]), "r", encoding="utf-8")
    replies = int(sys.argv[2])
    limits, name = json.loads(sys.argv[3]), sys.argv[4]
    del sys.argv[1:]

    def reply(text: str) -> None:
        os.write(replies, text.encode(errors="replace")[:3000] + b"\n")

    try:
        set_limits(limits)
        watch()
        agent_class = load(name)
        arm = n_arms = 0
        agent: Any = None
        for line in requests:
            message = json.loads(line)
            if isinstance(message, dict):
                n_arms = message["problem"]["n_arms"]
                agent = agent_class()
                agent.reset(problem_of(message["problem"]), np.random.default_rng(message["seed"]))
            else:
                agent.update(arm, message)
            arm = checked(agent.act(), n_arms)
            reply(f"arm {arm}")
    except BaseException as error:
        reply(f"error {sentence(error, name)}")
        os._exit(1)


if __name__ == "__main__":
    main()
