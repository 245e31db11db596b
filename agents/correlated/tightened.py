"""`TightenedCBandit`: a C-Bandit that takes all entries of the table together."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents import fast
from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.correlated.tightening import Tightening, can_be_tightened, tighten
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams

_GROWTH = 1.5  # programmes are solved anew when the pulls of an arm have grown so much
_LOOKS = 1.1  # rounds at which pulls are compared, by this factor apart: a look costs a choice
_FIRST = 4.0  # pulls of an arm before its first programme
_KEPT = 4  # vectors kept for each pair of arms; the oldest is replaced


class TightenedCBandit(CBandit):
    """Rules arms out by tightened pseudo-rewards beside the plain ones.

    Idea: what arm k's rewards say of arm l is limited by every entry of the table, also by what l
    says of k and what others say of both. So an arm can be ruled out that is competitive by the
    paper's definition. The vectors given a significant arm are computed when its pulls have grown
    by half since the last time, as long as more than one arm is left to choose from.

    Index: the policy's, as in `CBandit`.

    Needs: pseudo-rewards that are true upper bounds: a wrong entry misleads more here, since all
    are trusted at once. Where rewards are continuous it plays like `CBandit`.

    Cost per round: O(K) beside that of `CBandit`; K - 1 linear programmes for every (arm, rounded
    marginal) met, O(K log T) at most in a trial, 0.3 ms each at five rewards and shared by the
    trials. Memory O(K^2 R) per trial.

    Guarantee: none is proven. With two arms and finitely many rewards, an arm that no distribution
    within the table's limits makes best is ruled out, so that regret stays bounded in practice.

    Source: `cmab_gym.agents.correlated.tightening`.

    Args:
        policy, lower_bounds: as in `CBandit`.
    """

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`."""
        super().reset(problem, trials, rng)
        n_arms, n_rewards = problem.n_arms, problem.reward_support.size
        self.tightening: Tightening | None = None
        if not can_be_tightened(problem):
            return
        self.tightening = tighten(problem)
        self._counts = np.zeros((trials, n_arms, n_rewards), dtype=np.int64)
        self._tight = np.full((trials, n_arms, n_arms), np.inf)  # phi, as [b, k, l]
        self._next_look = 0.0  # the round
        self._next_solve = np.full((trials, n_arms), _FIRST)  # pulls of each arm
        # Vectors and their sums are kept for those (trial, arm k) alone that were ever due.
        self._slot = np.full((trials, n_arms), -1)
        self._vectors = np.empty((0, _KEPT, n_rewards, n_arms))
        self._vector_sums = np.empty((0, _KEPT, n_arms))
        self._added = np.empty(0, dtype=np.int64)  # vectors so far, and so the next one's place

    @property
    def phi(self) -> FloatArray:
        """The empirical pseudo-rewards, tightened where programmes were solved, as `CBandit.phi`.

        They need not be averages of the table's entries, nor lie within the reward bounds.
        """
        plain = super().phi
        if self._tight is None:
            return plain
        tightened: FloatArray = np.minimum(plain, self._tight.transpose(0, 2, 1))
        return tightened

    def allowed_arms(self) -> BoolArray:
        """Return the arms that neither plain nor tightened pseudo-rewards rule out, bool (B, K)."""
        allowed = super().allowed_arms()
        if self.tightening is None or self.t < self._next_look:
            return allowed
        self._next_look = _LOOKS * self.t
        return super().allowed_arms() if self._extend(allowed, self.tightening) else allowed

    def _extend(self, allowed: BoolArray, tightening: Tightening) -> bool:
        """Add vectors given the significant arms that are due; tell whether there were any."""
        due = self.significant_arms() & (self.pulls >= self._next_solve)
        due &= ((allowed & ~self._unknown).sum(axis=1) > 1)[:, None]
        trials, arms = np.nonzero(due)
        for trial, arm in zip(trials.tolist(), arms.tolist(), strict=True):
            counts = self._counts[trial, arm]
            vectors = tightening.vectors(arm, counts).T
            slot = self._slot_of(trial, arm)
            place = self._added[slot] % _KEPT
            self._vectors[slot, place] = vectors
            self._vector_sums[slot, place] = _summed(counts, vectors)
            self._added[slot] += 1
        self._next_solve[trials, arms] = _GROWTH * self.pulls[trials, arms]
        self._set_tight(trials, arms)
        # A new vector may lower phi, and the one whose place it took may have held it down.
        self._bounds.forget(trials)
        return trials.size > 0

    def _slot_of(self, trial: int, arm: int) -> int:
        slot = int(self._slot[trial, arm])
        if slot < 0:
            slot = self._slot[trial, arm] = int(self._slot.max()) + 1
            if slot == len(self._vectors):
                self._vectors, self._vector_sums, self._added = (
                    np.resize(each, (2 * slot or 1, *each.shape[1:]))
                    for each in (self._vectors, self._vector_sums, self._added)
                )
            self._vectors[slot] = self._rows[arm]
            self._vector_sums[slot] = _summed(self._counts[trial, arm], self._rows[arm])
            self._added[slot] = 0
        return slot

    def _set_tight(self, trial: IntArray, arms: IntArray) -> None:
        if self._tight is not None:
            sums = self._vector_sums[self._slot[trial, arms]].min(axis=1)
            self._tight[trial, arms] = sums / self.pulls[trial, arms][:, None]
            self._tight[trial, arms, arms] = np.inf

    def _tighten(self, arms: IntArray, index: IntArray) -> None:
        if self.tightening is None:
            return
        if self._compiled:
            fast.kernels().add_vectors(
                self._counts,
                self._slot,
                self._vectors,
                self._vector_sums,
                self._tight,
                self.pulls,
                arms,
                index,
            )
            return
        self._counts[self._trial, arms, index] += 1
        slot = self._slot[self._trial, arms]
        kept = np.flatnonzero(slot >= 0)
        slot = slot[kept]
        self._vector_sums[slot] += self._vectors[slot, :, index[kept]]
        self._set_tight(kept, arms[kept])


def _summed(counts: IntArray, vectors: FloatArray) -> FloatArray:
    """Sum vectors (R, K) over rewards given so often, in a fixed order."""
    sums: FloatArray = (counts[:, None] * vectors).sum(axis=0)
    return sums
