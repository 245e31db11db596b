"""UCB-N: UCB that also sees the rewards of the arms that a pull says something about."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.api import checks_round, set_by_reset
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams


class UCBN(IndexAgent):
    """UCB that sees the rewards of all arms about which the pulled one says something.

    Idea: pseudo-rewards of arm l given arm k bound the mean of arm l; what if a pull of k showed
    the reward of arm l itself? No correlated agent can know more. Arm l is a neighbour of arm k
    unless all pseudo-rewards of l given k are the largest reward.

    Index: mean + B sqrt(2 ln t / O), with O observed rewards of the arm, by its own pulls and those
    of its neighbours, and their mean. Where all arms are neighbours, all O are t, and it pulls the
    arm with the best mean of all rewards.

    Args:
        B: length of the interval of rewards, in their unit; None takes the problem's.

    Needs: the rewards of all arms in every round, as `told = "outcomes"` asks for: an environment
    made with draws="rounds". Played by hand, pass them to `update`.

    Cost per round: O(K).

    Guarantee: regret of the order of ln T summed over the groups of a partition of the arms into
    cliques of neighbours, instead of over the arms.

    Source: S. Caron, B. Kveton, M. Lelarge and S. Bhagat, "Leveraging side observations in
    stochastic bandits" (UAI 2012).
    """

    told: ClassVar[str] = "outcomes"
    policy: UCB
    observed: IntArray = set_by_reset()
    _sums: FloatArray = set_by_reset()
    _neighbours: BoolArray = set_by_reset()

    _changing = ("observed", "_sums")

    def __init__(self, B: float | None = None) -> None:
        super().__init__(UCB(B))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(B={self.policy.B!r})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `IndexAgent.reset`."""
        super().reset(problem, trials, rng)
        self._neighbours = neighbours(problem)
        self.observed = np.zeros((trials, problem.n_arms), dtype=np.int64)
        self._sums = np.zeros((trials, problem.n_arms))

    @checks_round
    def update(
        self, arms: IntArray, rewards: FloatArray, outcomes: FloatArray | None = None
    ) -> None:
        """Add the pulls, and the rewards of their neighbours.

        Args:
            arms: int64 (B,), the arms pulled.
            rewards: float64 (B,), their rewards.
            outcomes: float64 (B, K), the rewards of all arms in this round; None if only that of
                the arm pulled was seen.

        Raises:
            ValueError: as `IndexAgent.update`.
        """
        self._learn(arms, rewards)
        own = np.arange(arms.size), arms
        if outcomes is None:
            self.observed[own] += 1
            self._sums[own] += rewards
        else:
            seen = self._neighbours[arms]
            self.observed += seen
            self._sums += np.where(seen, outcomes, 0)

    def indices(self) -> FloatArray:
        """Return the index of every arm, infinity where no reward was seen, float64 (B, K)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            means = self._sums / self.observed
            index = means + self.policy.widths(self.history, self.observed)
        return np.where(self.observed > 0, index, np.inf)


def neighbours(problem: BanditProblem) -> BoolArray:
    """Return about which arms l an arm k says anything, bool (K, K) as [k, l]."""
    n_arms, high = problem.n_arms, problem.reward_bounds[1]
    says = np.eye(n_arms, dtype=np.bool_)
    for arm in range(n_arms):
        for reward in range(problem.reward_support.size):
            says[arm] |= problem.rows.of(arm, reward) < high
    return says
