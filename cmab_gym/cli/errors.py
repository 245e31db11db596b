"""Exit codes and error messages of the command line."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from traceback import format_exception
from types import MappingProxyType
from typing import TYPE_CHECKING

from cmab_gym.text import shortened, write

if TYPE_CHECKING:
    from cmab_gym.evaluation import AgentRun

OK, AGENT_FAILED, WRONG_ARGUMENTS = 0, 1, 2
UNEXPECTED = 1  # a verdict of `reproduce`
SIGNALED = 128  # plus the signal's number, as in shells
# Numbers where a system, such as Windows, does not have the signal.
_SIGHUP, _SIGTERM = getattr(signal, "SIGHUP", 1), getattr(signal, "SIGTERM", 15)
EXIT_CODES: Mapping[int, str] = MappingProxyType(
    {
        OK: "success",
        AGENT_FAILED: "an agent failed, or a verdict of reproduce is unexpected",
        WRONG_ARGUMENTS: "an option, an environment or a file is wrong, or a file was not written",
        SIGNALED + _SIGHUP: "the terminal was closed (SIGHUP); agents that had finished are saved",
        SIGNALED + signal.SIGINT: "Ctrl-C (SIGINT); agents that had finished are saved",
        SIGNALED + _SIGTERM: "kill, or a cluster's time limit (SIGTERM); agents that had finished "
        "are saved",
    }
)
_LONGEST = 2000  # characters of an error; a longer one repeats a long value
_SAME_NAMES: Mapping[str, str] = MappingProxyType({})


class UsageError(Exception):
    """The command line cannot be parsed.

    It is not a ValueError: argparse would replace that by a message of its own.
    """


def print_error(
    error: object,
    option_of: Mapping[str, str] = _SAME_NAMES,
    traceback: BaseException | None = None,
) -> None:
    """Print an error on standard error, with options in place of Python parameters.

    Args:
        error: the error, or its text.
        option_of: the option of each parameter that has another name in Python: with
            {"n_jobs": "--jobs"}, "n_jobs=2" is printed as "--jobs 2"; and with
            {"pad": "--set pad="}, "pad=2" as "--set pad=2".
        traceback: an error whose traceback is printed first, for `--debug`.
    """
    text = str(error)
    for parameter, option in option_of.items():
        replacement = option if option.endswith("=") else f"{option} "
        text = re.sub(rf"\b{parameter}=", replacement, text)
    if traceback is not None:
        _print("".join(format_exception(traceback)))
    _print(f"cmab-gym: error: {shortened(text, _LONGEST)}")


def print_failures(
    runs: Iterable[AgentRun], option_of: Mapping[str, str] = _SAME_NAMES, debug: bool = False
) -> None:
    """Print why agents failed, and how to see more.

    Args:
        runs: the runs that failed.
        option_of: as for `print_error`.
        debug: also print the tracebacks of the errors that agents raised.
    """
    runs = list(runs)
    for run in runs:
        print_error(run.failure, option_of, run.cause if debug else None)
    if any(run.cause for run in runs) and not debug:
        _print("cmab-gym: add --debug to see the whole traceback")


def print_interrupted(error: KeyboardInterrupt) -> None:
    """Print that a signal ended the program, with the message of the error."""
    _print(f"cmab-gym: interrupted{': ' if str(error) else ''}{error}")


def _print(text: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        write(text, sys.stderr)
