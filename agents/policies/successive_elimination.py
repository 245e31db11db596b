"""Successive elimination: all arms in turn, without those that are surely worse than another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_horizon, check_scale, horizon_of, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class SuccessiveElimination:
    """Pull the arms in turn, and leave out those whose upper bound is below another's lower bound.

    Index: -n_k while mean_k + r_k >= max_j (mean_j - r_j), where r_k = B sqrt(2 ln T / n_k) and T
    is the horizon; -infinity otherwise. An arm that was left out comes back if the others' lower
    bounds fall below its upper bound again; the guarantee holds all the same.

    Args:
        horizon: rounds of a trial; None takes that of the evaluation.
        B: length of the interval of rewards, in their unit; None takes the problem's.

    Needs: the horizon.

    Cost per round: O(K).

    Guarantee: regret O(B sqrt(K T ln T)), and an arm with gap D has O(B^2 ln T / D^2) pulls.

    Source: Even-Dar, Mannor and Mansour (2006); Slivkins (2019), Algorithm 1.3 and Theorem 1.8.
    """

    horizon: int | None = None
    B: float | None = None

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        problem, pulls, means = history.problem, history.pulls, history.means
        log_horizon = np.log(horizon_of(self.horizon, problem))
        radius = scale_of(self.B, problem) * np.sqrt(2 * log_horizon / pulls)
        surely = (means - radius).max(axis=1, keepdims=True, where=pulls > 0, initial=-np.inf)
        index: FloatArray = np.where(means + radius >= surely, -pulls.astype(np.float64), -np.inf)
        return index
