"""UCB-tuned: UCB1 with a bonus that follows the variance of the rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class UCBTuned:
    """Optimism with a bonus that is smaller for arms whose rewards vary little.

    Index: mean_k + sqrt(ln t / n_k min(B^2 / 4, V_k)), where
    V_k = variance_k + B^2 sqrt(2 ln t / n_k).

    Args:
        B: length of the interval of rewards, in their unit; None takes the problem's.

    Cost per round: O(K).

    Guarantee: none is proven; it usually has much less regret than `ucb`.

    Source: Auer, Cesa-Bianchi and Fischer (2002), Section 4.
    """

    B: float | None = None

    def __post_init__(self) -> None:
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        square, ratio = scale_of(self.B, history.problem) ** 2, np.log(history.t) / history.pulls
        variance = history.variances + square * np.sqrt(2 * ratio)
        index: FloatArray = history.means + np.sqrt(ratio * np.minimum(square / 4, variance))
        return index
