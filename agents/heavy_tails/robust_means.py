"""Estimates of means that a few extreme rewards hardly change.

Each takes rewards (m, n) of m arms in the order of their pulls, how many of each row are used (m,),
a standard deviation sigma, and ln(1 / delta). It returns m estimates, and for each the distance
from the mean that it exceeds on either side with probability delta at most.

Source: Bubeck, Cesa-Bianchi and Lugosi (2013), Bandits with heavy tail, Lemmas 1 to 3 with moments
of order 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray

Estimate: TypeAlias = tuple[FloatArray, FloatArray]
_STEPS = 30  # of Catoni's equation; each halves the error, at least, if sigma bounds the spread


def truncated_mean(rewards: FloatArray, n: IntArray, sigma: float, log_term: float) -> Estimate:
    """Average the rewards, with those that are too large for their position replaced by 0.

    sigma^2 bounds the mean square of the rewards, not only their variance.
    """
    position = np.arange(1, rewards.shape[1] + 1)
    kept = _used(rewards, n) & (np.abs(rewards) <= sigma * np.sqrt(position / log_term))
    means: FloatArray = np.where(kept, rewards, 0).sum(axis=1) / n
    return means, 4 * sigma * np.sqrt(log_term / n)


def median_of_means(rewards: FloatArray, n: IntArray, sigma: float, log_term: float) -> Estimate:
    """Take the median of the means of blocks of equal size."""
    enough, medians = log_term + 1 / 8, np.empty(len(n))
    for count in np.unique(n).tolist():
        rows = np.flatnonzero(n == count)
        blocks = max(min(math.floor(8 * enough), count // 2), 1)
        size = count // blocks
        kept = rewards[rows, : size * blocks].reshape(rows.size, blocks, size)
        medians[rows] = np.median(kept.mean(axis=2), axis=1)
    return medians, sigma * np.sqrt(12 * 16 * enough / n)


def catoni_mean(rewards: FloatArray, n: IntArray, sigma: float, log_term: float) -> Estimate:
    """Solve sum psi(alpha (reward - mean)) = 0, where psi grows only as a logarithm.

    The bound is infinite with fewer than 4 ln(1 / delta) rewards.
    """
    means = np.where(_used(rewards, n), rewards, 0).sum(axis=1) / n
    enough = n >= 4 * log_term
    n, rewards = n[enough], rewards[enough]
    used, theta = _used(rewards, n), means[enough]
    alpha = np.sqrt(2 * log_term / (n * (1 + 2 * log_term / (n - 2 * log_term)))) / sigma
    for _ in range(_STEPS):
        x = alpha[:, None] * (rewards - theta[:, None])
        size = np.abs(x)
        influence = np.where(used, np.copysign(np.log1p(size + x * x / 2), x), 0)
        theta = theta + influence.sum(axis=1) / (n * alpha)
    means[enough] = theta
    bounds = np.full(means.shape, np.inf)
    bounds[enough] = 2 * sigma * np.sqrt(log_term / n)
    return means, bounds


def _used(rewards: FloatArray, n: IntArray) -> BoolArray:
    used: BoolArray = np.arange(rewards.shape[1]) < n[:, None]
    return used


ESTIMATORS: Mapping[str, Callable[[FloatArray, IntArray, float, float], Estimate]] = (
    MappingProxyType(
        {
            "catoni": catoni_mean,
            "truncated": truncated_mean,
            "median-of-means": median_of_means,
        }
    )
)
