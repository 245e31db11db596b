"""Restriction of a policy to a random sample of the arms, for problems with many arms."""

from __future__ import annotations

import math

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import horizon_of


def on_sampled_arms(
    index: FloatArray, history: History, arms: int | None, horizon: int | None
) -> FloatArray:
    """Restrict an index to the first arms that a trial pulls, which ties make a random sample.

    Args:
        index: float64 (B, K), of arms with a pull.
        history: the pulls.
        arms: the size of the sample; None takes the square root of the horizon, rounded up.
        horizon: rounds of a trial; None takes that of the evaluation.

    Returns:
        float64 (B, K): infinity for arms without a pull while the sample is not full, and
        -infinity afterwards.
    """
    size = arms or math.ceil(math.sqrt(horizon_of(horizon, history.problem)))
    unpulled = history.pulls == 0
    is_full = np.count_nonzero(~unpulled, axis=1, keepdims=True) >= size
    return np.where(unpulled, np.where(is_full, -np.inf, np.inf), index)
