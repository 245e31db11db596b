"""UCB1: the mean plus a bonus for rarely pulled arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.policies.standard_error import StandardErrorPolicy
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem, check_scale, scale_of


@dataclass(frozen=True)
class UCB(StandardErrorPolicy):
    """Optimism: play the arm that could be best.

    Index: mean_k + B sqrt(2 ln t / n_k), with t pulls in all and n_k of arm k.

    Args:
        B: size of the interval of rewards, in their unit; None takes the problem's. A larger B
            explores more.

    Cost per round: O(K).

    Guarantee: pulls of an arm of gap D grow as 8 B^2 ln T / D^2 at most.

    Source: Auer, Cesa-Bianchi and Fischer (2002), Figure 1; equation 3 of the paper.
    """

    B: float | None = None

    def __post_init__(self) -> None:
        check_scale(self.B)

    def variance(self, problem: BanditProblem) -> float:
        """Return B^2: see `StandardErrorPolicy.variance`."""
        return scale_of(self.B, problem) ** 2

    def z(self, t: IntArray) -> FloatArray:
        """Return sqrt(2 ln t): see `StandardErrorPolicy.z`."""
        z: FloatArray = np.sqrt(2 * np.log(t))
        return z
