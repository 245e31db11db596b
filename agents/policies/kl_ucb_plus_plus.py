"""KL-UCB++: KL-UCB with the exploration of MOSS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.mathematics.bernoulli import largest_mean_within, unit_means
from cmab_gym.agents.remembered import remembered
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_horizon, horizon_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class KLUCBPlusPlus:
    """Optimism measured in Kullback-Leibler divergence, with a budget that falls with n.

    Index: the largest q with n_k kl(mean_k, q) <= g(n_k), where rewards are scaled to [0, 1], kl is
    the divergence of Bernoulli distributions, g(n) = ln+(T / (K n) (ln+(T / (K n))^2 + 1)), ln+ is
    the positive part of ln and T the horizon.

    Args:
        horizon: rounds of a trial; None takes that of the evaluation.

    Needs: the horizon.

    Cost per round: O(1), as only the index of the arm pulled last changes, plus O(K) to compare.

    Guarantee: regret O(sqrt(K T)) and, for 0/1 rewards, optimal pulls ln T / kl(mu_k, mu*), both at
    once.

    Source: Ménard and Garivier (2017), Section 2 and Theorems 1 and 2.
    """

    horizon: int | None = None

    def __post_init__(self) -> None:
        check_horizon(self.horizon)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        problem, (low, high) = history.problem, history.problem.reward_bounds
        horizon = horizon_of(self.horizon, problem)

        def largest(arms: BoolArray) -> FloatArray:
            pulls = history.pulls[arms]
            share = horizon / (problem.n_arms * pulls)
            room = np.log(np.maximum(share, 1))
            budget = np.log(np.maximum(share * (room**2 + 1), 1))
            return largest_mean_within(unit_means(history)[arms], budget / pulls)

        return low + (high - low) * remembered(history, 0.0, largest)
