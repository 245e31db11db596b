"""`main`: parse the command line, run the command, turn errors into exit codes."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

import gymnasium as gym

from cmab_gym.cli.errors import (
    OK,
    SIGNALED,
    WRONG_ARGUMENTS,
    UsageError,
    print_error,
    print_interrupted,
)
from cmab_gym.cli.output_mode import OutputMode, output_mode
from cmab_gym.cli.parser import parser
from cmab_gym.cli.signals import as_keyboard_interrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: those after `cmab-gym`; None reads them from `sys.argv`.

    Returns:
        The exit code, one of `cmab_gym.cli.errors.EXIT_CODES`.
    """
    with as_keyboard_interrupt() as signals:
        try:
            code = _run(parser().parse_args(arguments))
        except UsageError as error:
            print_error(error)
            return WRONG_ARGUMENTS
        except KeyboardInterrupt as error:
            print_interrupted(error)
            code = SIGNALED + signal.SIGINT
    return SIGNALED + signals[0] if signals else code


def _run(chosen: argparse.Namespace) -> int:
    """Run the chosen command, and return its exit code."""
    with output_mode(OutputMode(chosen.quiet, chosen.json)):
        try:
            code: int = chosen.run(chosen)
        except BrokenPipeError:
            # The reader of the output, such as `head`, has closed it: discard the rest.
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            return OK
        except (ValueError, OSError, gym.error.Error) as error:
            print_error(error, chosen.option_of, error if chosen.debug else None)
            return WRONG_ARGUMENTS
        return code
