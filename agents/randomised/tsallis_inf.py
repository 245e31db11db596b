"""Tsallis-INF: near-optimal for random rewards and for rewards that an adversary chooses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.randomised.estimated_losses import EstimatedLosses
from cmab_gym.arrays import FloatArray


@dataclass(frozen=True)
class TsallisINF(EstimatedLosses):
    """Draw an arm with a probability that falls with the square of its estimated losses.

    Probability of arm k in round t: 4 / (eta_t (L_k - x))^2, where L_k is the sum of the losses of
    arm k divided by the probabilities with which it was drawn, eta_t = 2 rate / sqrt(t), and x,
    below every L_k, makes the probabilities sum to 1. They are those that balance small losses and
    a large Tsallis entropy of order 1/2.

    Args:
        rate: factor of the learning rate, above 0. A smaller one explores more.

    Needs: bounds that hold the rewards tightly, since losses are scaled by them.

    Cost per round: O(K log K), with some 10 Newton steps for x and K Gumbel numbers.

    Guarantee: with rate 1, expected regret at most 4 sqrt(K T) + 1 for any sequence of rewards, and
    O(log T) for random rewards with one best arm. Not as `c-tsallis-inf`.

    Source: Zimmert and Seldin (2021), Algorithm 1 with alpha = 1/2, importance-weighted estimates
    and Newton's method of its Algorithm 2.
    """

    def log_weights(self, scores: FloatArray, t: int) -> FloatArray:
        """Return log-probabilities, float64 (B, K): see `RandomisedPolicy.log_weights`."""
        eta = 2 * self.rate / math.sqrt(t)
        return log_tsallis_weights(eta * scores)


def log_tsallis_weights(losses: FloatArray) -> FloatArray:
    """Return the logarithms of the probabilities 4 / (losses - x)^2, where x makes them sum to 1.

    Args:
        losses: float64 (B, K), times the learning rate.

    Returns:
        float64 (B, K), within rounding error.
    """
    excess = losses - losses.min(axis=1, keepdims=True)
    # y = min(losses) - x lies between 2, where the largest weight is 1, and 2 sqrt(K), where all
    # are 1/K. The sum of weights is convex in y, so that Newton's steps from 2 never pass the root.
    # They increase y by half until it is near, and then converge quadratically. A fixed number
    # keeps each trial's result independent of the others in its batch.
    y = np.full((len(losses), 1), 2.0)
    for _ in range(math.ceil(math.log(losses.shape[1], 2.25)) + 6):
        root = 2 / (excess + y)  # of the weight
        weight = root * root
        y += (weight.sum(axis=1, keepdims=True) - 1) / (weight * root).sum(axis=1, keepdims=True)
    logarithms: FloatArray = 2 * np.log(2 / (excess + y))
    return logarithms
