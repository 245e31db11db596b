"""`KeptVectors`: the vectors of pseudo-rewards that each trial keeps, and their sums."""

from __future__ import annotations

import math

import numpy as np

from cmab_gym.agents.correlated.tightened.vectors import TightenedVectors
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.rows import pseudo_reward_rows
from cmab_gym.state import Stateful

_GROWTH = 1.5  # programs are solved again when the pulls of an arm have grown by this factor
_CHECKS = 1.1  # ratio of the rounds at which pulls are checked for that growth
_FIRST = 4.0  # pulls of an arm before its first programs
_KEPT = 4  # vectors kept for each pair of arms; a new one replaces the oldest


def next_check(t: int) -> int:
    """Return the first round after round t before which programs may be due."""
    return max(t + 1, math.ceil(_CHECKS * t))


def check_rounds(horizon: int) -> IntArray:
    """Return all rounds below a horizon before which programs may be due, int64, increasing."""
    rounds, t = [], 0
    while t < horizon:
        rounds.append(t)
        t = next_check(t)
    return np.array(rounds, dtype=np.int64)


class KeptVectors(Stateful):
    """The last vectors given each arm in each of B trials, summed over the arm's rewards.

    New ones are computed when an arm is significant and its pulls have grown by half since the last
    time. The caller adds the rewards: it adds `vectors[slot, :, j]` to `sums[slot]`.

    Args:
        problem: the problem.
        trials: B.

    Attributes:
        tightened: the vectors of all trials, and the linear programs behind them.
        next_solve: float64 (B, K), the pulls of an arm at which its programs are due.
        slot: int64 (B, K), the row of an arm in the arrays below; 0 for an arm without vectors.
        vectors: float64 (S, V, R, K), V vectors each, as [j, l].
        sums: float64 (S, V, K).
        least: float64 (S, K), the least of the sums; infinity for the arm itself and in row 0.
    """

    _changing = (
        *("tightened", "next_solve", "slot", "vectors", "sums", "least"),
        *("_n_added", "_n_slots"),
    )

    def __init__(self, problem: BanditProblem, trials: int) -> None:
        n_arms, n_rewards = problem.n_arms, problem.reward_support.size
        self.tightened = TightenedVectors(problem)
        self.next_solve = np.full((trials, n_arms), _FIRST)
        self.slot = np.zeros((trials, n_arms), dtype=np.int64)
        self.vectors: FloatArray = np.zeros((1, _KEPT, n_rewards, n_arms))
        self.sums: FloatArray = np.full((1, _KEPT, n_arms), np.inf)
        self.least: FloatArray = np.full((1, n_arms), np.inf)
        self._n_added: IntArray = np.zeros(1, dtype=np.int64)
        self._n_slots = 1
        self._plain = pseudo_reward_rows(problem.rows.table("a tightened agent"))

    def solve_due(
        self, trials: IntArray, significant: BoolArray, pulls: IntArray, counts: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Solve the programs of some trials that are due, and keep the vectors.

        Args:
            trials: int64 (n,), different trials.
            significant: bool (n, K).
            pulls: int64 (n, K).
            counts: int64 (n, K, R), how often each arm gave each reward.

        Returns:
            The trials and the arms k whose vectors have changed, int64 (m,) each.
        """
        own, arms = np.nonzero(significant & (pulls >= self.next_solve[trials]))
        changed, seen = trials[own], counts[own, arms]
        if own.size:
            self._add(changed, arms, seen, self.tightened.of_each(arms, seen).swapaxes(1, 2))
            self.next_solve[changed, arms] = _GROWTH * pulls[own, arms]
        return changed, arms

    def _add(self, trials: IntArray, arms: IntArray, counts: IntArray, vectors: FloatArray) -> None:
        """Keep vectors (n, R, K) in place of the oldest ones; counts are (n, R)."""
        new = self.slot[trials, arms] == 0
        self._open(trials[new], arms[new], counts[new])
        slot = self.slot[trials, arms]
        oldest = self._n_added[slot] % _KEPT
        self.vectors[slot, oldest] = vectors
        self.sums[slot, oldest] = _summed(counts, vectors)
        self._n_added[slot] += 1
        self.update_least(slot, arms)

    def update_least(self, slot: IntArray, arms: IntArray) -> None:
        """Find the least of the sums in some rows, which are those of these arms."""
        self.least[slot] = self.sums[slot].min(axis=1)
        self.least[slot, arms] = np.inf

    def _open(self, trials: IntArray, arms: IntArray, counts: IntArray) -> None:
        """Make room for vectors given more arms, and begin with the plain pseudo-rewards."""
        slot = np.arange(self._n_slots, self._n_slots + arms.size)
        self._n_slots += arms.size
        if self._n_slots > len(self.sums):
            room = 2 * self._n_slots
            self.vectors, self.sums, self.least, self._n_added = (
                np.resize(each, (room, *each.shape[1:]))
                for each in (self.vectors, self.sums, self.least, self._n_added)
            )
        self.slot[trials, arms] = slot
        self.vectors[slot] = self._plain[arms][:, None]
        self.sums[slot] = _summed(counts, self._plain[arms])[:, None]
        self._n_added[slot] = 0


def _summed(counts: IntArray, vectors: FloatArray) -> FloatArray:
    """Sum n vectors (R, K) over rewards with counts (R,) each, in a fixed order."""
    sums: FloatArray = counts[:, 0, None] * vectors[:, 0]
    for j in range(1, counts.shape[1]):
        sums += counts[:, j, None] * vectors[:, j]
    return sums
