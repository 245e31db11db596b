"""C-LUCB: LUCB whose upper bounds also come from the pseudo-rewards of other arms."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.identification.lucb import LUCB
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.history import CorrelatedHistory
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams


class CLUCB(LUCB):
    """LUCB whose upper bounds also come from the pseudo-rewards of other arms.

    Idea: the average pseudo-reward phi[l, k] over the n pulls of arm k estimates a bound on the
    mean of arm l. So arm l may be ruled out, or stop being the challenger, by pulls of arm k alone.

    Upper bound of arm l: the least of LUCB's, and of phi[l, k] + B[l, k] radius(n_k, delta / M)
    over all arms k and all rounds so far, where B[l, k] is the largest entry of s[l, k] minus the
    smallest. Pairs whose entries are all the largest reward say nothing and are left out. M is
    K plus the most pairs (l, k) that any arm l has.

    Args:
        delta: the accepted probability of stopping with a wrong arm, between 0 and 1.

    Needs: a pseudo-reward table that fits into memory; without information in it C-LUCB is LUCB.

    Cost per round: O(K).

    Guarantee: if the expected pseudo-rewards bound the means, the arm is wrong with probability at
    most delta. A wrong arm needs a wrong L of that arm, or a wrong upper bound of the best arm,
    which has its own and one for each pair: a union bound over M averages, not over all pairs. A
    table from a survey of other users may be wrong; then there is no guarantee.

    Source: the setting and the name are of Gupta, Joshi and Yagan (2021), "Best-arm identification
    in correlated multi-armed bandits". The bounds are ours.
    """

    history: CorrelatedHistory

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `IdentificationAgent.reset`.

        Raises:
            ValueError: the problem's table is too large to be held whole.
        """
        table = problem.pseudo_rewards.swapaxes(0, 1)  # by the arm that is pulled
        high, smallest = problem.reward_bounds[1], table.min(axis=2)
        says = smallest < high - problem.tolerance
        np.fill_diagonal(says, False)
        self._ranges: FloatArray = np.where(says, table.max(axis=2) - smallest, np.inf)
        self._pairs = int(says.sum(axis=0).max())
        super().reset(problem, trials, rng)

    def _bounds_needed(self) -> int:
        return super()._bounds_needed() + self._pairs

    def _new_history(self, problem: BanditProblem, trials: int) -> CorrelatedHistory:
        return CorrelatedHistory(problem, trials)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        super()._learn(arms, rewards)
        distance = self._ranges[arms] * self._radius[:, None]
        np.minimum(self.upper, self.history.phi_given(arms) + distance, out=self.upper)
