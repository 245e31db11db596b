"""`DrawnRewards`: models whose outcome of a round is the reward of every arm."""

from __future__ import annotations

from array import array
from typing import Any, TypeAlias

import numpy as np

from cmab_gym.arrays import AnyArray, IntArray
from cmab_gym.models.base import BanditModel, Pull, flat

# Rewards and their positions, row by row, and K.
_Prepared: TypeAlias = "tuple[array[Any], array[Any], int]"
_REWARDS_PER_DRAW = 8192  # the rewards of a trial, over all arms, that are drawn in one call


class DrawnRewards(BanditModel):
    """A model that draws the rewards themselves: outcomes are float64 (rounds, K).

    The rewards are within the problem's bounds: of its support, or in bins of equal size.
    """

    def pull(self, outcomes: AnyArray, arms: IntArray) -> Pull:
        """Look up rewards: see `BanditModel.pull`."""
        n_arms = outcomes.shape[1]
        rewards = outcomes.take(arms + np.arange(0, outcomes.size, n_arms)[:, None])
        # `draw` keeps rewards within the bounds, which `problem.reward_index` would check again.
        return rewards, self.problem.cuts.searchsorted(rewards, side="right")

    def prepare(self, outcomes: AnyArray) -> _Prepared:
        """Find the positions of all rewards: see `BanditModel.prepare`."""
        problem, n_arms = self.problem, outcomes.shape[1]
        if problem.reward_edges is None:
            index = problem.cuts.searchsorted(outcomes, side="right")
            return flat(outcomes), flat(index), n_arms
        # Bins of equal size can be computed, and corrected where rounding crossed an edge. A search
        # takes seven times as long.
        low, high = problem.reward_bounds
        index = ((outcomes - low) / (high - low) * problem.reward_support.size).astype(np.int64)
        starts = np.concatenate([[-np.inf], problem.cuts, [np.inf]])
        index -= outcomes < starts.take(index)
        index += outcomes >= starts.take(index + 1)
        return flat(outcomes), flat(index), n_arms

    def pull_one(self, prepared: _Prepared, row: int, arm: int) -> tuple[float, int]:
        """Look up one reward: see `BanditModel.pull_one`."""
        rewards, index, n_arms = prepared
        i = row * n_arms + arm
        return rewards[i], index[i]


def rounds_per_draw(n_arms: int) -> int:
    """Return how many rounds of K arms a model of drawn rewards draws at a time."""
    return max(1, _REWARDS_PER_DRAW // n_arms)
