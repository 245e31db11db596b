"""Thompson sampling with Dirichlet posteriors, for rewards of finitely many values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.mathematics.gamma_draws import dirichlet_means
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class DirichletTS:
    """Thompson sampling that learns the probability of each possible reward.

    Index: the mean of a distribution drawn from Dirichlet(1 + c_k), where c_k counts how often arm
    k gave each of the R possible rewards. For 0/1 rewards it is `beta-ts`.

    Needs: finitely many rewards; of a continuous reward it sees the bins' midpoints.

    Cost per round: O(K R), with K R Gamma variates.

    Guarantee: optimal for finitely many rewards: pulls of an arm grow as ln T / K_inf(F_k, mu*).

    Source: Riou and Honda (2020), Algorithm 1, "Multinomial Thompson sampling".
    """

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        counts = history.counts.astype(np.float64)
        return dirichlet_means(1 + counts, history.problem.reward_support, rng)
