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

    Source: Marsaglia and Tsang (2000). A proposal is rejected in at most 5 % of the draws; NumPy's
    generator of the trial draws those again.
    """
    n = shape.shape[1]
    d = shape - 1 / 3
    x = rng.standard_normal(n)
    # The cube is below 0 for x < -1 / c, which 0 and its logarithm reject.
    cube = np.maximum(1 + x / np.sqrt(9 * d), 0) ** 3
    u = rng.random(n)
    with np.errstate(divide="ignore"):
        accepted = np.log(u) < 0.5 * x**2 + d * (1 - cube + np.log(cube))
    draws: FloatArray = d * cube
    if not accepted.all():
        for trial in np.flatnonzero(~accepted.all(axis=1)):
            again = np.flatnonzero(~accepted[trial])
            draws[trial, again] = rng.generators[trial].standard_gamma(shape[trial, again])
    return draws


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
