"""Bayes-UCB: a quantile of the posterior of each arm's mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.mathematics.bernoulli import unit_means
from cmab_gym.agents.remembered import remembered, rounded_up
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.history import History
from cmab_gym.problem import horizon_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class BayesUCB:
    """Optimism measured by a posterior: pull the arm with the largest upper quantile.

    Index: the quantile 1 - 1 / (t (ln T)^c) of Beta(1 + s_k, 1 + n_k - s_k), where s_k is the sum
    of the rewards of arm k scaled to [0, 1]. t is rounded up by at most 5 %, so that a quantile is
    computed only when it changes noticeably.

    Args:
        c: weight of the horizon T, 0 or more; 0 is the authors' choice in practice, 5 in proofs.

    Needs: the horizon, if c is not 0.

    Cost per round: one quantile of a Beta distribution, plus O(K) to compare; K when ln t has
    grown.

    Guarantee: optimal for 0/1 rewards: pulls of an arm grow as ln T / kl(mu_k, mu*).

    Source: Kaufmann, Cappé and Garivier (2012), Algorithm 1 and Theorem 1.
    """

    c: float = 0.0

    def __post_init__(self) -> None:
        checks.number_between("c", self.c, 0, np.inf, "it is the power of ln T")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        from scipy.special import betainccinv  # here, since loading SciPy takes 0.1 s

        low, high = history.problem.reward_bounds
        tail = 1 / rounded_up(history.t)
        if self.c:
            tail /= max(np.log(horizon_of(None, history.problem)), 1.0) ** float(self.c)

        def quantile(arms: BoolArray) -> FloatArray:
            pulls = history.pulls[arms]
            successes = unit_means(history)[arms] * pulls
            found: FloatArray = betainccinv(1 + successes, 1 + pulls - successes, tail)
            return found

        return low + (high - low) * remembered(history, tail, quantile)
