"""Whether the inner loops of agents run compiled: where the extra `fast`, numba, is installed."""

from __future__ import annotations

import importlib.util
import os
import warnings
from functools import cache
from typing import Any

import numpy as np

_SWITCH = "CMAB_GYM_COMPILED"


def is_wanted() -> bool:
    """Tell whether numba is there; the environment variable CMAB_GYM_COMPILED=0 says no.

    Compiled loops give the same numbers as NumPy's, to the bit, and take about half a second to
    load; where they were never used before, some seconds to compile.
    """
    return os.environ.get(_SWITCH) != "0" and importlib.util.find_spec("numba") is not None


@cache
def kernels() -> Any:
    """Import the module of compiled loops; None where numba does not work."""
    try:
        from cmab_gym.agents import compiled
    except ImportError as error:
        warnings.warn(
            f"numba does not work here ({error}): agents use NumPy instead; install versions that "
            f"fit, or set {_SWITCH}=0",
            stacklevel=2,
        )
        return None
    # The first call of any takes a quarter of a second: here, where it is no round of an agent.
    pulls, sums = np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1))
    compiled.count_pulls(pulls, sums, sums.copy(), np.zeros(1, dtype=np.int64), np.zeros(1))
    return compiled
