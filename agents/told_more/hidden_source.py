"""What a player knows of a hidden source that decides the rewards of all arms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.told_problem import ToldProblem


class HiddenSource(NamedTuple):
    """The rewards of K arms for each of X values of the source, whose probabilities are unknown.

    Args:
        low: float64 (K, X), the lowest reward.
        high: float64 (K, X), the highest reward.
        tolerance: the largest difference of rewards that counts as a rounding error.
    """

    low: FloatArray
    high: FloatArray
    tolerance: float

    @classmethod
    def of(cls, problem: BanditProblem) -> HiddenSource:
        """Return what the player of a problem is told.

        Raises:
            ValueError: it is not told.
        """
        if not isinstance(problem, ToldProblem) or problem.source is None:
            raise ValueError(
                "the problem does not tell the rewards for each value of the hidden source: "
                "expected a ToldProblem, which evaluate() gives to agents that need it; by hand, "
                "pass ToldProblem(problem, source=...) to reset()"
            )
        return cls(problem.source[0], problem.source[1], problem.tolerance)

    @property
    def means(self) -> FloatArray:
        """The mean reward of each arm for each value of the source, float64 (K, X)."""
        means: FloatArray = (self.low + self.high) / 2
        return means

    def consistent(self, arms: IntArray, rewards: FloatArray) -> BoolArray:
        """Return for which values of the source an arm can give a reward.

        Args:
            arms: int64, any shape.
            rewards: float64, the same shape.

        Returns:
            bool, that shape and (X,).
        """
        rewards = rewards[..., None]
        possible: BoolArray = (self.low[arms] - self.tolerance <= rewards) & (
            rewards <= self.high[arms] + self.tolerance
        )
        return possible

    def likelihood(self, arms: IntArray, rewards: FloatArray) -> FloatArray:
        """Return how likely a reward is for each value of the source, up to a factor.

        Rewards are uniform between the lowest and the highest one.

        Args:
            arms: int64, any shape.
            rewards: float64, the same shape.

        Returns:
            float64, that shape and (X,), at most 1; all 1 where no value can give the reward.
        """
        possible = self.consistent(arms, rewards)
        width = np.maximum(self.high - self.low, self.tolerance)[arms]
        density = np.where(possible, 1 / width, 0)
        density[~possible.any(axis=-1)] = 1
        likelihood: FloatArray = density / density.max(axis=-1, keepdims=True)
        return likelihood
