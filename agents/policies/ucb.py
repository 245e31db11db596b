"""UCB1: the mean plus a bonus for arms with few pulls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class UCB:
    """Optimism: pull the arm that could be best.

    Index: mean_k + B sqrt(2 ln t / n_k), with n_k pulls of arm k and t of all arms.

    Args:
        B: length of the interval of rewards, in their unit; None takes the problem's. A larger B
            explores more.

    Cost per round: O(K).

    Guarantee: expected pulls of an arm with gap D grow at most as 8 B^2 ln T / D^2.

    Source: Auer, Cesa-Bianchi and Fischer (2002), Figure 1; equation 3 of the paper.
    """

    B: float | None = None

    def __post_init__(self) -> None:
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        index: FloatArray = history.means + self.widths(history, history.pulls)
        return index

    def widths(self, history: History, n: IntArray) -> FloatArray:
        """Return what is added to the means of n rewards, with the shape of n."""
        B, t = scale_of(self.B, history.problem), max(history.t, 1)
        # sqrt(1 / n) apart, as the compiled loop keeps it between the pulls of an arm.
        widths: FloatArray = B * np.sqrt(2 * np.log(t)) * np.sqrt(1 / n)
        return widths
