"""`TightenedCBandit`: a C-Bandit that combines all entries of the table."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.correlated.tightened.trial_bounds import TrialBounds
from cmab_gym.agents.correlated.tightened.vectors import can_be_tightened
from cmab_gym.arrays import BoolArray, FloatArray, IntArray


class TightenedCBandit(CBandit):
    """Rules arms out by tightened pseudo-rewards in addition to the plain ones.

    Idea: given the rewards of arm k, every entry of the table limits the mean of arm l, not only
    the pseudo-rewards of l given k. So it can rule out an arm that is competitive by the paper's
    definition.

    Index: the policy's, as in `CBandit`.

    Needs: pseudo-rewards that are true upper bounds. A wrong entry does more harm than in
    `CBandit`, since all entries are used at once. With continuous rewards it plays like `CBandit`.

    Cost per round: O(K) in addition to `CBandit`, and K - 1 linear programs for every pair (arm,
    rounded marginal) met: at most O(K log T) in a trial, 0.05 ms each with five rewards, shared by
    the trials. Memory O(K^2 R) per trial.

    Guarantee: none is proven. With two arms and finitely many rewards, an arm that is not best
    under any distribution satisfying the table is ruled out, so that regret stays bounded in
    practice.

    Source: `cmab_gym.agents.correlated.tightened.vectors`.

    Args:
        policy, first_pulls, lower_bounds, log_factor, until, reference: as in `CBandit`.

    Attributes:
        tight_bounds: the tightened pseudo-rewards; None if they cannot be computed.
    """

    tight_bounds: TrialBounds | None
    _changing = ("tight_bounds",)

    @property
    def phi(self) -> FloatArray:
        """The least of plain and tightened empirical pseudo-rewards, (B, K, K) as `history.phi`.

        Tightened ones need not be averages of the table's entries, nor lie within the reward
        bounds. After `until` rounds, when nothing is ruled out, they no longer change.
        """
        phi = self.history.phi
        if self.tight_bounds is None:
            return phi
        tightened: FloatArray = np.minimum(phi, self.tight_bounds.values.transpose(0, 2, 1))
        return tightened

    def allowed_arms(self) -> BoolArray:
        """Return the arms that neither plain nor tightened pseudo-rewards rule out, bool (B, K)."""
        allowed = super().allowed_arms()
        if self.tight_bounds is None or self.history.t >= self.until:
            return allowed
        changed = self.tight_bounds.solve_due(allowed)
        if not changed.size:
            return allowed
        # A new vector may lower a bound, and the one that it replaced may have been the minimum.
        self._least_bounds.forget(changed)
        return super().allowed_arms()

    def _tight_values(self) -> FloatArray | None:
        finite = can_be_tightened(self.history.problem)
        self.tight_bounds = TrialBounds(self.history) if finite else None
        return self.tight_bounds.values if self.tight_bounds else None

    def _update_bounds(self, arms: IntArray, rewards: FloatArray) -> None:
        if self.tight_bounds is not None:
            self.tight_bounds.update(arms, rewards)
        super()._update_bounds(arms, rewards)
