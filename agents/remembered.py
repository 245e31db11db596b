"""Indices that are computed again only where they changed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.history import History

_GROWTH = math.log(1.05)


def remembered(
    history: History,
    level: FloatArray | float,
    compute: Callable[[BoolArray], FloatArray],
) -> FloatArray:
    """Return an index that depends on an arm's own rewards and a level, as computed before or now.

    Args:
        history: keeps the index in its `memory`.
        level: what the index depends on besides the arm's rewards, of a shape that fits (B, K).
        compute: function of a mask bool (B, K) of arms that returns their indices, in the order of
            the mask.

    Returns:
        float64 (B, K); arms without a pull keep whatever they have.
    """
    shape, memory = history.pulls.shape, history.memory
    if "index" not in memory:
        memory["index"], memory["level"] = np.zeros(shape), np.full(shape, np.nan)
        memory["index_pulls"] = np.zeros(shape, dtype=np.int64)
    changed = (memory["level"] != level) | (memory["index_pulls"] != history.pulls)
    changed &= history.pulls > 0
    if changed.any():
        memory["index"][changed] = compute(changed)
        memory["level"][...] = level
        memory["index_pulls"][...] = history.pulls
    return memory["index"].copy()


def rounded_up(t: int) -> float:
    """Round a number of pulls up to a power of 1.05, so that an index changes rarely with t.

    Indices that grow with ln t hardly change when t is up to 5 % larger.

    Examples:
        >>> rounded_up(1), round(rounded_up(1000), 1)
        (1.0, 1020.7)
    """
    return math.exp(math.ceil(round(math.log(t) / _GROWTH, 9)) * _GROWTH)
