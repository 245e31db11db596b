"""MIN-UCB: optimism that uses the survey as far as its bias is bounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.agents.survey.survey_means import surveyed
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class MinUCB:
    """Optimism with two upper bounds for each arm: pull the arm whose smaller one is the largest.

    One bound is that of `ucb`. The other counts the ratings of the survey as rewards, and adds what
    they may be wrong by; it is the smaller one until an arm has been pulled often.

    Index: min(mean_k + B sqrt(2 ln t / n_k),
    (sum_k + c_k m_k + c_k bias) / (n_k + c_k) + B sqrt(2 ln t / (n_k + c_k))), where sum_k is the
    sum of the n_k rewards of arm k, and m_k the mean of its c_k ratings in the survey.

    Args:
        bias: how much the mean of an arm may differ from that in the survey, in the reward's unit,
            0 or more.
        B: length of the interval of rewards, in their unit; None takes the problem's. A larger B
            explores more.

    Needs: `survey_means` in the problem.

    Cost per round: O(K).

    Guarantee: if no mean differs by more than `bias`, regret at most that of UCB up to a constant,
    and less for arms whose gap is above twice the bias. If one does, none.

    Source: Cheung and Lyu (2024), Leveraging (biased) information: multi-armed bandits with offline
    data. Its MIN-UCB takes the smaller of these two bounds; the widths here are those of `ucb`.
    """

    ranks_unpulled: ClassVar[bool] = True
    bias: float = 0.1
    B: float | None = None

    def __post_init__(self) -> None:
        checks.number_between("bias", self.bias, 0, checks.LARGEST, "it is a difference of means")
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        means, counts = surveyed(history.problem)
        online = self._bound(history, history.sums, history.pulls)
        sums = history.sums + counts * (means + float(self.bias))
        index: FloatArray = np.minimum(online, self._bound(history, sums, history.pulls + counts))
        return index

    def _bound(self, history: History, sums: FloatArray, n: IntArray) -> FloatArray:
        """Return the upper bound of UCB, infinite where n is 0."""
        at_least_1 = np.maximum(n, 1)
        bound: FloatArray = sums / at_least_1 + UCB(self.B).widths(history, at_least_1)
        return np.where(n > 0, bound, np.inf)
