"""Gamma variates for all trials and arms at once, from which Beta and Dirichlet ones are made."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.streams import TrialStreams


def standard_gamma(shape: FloatArray, rng: TrialStreams) -> FloatArray:
    """Draw independent variates of Gamma(shape, 1).

    Args:
        shape: float64 (B, n), 1 or more.
        rng: one stream for each trial, of which every trial uses its own.

    Returns:
        float64 (B, n).

    Source: Marsaglia and Tsang (2000). At most 5 % of their proposals are rejected; NumPy's
    generator of the trial draws those again.
    """
    n = shape.shape[1]
    d = shape - 1 / 3
    x, u = rng.standard_normal(n), rng.random(n)
    root = 1 + x / np.sqrt(9 * d)
    cube = root * root * root
    draws: FloatArray = d * cube
    square = x * x
    # Most proposals pass this test, which needs no logarithm and implies the next one.
    unsure = np.nonzero((u >= 1 - 0.0331 * square * square) | (root <= 0))
    cube, d = np.maximum(cube[unsure], 1e-300), d[unsure]
    rejected = np.log(u[unsure]) >= 0.5 * square[unsure] + d * (1 - cube + np.log(cube))
    trials, positions = unsure[0][rejected].tolist(), unsure[1][rejected].tolist()
    for trial, i in zip(trials, positions, strict=True):
        draws[trial, i] = rng.generators[trial].standard_gamma(shape[trial, i])
    return draws


def log_dirichlet(counts: FloatArray, rng: TrialStreams) -> FloatArray:
    """Draw distributions from Dirichlet(counts), also with counts near 0.

    Args:
        counts: float64 (B, n), above 0.
        rng: one stream for each trial.

    Returns:
        The logarithms of the probabilities, float64 (B, n): a probability may be too small for
        float64.

    Source: Gamma(a) is Gamma(a + 1) times U^(1/a) with a uniform U.
    """
    gamma = np.empty(counts.shape)
    for stream, own, out in zip(rng.generators, counts + 1, gamma, strict=True):
        stream.standard_gamma(own, out=out)  # faster than the function above for many numbers
    log = np.log(gamma) + np.log1p(-rng.random(counts.shape[1])) / counts
    log -= log.max(axis=1, keepdims=True)
    normalised: FloatArray = log - np.log(np.exp(log).sum(axis=1, keepdims=True))
    return normalised


def dirichlet_means(counts: FloatArray, values: FloatArray, rng: TrialStreams) -> FloatArray:
    """Draw distributions from Dirichlet(counts) and return their means.

    Args:
        counts: float64 (B, K, R), each 0 or at least 1, not all 0; a value of count 0 gets none of
            the probability.
        values: float64 (R,).
        rng: one stream for each trial.

    Returns:
        float64 (B, K).
    """
    trials, n_arms, n_values = counts.shape
    flat = counts.reshape(trials, n_arms * n_values)
    drawn = standard_gamma(np.maximum(flat, 1), rng) * (flat > 0)
    weights = drawn.reshape(counts.shape)
    means: FloatArray = weights @ values / weights.sum(axis=2)
    return means
