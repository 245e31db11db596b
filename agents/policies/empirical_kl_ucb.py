"""Empirical KL-UCB: KL-UCB for rewards of finitely many values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.mathematics.finite_support import frequencies, largest_mean, unit_support
from cmab_gym.agents.remembered import remembered, rounded_up
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class EmpiricalKLUCB:
    """Optimism over all distributions of the possible rewards, not only over means.

    Index: the largest mean of a distribution G on the possible rewards with
    n_k KL(F_k, G) <= ln t + c ln ln t, where F_k is the empirical distribution of the rewards of
    arm k. For 0/1 rewards it is the index of `kl-ucb`; rewards that vary less get a smaller one. t
    is rounded up by at most 5 %, so that an index is computed only when it changes noticeably.

    Args:
        c: weight of the ln ln t term, 0 or more; 0 is the usual choice in practice, 1 in proofs.

    Needs: finitely many rewards; of a continuous reward it sees the bins' midpoints.

    Cost per round: O(R) for the arm pulled last, plus O(K) to compare; O(K R) when ln t has grown.

    Guarantee: optimal for finitely many rewards: pulls of an arm grow as ln T / K_inf(F_k, mu*).

    Source: Cappé, Garivier, Maillard, Munos and Stoltz (2013), Algorithm 2 and Theorem 2.
    """

    c: float = 0.0

    def __post_init__(self) -> None:
        checks.number_between("c", self.c, 0, np.inf, "it is the weight of ln ln t")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        low, high = history.problem.reward_bounds
        log_t = np.log(rounded_up(history.t))
        level = log_t + (self.c * np.log(log_t) if log_t > 1 else 0.0)

        def largest(arms: BoolArray) -> FloatArray:
            budget = level / history.pulls[arms]
            return largest_mean(frequencies(history, arms), unit_support(history.problem), budget)

        return low + (high - low) * remembered(history, level, largest)
