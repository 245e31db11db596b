"""Exit codes and error messages of the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from types import MappingProxyType

OK, AGENT_FAILED, WRONG_ARGUMENTS, INTERRUPTED = 0, 1, 2, 130
_SAME_NAMES: Mapping[str, str] = MappingProxyType({})


class UsageError(Exception):
    """The command line cannot be parsed.

    It is not a ValueError: argparse would replace that by a message of its own.
    """


def print_error(error: object, option_of: Mapping[str, str] = _SAME_NAMES) -> None:
    """Print an error on standard error, with options in place of Python parameters.

    Args:
        error: the error, or its text.
        option_of: the option of each parameter that has another name in Python: with
            {"n_jobs": "--jobs"}, "n_jobs=2" is printed as "--jobs 2".
    """
    text = str(error)
    for parameter, option in option_of.items():
        text = re.sub(rf"\b{parameter}=", f"{option} ", text)
    print(f"cmab-gym: error: {text}", file=sys.stderr)
