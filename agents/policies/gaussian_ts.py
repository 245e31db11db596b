"""Thompson sampling for normal rewards of unknown mean and variance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.mathematics.gamma_draws import standard_gamma
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class GaussianTS:
    """Thompson sampling that also learns how much the rewards of each arm vary.

    Index: mean_k + sqrt(variance_k / f) t_f, where t_f is a draw from Student's distribution with
    f = n_k + 2 alpha - 1 degrees of freedom: the posterior of the mean under the prior with density
    sigma^(-1 - 2 alpha). Every arm is first pulled max(2, 3 - 2 alpha) times, rounded up: 5 by
    default, so this is for few arms. An arm that gave the same reward in all of them has variance
    0, so that it is pulled either always or never again.

    Args:
        alpha: of the prior, at most 0.5, and below 0 for the guarantee: -1 (uniform in the mean and
            the variance) by default; 0 and 0.5 are the reference prior and Jeffreys'.

    Cost per round: O(K), with K normal and K Gamma variates.

    Guarantee: optimal for normal rewards if alpha < 0; if not, regret may grow polynomially.

    Source: Honda and Takemura (2014), "Optimality of Thompson sampling for Gaussian bandits depends
    on priors".
    """

    alpha: float = -1.0

    def __post_init__(self) -> None:
        checks.number_between("alpha", self.alpha, -100, 0.5, "it is the power of the prior")

    @property
    def first_pulls(self) -> int:
        """How often every arm is pulled first."""
        return max(2, math.ceil(3 - 2 * self.alpha))  # so that f is at least 2

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        freedom = np.maximum(history.pulls, self.first_pulls) + (2 * float(self.alpha) - 1)
        z = rng.standard_normal(history.problem.n_arms)
        half = standard_gamma(freedom / 2, rng)  # half of chi-square with f degrees of freedom
        drawn = history.means + z * np.sqrt(history.variances / (2 * half))
        index: FloatArray = np.where(history.pulls < self.first_pulls, np.inf, drawn)
        return index
