"""Empirical IMED: IMED for rewards of finitely many values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.mathematics.bernoulli import unit_means
from cmab_gym.agents.mathematics.finite_support import frequencies, k_inf, unit_support
from cmab_gym.agents.remembered import remembered
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class EmpiricalIMED:
    """IMED over all distributions of bounded rewards, not only over means.

    Index: -(n_k K_inf(F_k, best mean) + ln n_k), where F_k is the empirical distribution of the
    rewards of arm k, and K_inf its least divergence from a distribution with at least that mean.
    The authors minimise it without the sign.

    Needs: finitely many rewards; of a continuous reward it sees the bins' midpoints.

    Cost per round: O(K R), with about 10 steps of Newton's method, in trials whose best mean has
    changed; O(R) in others, plus O(K) to compare.

    Guarantee: optimal for bounded rewards: pulls of an arm grow as ln T / K_inf(F_k, mu*).

    Source: Honda and Takemura (2015), Algorithm 1 and Theorem 5.
    """

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        means = unit_means(history)
        best = means.max(axis=1, keepdims=True, where=history.pulls > 0, initial=0.0)
        everywhere = np.broadcast_to(best, means.shape)

        def evidence(arms: BoolArray) -> FloatArray:
            of = arms & (means < best)
            divergence = np.zeros(means.shape)
            support = unit_support(history.problem)
            divergence[of] = k_inf(frequencies(history, of), support, everywhere[of])
            return divergence[arms]

        index: FloatArray = -history.pulls * remembered(history, best, evidence)
        return index - np.log(history.pulls)
