"""Confidence intervals that hold at all numbers of pulls at once."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray


def radius(pulls: IntArray, delta: float) -> FloatArray:
    """Return the distance from the mean that no average of numbers in [0, 1] ever exceeds.

    With probability 1 - delta, the average of the first n of independent numbers with mean mu is
    nearer to mu than radius(n, delta), for all n at once. Multiply by the length of the interval of
    other numbers; for sub-Gaussian ones, by twice their sigma.

    Args:
        pulls: int64, any shape, 1 or more.
        delta: between 0 and 1.

    Returns:
        float64, the same shape: sqrt((1 + 1/n) (ln(1/delta) + ln(n + 1) / 2) / (2 n)).

    Source: Robbins (1970), the mixture of exponential martingales with a standard normal weight;
    Abbasi-Yadkori, Pal and Szepesvari (2011), Theorem 1, for one arm.

    Examples:
        >>> radius(np.array([1, 100, 10_000]), delta=0.05).round(3)
        array([1.828, 0.164, 0.019])
    """
    log = np.log(1 / delta) + np.log(pulls + 1.0) / 2
    distance: FloatArray = np.sqrt((1 + 1 / pulls) * log / (2 * pulls))
    return distance
