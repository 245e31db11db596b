"""Indices that are computed again only where they changed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.history import History

_GROWTH = math.log(1.05)


def remembered(
    history: History,
    level: FloatArray | float,
    compute: Callable[[BoolArray], FloatArray],
    used: IntArray | None = None,
) -> FloatArray:
    """Return an index that depends on an arm's own rewards and a level, as computed before or now.

    Args:
        history: keeps the index in its `memory`.
        level: what the index depends on besides the arm's rewards, of a shape that fits (B, K).
        compute: function of a mask bool (B, K) of arms that returns their indices, in the order of
            the mask.
        used: how many rewards of each arm the index depends on, the first ones, int64 (B, K); None
            for all of them.

    Returns:
        float64 (B, K); arms without a pull keep whatever they have.
    """
    used, memory = history.pulls if used is None else used, history.memory
    if "index" not in memory:
        memory["index"], memory["level"] = np.zeros(used.shape), np.full(used.shape, np.nan)
        memory["used"] = np.zeros_like(used)
    changed = (memory["level"] != level) | (memory["used"] != used)
    changed &= used > 0
    if changed.any():
        memory["index"][changed] = compute(changed)
        memory["level"][...] = level
        memory["used"][...] = used
    return memory["index"].copy()


def rounded_up(t: int) -> float:
    """Round a number of pulls up to a power of 1.05, so that an index changes rarely with t.

    Indices that grow with ln t hardly change when t is up to 5 % larger.

    Examples:
        >>> rounded_up(1), round(rounded_up(1000), 1)
        (1.0, 1020.7)
    """
    return math.exp(math.ceil(round(math.log(t) / _GROWTH, 9)) * _GROWTH)


def rounded_down(pulls: IntArray) -> IntArray:
    """Round numbers of pulls down by at most 5 %, so that few pulls of an arm change its index.

    Examples:
        >>> rounded_down(np.array([0, 1, 7, 20, 1000]))
        array([  0,   1,   7,  20, 972])
    """
    power = np.floor(np.log(np.maximum(pulls, 1)) / _GROWTH)
    rounded = np.where(pulls <= 20, pulls, np.floor(np.exp(power * _GROWTH)))
    return np.maximum(rounded, np.minimum(pulls, 20)).astype(np.int64)
