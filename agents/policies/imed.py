"""IMED: the arm that could be best with the least evidence against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.mathematics.bernoulli import bernoulli_kl, unit_means
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class IMED:
    """Pull the arm with the least evidence that it is worse than the best mean so far.

    Index: -(n_k kl(mean_k, best mean) + ln n_k), where rewards are scaled to [0, 1] and kl is the
    divergence of Bernoulli distributions; kl is 0 for the arm of the best mean. The authors
    minimise it without the sign.

    Cost per round: O(K).

    Guarantee: optimal for 0/1 rewards: pulls of an arm grow as ln T / kl(mu_k, mu*). It has no
    parameter and no ln t.

    Source: Honda and Takemura (2015), Algorithm 1.
    """

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        means = unit_means(history)
        best = means.max(axis=1, keepdims=True, where=history.pulls > 0, initial=0.0)
        divergence: FloatArray = np.where(means < best, bernoulli_kl(means, best), 0.0)
        index: FloatArray = -divergence * history.pulls - np.log(history.pulls)
        return index
