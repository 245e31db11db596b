"""The arm of the largest index, with ties broken at random."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.api import TrialError
from cmab_gym.arrays import FloatArray, IntArray


def argmax_with_random_ties(index: FloatArray, uniform: FloatArray) -> IntArray:
    """Find the arm with the largest index in each row, and break ties at random.

    Args:
        index: float64 (B, K).
        uniform: float64 (B,), uniform numbers in [0, 1) that decide the ties.

    Returns:
        int64 (B,).

    Raises:
        TrialError: an index is NaN.

    Examples:
        >>> argmax_with_random_ties(np.array([[1.0, 3.0, 3.0]]), np.array([0.6]))
        array([2])
    """
    best = index.max(axis=1, keepdims=True)
    if np.isnan(best).any():
        trial = int(np.flatnonzero(np.isnan(best))[0])
        arm = int(np.flatnonzero(np.isnan(index[trial]))[0])
        raise TrialError(
            trial, f"the index of arm {arm} is nan: expected numbers; check the policy"
        )
    largest = index == best
    arms: IntArray = largest.argmax(axis=1)
    if np.count_nonzero(largest) > arms.size:
        last = index.shape[1] - 1 - largest[:, ::-1].argmax(axis=1)
        tied = np.flatnonzero(last > arms)
        among = largest[tied]
        chosen = (uniform[tied] * among.sum(axis=1)).astype(np.int64)
        arms[tied] = (among.cumsum(axis=1) == chosen[:, None] + 1).argmax(axis=1)
    return arms
