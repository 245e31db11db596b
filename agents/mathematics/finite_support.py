"""Divergences of distributions with finite support, for policies that count rewards."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.mathematics.roots import increasing_roots
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.problem import BanditProblem, scaled_rewards

_TINY = 1e-12


def unit_support(problem: BanditProblem) -> FloatArray:
    """Return the possible rewards scaled to [0, 1], float64 (R,), the last one the upper bound.

    A continuous reward counts as the midpoint of its bin. If the largest possible reward is below
    the upper bound, the bound is one more entry.
    """
    scaled: FloatArray = scaled_rewards(problem.reward_support, problem.reward_bounds)
    return scaled if scaled[-1] >= 1 - 1e-9 else np.append(scaled, 1.0)


def frequencies(history: History, arms: BoolArray) -> FloatArray:
    """Return how often some arms gave each reward of `unit_support`, as shares, float64 (n, R).

    Args:
        history: pulls and counts.
        arms: bool (B, K), arms with a pull.
    """
    shares = history.counts[arms] / history.pulls[arms][:, None]
    more = unit_support(history.problem).size - shares.shape[1]
    return np.pad(shares, ((0, 0), (0, more)))


def k_inf(shares: FloatArray, values: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the least divergence from a distribution to one with at least a given mean.

    K_inf(F, m) = min KL(F, G) over distributions G on [0, 1] with mean m or more. It is the maximum
    over x in [0, 1] of E_F ln(1 - x (R - m) / (1 - m)), which is concave in x.

    Args:
        shares: float64 (n, R), the distributions F.
        values: float64 (R,), their support in [0, 1].
        mean: float64 (n,), in [0, 1].

    Returns:
        float64 (n,), 0 where F has at least that mean; large but finite for mean 1.

    Source: Honda and Takemura (2010), Theorem 8, with rewards scaled to [0, 1].

    Examples:
        With rewards 0 and 1 it is the divergence of Bernoulli distributions.

        >>> k_inf(np.array([[0.5, 0.5]]), np.array([0.0, 1.0]), np.array([0.75])).round(4)
        array([0.1438])
    """
    mean = np.minimum(mean, 1 - _TINY)
    y = (values - mean[:, None]) / (1 - mean[:, None])

    def slope(x: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray]:
        ratio = y[which] / np.maximum(1 - x[:, None] * y[which], 1e-100)
        share = shares[which]
        return (share * ratio).sum(axis=1), (share * ratio**2).sum(axis=1)

    x = np.zeros(len(shares))
    zero, one = np.zeros(len(shares)), np.ones(len(shares))
    at_zero, curvature = slope(zero, np.arange(x.size))
    positive = at_zero < 0  # the mean of F is below
    at_one = np.where(shares[:, -1] > 0, np.inf, slope(one, np.arange(x.size))[0])
    x[positive] = 1.0
    inner = np.flatnonzero(positive & (at_one > 0))
    if inner.size:
        # Not nearer to 0, where the slope is so steep for means near 1 that steps are tiny.
        start = np.clip(-at_zero[inner] / curvature[inner], 0.01, 0.9)
        x[inner] = increasing_roots(
            lambda points, which: slope(points, inner[which]), zero[inner], one[inner], start
        )
    logs = np.log(np.maximum(1 - x[:, None] * y, 1e-300))
    divergence: FloatArray = np.where(shares > 0, shares * logs, 0).sum(axis=1)
    return np.maximum(divergence, 0)


def largest_mean(shares: FloatArray, values: FloatArray, budget: FloatArray) -> FloatArray:
    """Return the largest mean of a distribution G with KL(F, G) <= budget on the given support.

    G is proportional to F / (1 - x r) for some x in [0, 1); or, where F never gives the largest
    reward and the budget is large, this with x = 1 and some mass on the largest reward.

    Args:
        shares: float64 (n, R), the distributions F.
        values: float64 (R,), their support in [0, 1], increasing up to 1.
        budget: float64 (n,), 0 or more.

    Returns:
        float64 (n,).

    Source: Filippi, Cappé and Garivier (2010), Algorithm 2; Cappé et al. (2013), Section 6.

    Examples:
        With rewards 0 and 1 it is the inverse of the divergence of Bernoulli distributions.

        >>> largest_mean(np.array([[0.5, 0.5]]), np.array([0.0, 1.0]), np.array([0.1438])).round(3)
        array([0.75])
    """
    mean = shares @ values
    variance = shares @ values**2 - mean**2

    def tilted(depth: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return F / (1 - x r) and 1 / (1 - x r) for x = 1 - exp(-depth)."""
        weight = 1 / (1 - values + values * np.exp(-depth)[:, None])
        return shares[which] * weight, weight

    def excess(depth: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray]:
        tilt, weight = tilted(depth, which)
        total = tilt.sum(axis=1)
        logs = (shares[which] * np.log(weight)).sum(axis=1)
        divergence = np.log(total) - logs
        slope = (tilt * weight) @ values / total - tilt @ values
        return divergence - budget[which], slope * np.exp(-depth)

    everything = np.arange(len(shares))
    result = mean.copy()
    # Where F never gives the largest reward, the divergence at x = 1 is finite.
    unseen = shares[:, -1] == 0
    weight = 1 / np.maximum(1 - values, 1e-300)
    tilt = np.where(shares > 0, shares * weight, 0)
    total = np.maximum(tilt.sum(axis=1), 1e-300)
    divergence = np.log(total) - np.where(shares > 0, shares * np.log(weight), 0).sum(axis=1)
    beyond = unseen & (divergence <= budget)
    mass = 1 - np.exp(np.minimum(divergence - budget, 0))
    result[beyond] = (mass + (1 - mass) * (tilt @ values / total))[beyond]
    inner = everything[~beyond & (variance > 1e-15) & (budget > 0)]
    if inner.size:
        deepest = np.full(inner.size, 700.0)
        start = np.clip(np.sqrt(2 * budget[inner] / variance[inner]), 0, 30)
        depth = increasing_roots(
            lambda points, which: excess(points, inner[which]), deepest * 0, deepest, start
        )
        tilt = tilted(depth, inner)[0]
        result[inner] = tilt @ values / tilt.sum(axis=1)
    return np.clip(result, mean, 1.0)
