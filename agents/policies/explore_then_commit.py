"""Explore-then-commit: a fixed number of pulls of every arm, then always the best of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_horizon, horizon_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class ExploreThenCommit:
    """Pull every arm m times, then always the one with the best mean, whatever it gives later.

    Index: infinity before m pulls; then the mean of these m pulls; above all means for the arm that
    it is committed to, which is the one with more than m pulls.

    Args:
        m: how often every arm is pulled, 1 or more; None takes (T / K)^(2/3) (ln T)^(1/3) rounded
            up, where T is the horizon, but at most T / (2 K), so that at most half of a trial is
            exploration, and at least 1. (The formula is for rewards in [0, 1].)
        horizon: rounds of a trial; None takes that of the evaluation.

    Needs: the horizon, if m is None.

    Cost per round: O(K).

    Guarantee: regret O(T^(2/3) (K ln T)^(1/3)) with m as the formula says.

    Source: Slivkins (2019), Algorithm 1.1 and Theorem 1.5.
    """

    m: int | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        if self.m is not None:
            checks.whole_number("m", self.m, 1)
        check_horizon(self.horizon)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        pulls, high = history.pulls, history.problem.reward_bounds[1]
        m = self._first_pulls(history)
        committed = np.where(pulls > m, high + pulls, history.means)
        return np.where(pulls < m, np.inf, committed)

    def _first_pulls(self, history: History) -> int:
        if self.m is not None:
            return int(self.m)
        n_arms, horizon = history.problem.n_arms, horizon_of(self.horizon, history.problem)
        m = np.ceil((horizon / n_arms) ** (2 / 3) * np.log(horizon) ** (1 / 3))
        return max(1, int(min(m, horizon // (2 * n_arms))))
