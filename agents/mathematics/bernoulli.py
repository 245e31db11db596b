"""Bernoulli divergences, for the policies that treat a bounded reward like a coin."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import scaled_rewards

_STEPS = 3  # a fixed number keeps each trial's result independent of the others in its batch
_TINY = 1e-15


def unit_means(history: History) -> FloatArray:
    """Return the mean rewards scaled to [0, 1] by the problem's bounds, float64 (B, K)."""
    scaled: FloatArray = scaled_rewards(history.means, history.problem.reward_bounds)
    return np.clip(scaled, 0.0, 1.0)


def bernoulli_kl(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of Bernoulli distributions.

    Args:
        p: float64, in [0, 1].
        q: float64, in [0, 1], of a shape that fits.

    Returns:
        float64, 0 or more; large but finite where q is 0 or 1 and p is not.

    Examples:
        >>> bernoulli_kl(np.array([0.5, 1.0]), np.array([0.25, 0.5])).round(4)
        array([0.1438, 0.6931])
    """
    p, q = np.clip(p, _TINY, 1 - _TINY), np.clip(q, _TINY, 1 - _TINY)
    divergence: FloatArray = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    return np.maximum(divergence, 0)


def largest_mean_within(mean: FloatArray, budget: FloatArray) -> FloatArray:
    """Find the largest q in [mean, 1] with kl(mean, q) <= budget, for Bernoulli distributions.

    Args:
        mean: float64, in [0, 1].
        budget: float64, the same shape, 0 or more.

    Returns:
        float64, the same shape, within rounding error.
    """
    p = np.clip(mean, _TINY, 1 - _TINY)
    # Two starts above the root, the lesser of which is near it. Dropping the term p ln(1/q) >= 0 of
    # kl gives one below 1. The other follows from kl(p, q) >= (q - p)^2 / (2 v), where v is the
    # largest variance x (1 - x) for x in [p, q]. From there 2 of Halley's steps come within 1e-9 of
    # the root, and 3 within rounding error, for budgets from 1e-6 to 16.
    entropy = p * np.log(p)
    near_one = 1 - (1 - p) * np.exp((entropy - budget) / (1 - p))
    entropy += (1 - p) * np.log(1 - p) - budget
    largest = (1 - p) * (p + budget + np.sqrt(budget * (budget + 2 * p)))
    variance = np.where(p >= 0.5, p * (1 - p), np.minimum(largest, 0.25))
    q = np.minimum(p + np.sqrt(2 * budget * variance), np.minimum(near_one, 1 - _TINY))
    for _ in range(_STEPS):
        r, above = 1 - q, q - p
        excess = entropy - p * np.log(q) - (1 - p) * np.log(r)
        # The derivatives of kl in q are above / (q r) and curvature / (q r)^2.
        curvature = p * r * r + (1 - p) * q * q
        q -= 2 * excess * above * q * r / np.maximum(2 * above**2 - excess * curvature, 1e-300)
        q = np.clip(q, p, 1 - _TINY)
    result: FloatArray = np.where(mean >= 1 - _TINY, 1.0, q)
    return result
