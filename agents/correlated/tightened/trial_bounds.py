"""`TrialBounds`: bounds on the arms' means from tightened pseudo-rewards."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.correlated.tightened.vectors import TightenedVectors
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.history import CorrelatedHistory
from cmab_gym.rows import pseudo_reward_rows

_GROWTH = 1.5  # programs are solved again when the pulls of an arm have grown by this factor
_CHECKS = 1.1  # ratio of the rounds at which pulls are checked for that growth
_FIRST = 4.0  # pulls of an arm before its first programs
_KEPT = 4  # vectors kept for each pair of arms; a new one replaces the oldest


class TrialBounds:
    """Averages of tightened pseudo-rewards over the rewards of each arm.

    Vectors given an arm are computed when it is significant and its pulls have grown by half since
    the last time, unless only one arm may be pulled.

    Args:
        history: the agent's, before the first pull.

    Attributes:
        values: float64 (B, K, K), as [b, k, l]: the least average of the vectors of arm l given
            arm k; infinity where there are none.
        tightened: the vectors, and the linear programs behind them.
    """

    def __init__(self, history: CorrelatedHistory) -> None:
        problem = history.problem
        # Reading `history.counts` makes the history keep counts from now on.
        trials, n_arms, n_rewards = history.counts.shape
        self.tightened = TightenedVectors(problem)
        self.values = np.full((trials, n_arms, n_arms), np.inf)
        self._history = history
        self._trial = np.arange(trials)
        self._plain = pseudo_reward_rows(problem.rows.table("a tightened agent"))
        self._next_check = 0.0  # the round
        self._next_solve = np.full((trials, n_arms), _FIRST)  # pulls of each arm
        # Vectors are kept only for pairs (trial, arm k) for which programs were solved.
        self._slot = np.full((trials, n_arms), -1)
        self._vectors = np.empty((0, _KEPT, n_rewards, n_arms))
        self._sums = np.empty((0, _KEPT, n_arms))
        self._n_added = np.empty(0, dtype=np.int64)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add the rewards that the history has just received."""
        index = self._history.problem.reward_index(rewards)
        slot = self._slot[self._trial, arms]
        kept = np.flatnonzero(slot >= 0)
        self._sums[slot[kept]] += self._vectors[slot[kept], :, index[kept]]
        self._average(kept, arms[kept])

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
        self._next_check = _CHECKS * history.t
        due = history.significant & (history.pulls >= self._next_solve)
        due &= ((allowed & ~history.unknown).sum(axis=1) > 1)[:, None]
        trials, arms = np.nonzero(due)
        vectors = self.tightened.of_each(arms, history.counts[trials, arms])
        for trial, arm, own in zip(trials.tolist(), arms.tolist(), vectors, strict=True):
            self._add(trial, arm, own.T)
        self._next_solve[trials, arms] = _GROWTH * history.pulls[trials, arms]
        self._average(trials, arms)
        return trials

    def _add(self, trial: int, arm: int, vectors: FloatArray) -> None:
        """Add vectors (R, K) given an arm in place of the oldest ones."""
        counts = self._history.counts[trial, arm]
        slot = self._slot_of(trial, arm)
        oldest = self._n_added[slot] % _KEPT
        self._vectors[slot, oldest] = vectors
        self._sums[slot, oldest] = _summed(counts, vectors)
        self._n_added[slot] += 1

    def _slot_of(self, trial: int, arm: int) -> int:
        slot = int(self._slot[trial, arm])
        if slot < 0:
            slot = self._slot[trial, arm] = int(self._slot.max()) + 1
            if slot == len(self._vectors):
                self._vectors, self._sums, self._n_added = (
                    np.resize(each, (2 * slot or 1, *each.shape[1:]))
                    for each in (self._vectors, self._sums, self._n_added)
                )
            self._vectors[slot] = self._plain[arm]
            self._sums[slot] = _summed(self._history.counts[trial, arm], self._plain[arm])
            self._n_added[slot] = 0
        return slot

    def _average(self, trials: IntArray, arms: IntArray) -> None:
        sums = self._sums[self._slot[trials, arms]].min(axis=1)
        self.values[trials, arms] = sums / self._history.pulls[trials, arms][:, None]
        self.values[trials, arms, arms] = np.inf


def _summed(counts: IntArray, vectors: FloatArray) -> FloatArray:
    """Sum vectors (R, K) over rewards with these counts (R,), in a fixed order."""
    sums: FloatArray = (counts[:, None] * vectors).sum(axis=0)
    return sums
