"""UCB-V: a bonus from Bernstein's inequality with the empirical variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class UCBV:
    """Optimism with Bernstein's inequality: arms whose rewards vary little are settled sooner.

    Index: mean_k + sqrt(2 variance_k e / n_k) + 3 c B e / n_k, where e = zeta ln t.

    Args:
        B: length of the interval of rewards, in their unit; None takes the problem's.
        zeta: how fast exploration grows, above 0; proofs need more than 1.
        c: weight of the term in 1 / n_k, 0 or more.

    Cost per round: O(K).

    Guarantee: expected pulls of an arm with gap D grow as (variance_k / D^2 + 2 B / D) ln T, up to
    a factor of about 10. In the first thousands of rounds the term in 1 / n_k is large.

    Source: Audibert, Munos and Szepesvári (2009), definition of B_{k,s,t}.
    """

    B: float | None = None
    zeta: float = 1.2
    c: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.B)
        checks.positive("zeta", self.zeta, "it multiplies ln t")
        checks.number_between("c", self.c, 0, np.inf, "it is the weight of the term in 1 / n")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        ratio = float(self.zeta) * np.log(history.t) / history.pulls
        bonus = np.sqrt(2 * history.variances * ratio)
        bonus += 3 * float(self.c) * scale_of(self.B, history.problem) * ratio
        index: FloatArray = history.means + bonus
        return index
