"""KL-UCB: the largest mean that an arm's rewards do not contradict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.mathematics.bernoulli import largest_mean_within, unit_means
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class KLUCB:
    """Optimism measured in Kullback-Leibler divergence.

    Index: the largest q with n_k kl(mean_k, q) <= ln t + c ln ln t, where rewards are scaled to
    [0, 1] by the problem's bounds and kl is the divergence of Bernoulli distributions.

    Args:
        c: weight of the ln ln t term, 0 or more; 0 is the usual choice in practice, 3 in proofs.

    Cost per round: O(K), with about 10 logarithms per arm.

    Guarantee: optimal for 0/1 rewards: pulls of an arm grow as ln T / kl(mu_k, mu*).

    Source: Garivier and Cappé (2011), Algorithm 1; Cappé et al. (2013).
    """

    c: float = 0.0

    def __post_init__(self) -> None:
        checks.number_between("c", self.c, 0, np.inf, "it is the weight of ln ln t")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        low, high = history.problem.reward_bounds
        log_t = np.log(history.t)
        budget = log_t + (self.c * np.log(log_t) if log_t > 1 else 0.0)
        largest = largest_mean_within(unit_means(history), budget / history.pulls)
        return low + (high - low) * largest
