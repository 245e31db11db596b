"""MOSS: optimism that stops exploring an arm after its fair share of the pulls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_horizon, check_scale, horizon_of, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class MOSS:
    """Optimism whose bonus vanishes for arms with more than horizon / K pulls.

    Index: mean_k + B sqrt(ln+(T / (K n_k)) / n_k), where T is the horizon and ln+ the positive
    part of ln.

    Args:
        horizon: rounds of a trial; None takes that of the evaluation.
        B: length of the interval of rewards, in their unit; None takes the problem's.

    Needs: the horizon.

    Cost per round: O(K).

    Guarantee: regret O(B sqrt(T K)), the best rate over all problems.

    Source: Audibert and Bubeck (2009), "MOSS".
    """

    horizon: int | None = None
    B: float | None = None

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        problem, pulls = history.problem, history.pulls
        share = horizon_of(self.horizon, problem) / (problem.n_arms * pulls)
        bonus = np.sqrt(np.log(np.maximum(share, 1)) / pulls)
        index: FloatArray = history.means + scale_of(self.B, problem) * bonus
        return index
