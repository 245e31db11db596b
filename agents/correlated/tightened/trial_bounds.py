"""`TrialBounds`: bounds on the arms' means from tightened pseudo-rewards."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.correlated.tightened.kept_vectors import KeptVectors, next_check
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.history import CorrelatedHistory
from cmab_gym.state import Stateful


class TrialBounds(Stateful):
    """Averages of tightened pseudo-rewards over the rewards of each arm.

    Vectors given an arm are computed when it is significant and its pulls have grown by half since
    the last time, unless only one arm may be pulled.

    Args:
        history: the agent's, before the first pull.

    Attributes:
        values: float64 (B, K, K), as [b, k, l]: the least average of the vectors of arm l given
            arm k; infinity where there are none.
        kept: the vectors and their sums.
    """

    _changing = ("kept", "values", "_next_check")

    def __init__(self, history: CorrelatedHistory) -> None:
        # Reading `history.counts` makes the history keep counts from now on.
        trials, n_arms, _ = history.counts.shape
        self.kept = KeptVectors(history.problem, trials)
        self.values: FloatArray = np.full((trials, n_arms, n_arms), np.inf)
        self._history = history
        self._trial = np.arange(trials)
        self._next_check = 0  # the round

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add the rewards that the history has just received."""
        kept, index = self.kept, self._history.problem.reward_index(rewards)
        slot = kept.slot[self._trial, arms]
        trials = np.flatnonzero(slot)
        slot, arms = slot[trials], arms[trials]
        kept.sums[slot] += kept.vectors[slot, :, index[trials]]
        kept.update_least(slot, arms)
        self._average(trials, arms)

    def solve_due(self, allowed: BoolArray) -> IntArray:
        """Solve the programs that are due.

        Args:
            allowed: bool (B, K), the arms that may be pulled now.

        Returns:
            The trials whose bounds have changed, int64.
        """
        history = self._history
        if history.t < self._next_check:
            return np.empty(0, dtype=np.int64)
        self._next_check = next_check(history.t)
        open_ = np.flatnonzero((allowed & ~history.unknown).sum(axis=1) > 1)
        trials, arms = self.kept.solve_due(
            open_, history.significant[open_], history.pulls[open_], history.counts[open_]
        )
        self._average(trials, arms)
        return trials

    def _average(self, trials: IntArray, arms: IntArray) -> None:
        sums = self.kept.least[self.kept.slot[trials, arms]]
        self.values[trials, arms] = sums / self._history.pulls[trials, arms][:, None]
