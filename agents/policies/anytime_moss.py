"""Anytime MOSS: MOSS with the rounds so far in place of the horizon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class AnytimeMOSS:
    """Optimism whose bonus vanishes for arms with more than t / K pulls so far.

    Index: mean_k + B sqrt((1 + alpha) / 2 ln+(t / (K n_k)) / n_k), where ln+ is the positive part
    of ln.

    Args:
        alpha: how much to explore, above 0; 1.35 is that of the authors' bound.
        B: length of the interval of rewards, in their unit; None takes the problem's.

    Cost per round: O(K).

    Guarantee: regret O(B sqrt(T K)) for every T at once.

    Source: Degenne and Perchet (2016), "MOSS-anytime".
    """

    alpha: float = 1.35
    B: float | None = None

    def __post_init__(self) -> None:
        checks.positive("alpha", self.alpha, "it multiplies the exploration")
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        problem, pulls = history.problem, history.pulls
        room = np.log(np.maximum(history.t / (problem.n_arms * pulls), 1))
        bonus = np.sqrt((1 + float(self.alpha)) / 2 * room / pulls)
        index: FloatArray = history.means + scale_of(self.B, problem) * bonus
        return index
