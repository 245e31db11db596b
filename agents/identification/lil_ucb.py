"""lil'UCB: pull by an upper bound, stop when one arm has most of the pulls."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.identification.api import SamplingAgent
from cmab_gym.arrays import BoolArray, IntArray


class LilUCB(SamplingAgent):
    """Pull by an upper bound with ln ln n, and stop when one arm has most of the pulls.

    Index: mean_k + 1.5 sqrt(2 sigma^2 ln(ln(n_k) / d) / n_k) with d = delta / 5 and sigma = B / 2,
    where B is the length of the interval of rewards; ln(n_k) is at least 1. Stop when an arm has
    1 + (1 + 10 / K) times as many pulls as all others together.

    Args:
        delta: the accepted probability of stopping with a wrong arm, between 0 and 1.

    Cost per round: O(K).

    Guarantee: none. These are the parameters that its authors recommend (epsilon = 0, beta = 1/2,
    lambda = 1 + 10 / K); those of their theorem need many more pulls.

    Source: Jamieson, Malloy, Nowak and Bubeck (2014), Figure 1 and Section 4, "lil'UCB Heuristic".
    """

    def best_arm(self) -> IntArray:
        """Return the arm with most pulls: see `IdentificationAgent.best_arm`."""
        best: IntArray = self.history.pulls.argmax(axis=1)
        return best

    def _choose(self) -> IntArray:
        pulls = self.history.pulls
        logs = np.log(np.maximum(np.log(pulls), 1) * 5 / self.delta)
        bonus = 1.5 * np.sqrt(self.scale**2 / 2 * logs / pulls)
        return argmax_with_random_ties(self.history.means + bonus, self.rng.uniform())

    def _stops(self) -> BoolArray:
        most = self.history.pulls.max(axis=1)
        share = 1 + 10 / self.history.problem.n_arms
        stops: BoolArray = most >= 1 + share * (self.history.t - most)
        return stops
