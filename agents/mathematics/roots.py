"""Roots of many increasing functions at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray

# The values and slopes at points x, float64 (m,), of the functions numbered by int64 (m,).
Functions: TypeAlias = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]
_STEPS = 100  # halving the bracket, if Newton's steps leave it, takes about 50
_PRECISION = 1e-10


def increasing_roots(
    functions: Functions, low: FloatArray, high: FloatArray, start: FloatArray
) -> FloatArray:
    """Find the root of each of n increasing functions in a bracket, by Newton's method.

    A step that leaves the bracket is replaced by the middle of the bracket. Each root is found to
    1e-10 of the bracket's length, whatever the others are.

    Args:
        functions: return values and slopes.
        low: float64 (n,), points with values of at most 0.
        high: float64 (n,), points with values of at least 0.
        start: float64 (n,), first points, inside the brackets.

    Returns:
        float64 (n,).

    Examples:
        >>> square = lambda x, which: (x * x - 2 - 7 * which, 2 * x)
        >>> increasing_roots(square, np.zeros(2), np.full(2, 9.0), np.ones(2)).round(9)
        array([1.41421356, 3.        ])
    """
    roots = start.copy()
    which: IntArray = np.arange(start.size)
    x, low, high, enough = start, low.copy(), high.copy(), _PRECISION * (high - low)
    for _ in range(_STEPS):
        value, slope = functions(x, which)
        low, high = np.where(value <= 0, x, low), np.where(value >= 0, x, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - value / slope
        inside = (step >= low) & (step <= high)  # NaN is not
        step = np.where(inside, step, (low + high) / 2)
        roots[which] = step
        going = np.abs(step - x) > enough
        if not going.any():
            break
        x, low, high, enough = step[going], low[going], high[going], enough[going]
        which = which[going]
    return roots
