"""UCB whose index is at most the best bound that the pseudo-rewards give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.arrays import FloatArray
from cmab_gym.history import CorrelatedHistory
from cmab_gym.problem import check_scale
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class ClippedUCB:
    """Like UCB, but no arm counts for more than its pseudo-rewards allow: a soft elimination.

    Index: the least over the arms k that were pulled of phi[l, k] + B sqrt(2 ln t / n_k), where
    phi[l, k] is the mean pseudo-reward of arm l over the n_k pulls of arm k, and phi[l, l] its mean
    reward. An arm without a pull has the bound given the others as its index, and is pulled only
    if that is the largest. A phi that is the largest reward says nothing and is left out: where no
    arm says anything about another, the index is that of UCB.

    Args:
        B: length of the interval of rewards, in their unit; None takes the problem's. A larger B
            explores more.

    Needs: pseudo-rewards in the problem.

    Cost per round: O(K) for each arm pulled; memory the same.

    Guarantee: none is proven here. Each term is an upper confidence bound on the mean, since
    pseudo-rewards are upper bounds and averages of numbers in an interval of length B.

    Source: the index of B-KL-UCB, the least of KL-UCB and a known bound on the mean, in J. Zhang
    and E. Bareinboim, "Transfer learning in multi-armed bandits: a causal approach" (IJCAI 2017),
    with bounds that are learned here. UCB: Auer, Cesa-Bianchi and Fischer (2002).
    """

    ranks_unpulled: ClassVar[bool] = True
    reads_pseudo_rewards: ClassVar[bool] = True
    B: float | None = None

    def __post_init__(self) -> None:
        check_scale(self.B)

    def index(self, history: CorrelatedHistory, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        if not history.t:
            return np.full(history.pulls.shape, np.inf)
        pulls = history.pulls
        widths = np.where(pulls > 0, UCB(self.B).widths(history, pulls), np.inf)
        index: FloatArray = np.minimum(history.means + widths, history.least_sum(widths))
        return index
