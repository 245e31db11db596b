"""What factors and classes both learn from: counts and sums by user, and how they are shrunk."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.envs_data.surveys.pooled import Pooled

SHRINKAGE = 20.0  # average ratings that are added to those of an arm or a class
_SMALLEST = 1e-3  # the least standard deviation of rewards, as a share of their range


def counts_and_sums(training: Pooled) -> tuple[Any, Any]:
    """Return how many ratings each user gave each arm, and their sums: sparse (U, K)."""
    ratings = training.of_users("ratings")
    counts, sums = ratings.copy(), ratings.copy()
    counts.data, sums.data = ratings.data.imag, ratings.data.real
    return counts, sums


def least_variance(support: FloatArray) -> float:
    """Return the variance below which no variance of rewards is taken to be.

    Args:
        support: float64 (R,), the possible rewards.
    """
    reward_range = max(float(np.ptp(support)), _SMALLEST)
    return (_SMALLEST * reward_range) ** 2
