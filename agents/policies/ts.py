"""Thompson sampling with normal posteriors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class TS:
    """Pull each arm with the probability that it is best, under a normal posterior.

    Index: a draw from Normal(mean_k, beta B / (n_k + 1)); the second parameter is the variance.

    Args:
        B: length of the interval of rewards, in their unit; None takes the problem's.
        beta: factor of the variance, above 0. A larger one explores more.

    Cost per round: O(K), with K normal numbers.

    Guarantee: O(log T) regret for large enough beta; proven by the authors for rewards in [0, 1].

    Source: Agrawal and Goyal (2013); equation 4 of the paper. (Its variance should scale as B^2.)
    """

    B: float | None = None
    beta: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.B)
        checks.positive("beta", self.beta, "it multiplies the variance")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        variance = float(self.beta) * scale_of(self.B, history.problem) / (history.pulls + 1)
        z = rng.standard_normal(history.problem.n_arms)
        return history.means + z * np.sqrt(variance)
