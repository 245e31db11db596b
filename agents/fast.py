"""Whether the inner loops of agents run compiled: where the extra `fast`, numba, is installed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_SWITCH = "CMAB_GYM_COMPILED"


def is_wanted() -> bool:
    """Tell whether numba is installed; the environment variable CMAB_GYM_COMPILED=0 says no.

    Compiled loops give the same numbers as NumPy's, to the bit, and take about half a second to
    load; where they were never used before, some seconds to compile.
    """
    return os.environ.get(_SWITCH) != "0" and _is_installed()


@cache
def _is_installed() -> bool:
    try:
        version("numba")
    except PackageNotFoundError:
        return False
    return True


@cache
def kernels() -> Any:
    """Import and try the module of compiled loops; None where numba does not work."""
    try:
        from cmab_gym.agents import compiled
    except Exception as error:
        _warn(error)
        return None
    return compiled if works(compiled.play_a_round) else None


def works(loop: Callable[[], None]) -> bool:
    """Tell whether a compiled loop can be called; where it can't, warn that NumPy is used."""
    try:
        loop()
    # Whatever it is, as a damaged cache on the disk, or one that is full: NumPy does without.
    except Exception as error:
        _warn(error)
        return False
    return True


def _warn(error: Exception) -> None:
    warnings.warn(
        f"numba does not work here ({type(error).__name__}: {error}): agents use NumPy "
        "instead; install versions that fit, empty the folder of numba's cache "
        f"(__pycache__ beside the agents, or NUMBA_CACHE_DIR), or set {_SWITCH}=0",
        stacklevel=3,
    )
