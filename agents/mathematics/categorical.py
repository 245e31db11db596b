"""Draws from probabilities that are known up to a factor."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray


def drawn(weights: FloatArray, uniform: FloatArray) -> IntArray:
    """Draw positions on the last axis with probabilities proportional to weights.

    Args:
        weights: float64 (..., n), 0 or more; some of each row are above 0.
        uniform: float64 (...), uniform numbers in [0, 1).

    Returns:
        int64 (...).

    Examples:
        >>> drawn(np.array([[2.0, 1.0, 1.0], [0.0, 1.0, 0.0]]), np.array([0.6, 0.6]))
        array([1, 1])
    """
    cumulative = weights.cumsum(axis=-1)
    below = uniform[..., None] * cumulative[..., -1:]
    positions: IntArray = (cumulative[..., :-1] <= below).sum(axis=-1)
    return positions


def exponentials(log_weights: FloatArray) -> FloatArray:
    """Return weights whose logarithms are given, each row scaled so that the largest is 1."""
    scaled: FloatArray = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return scaled
