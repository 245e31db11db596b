"""`EstimatedLosses`: policies that learn from estimates of the losses of all arms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.randomised.policy import RandomisedPolicy, add_to_pulled
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History

_LEAST = 1e-12  # of the probability of an arm that was not drawn, but logged, say


@dataclass(frozen=True)
class EstimatedLosses(RandomisedPolicy):
    """A randomised policy whose scores are estimates of the sum of each arm's losses.

    The loss of a reward r is (high - r) / (high - low) for the problem's bounds, between 0 and 1.
    Divided by the probability of the arm pulled, and 0 for the others, it is an estimate without
    bias of the losses of all arms in this round, whatever they were.

    Args:
        rate: factor of the learning rate, above 0.
    """

    rate: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("rate", self.rate, "it multiplies the learning rate")

    def least_divisor(self, t: int, n_arms: int) -> float:
        """Return what is added to the probability before the loss is divided by it."""
        return 0.0

    def learned(
        self, scores: FloatArray, probabilities: FloatArray, history: History
    ) -> FloatArray:
        """Add the estimated losses of a round: see `RandomisedPolicy.learned`."""
        low, high = history.problem.reward_bounds
        pulled = np.arange(len(scores)), history.last_arm
        loss = (high - history.last_reward) / ((high - low) or 1.0)
        drawn = np.maximum(probabilities[pulled], _LEAST)
        estimate = loss / (drawn + self.least_divisor(history.t, scores.shape[1]))
        return add_to_pulled(scores, history.last_arm, estimate)


def exponential_rate(t: int, n_arms: int) -> float:
    """Return sqrt(ln K / (t K)), the learning rate of exponential weights in round t."""
    return math.sqrt(math.log(n_arms) / (t * n_arms))
