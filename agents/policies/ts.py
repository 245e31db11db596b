"""Thompson sampling with normal posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cmab_gym import checks
from cmab_gym.agents.policies.standard_error import StandardErrorPolicy
from cmab_gym.problem import BanditProblem, check_scale, scale_of


@dataclass(frozen=True)
class TS(StandardErrorPolicy):
    """Play each arm with the chance that it is best, under a normal posterior.

    Index: a draw from Normal(mean_k, beta B / (n_k + 1)); the second number is a variance.

    Args:
        B: size of the interval of rewards, in their unit; None takes the problem's.
        beta: factor of the variance, above 0. A larger one explores more.

    Cost per round: O(K), with K normal numbers.

    Guarantee: O(log T) regret for beta large enough; proven by the authors for rewards in [0, 1].

    Source: Agrawal and Goyal (2013); equation 4 of the paper. (Its variance should scale as B^2.)
    """

    prior_pulls: ClassVar[float] = 1
    samples: ClassVar[bool] = True
    B: float | None = None
    beta: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.B)
        checks.positive("beta", self.beta, "it multiplies the variance")

    def variance(self, problem: BanditProblem) -> float:
        """Return beta B: see `StandardErrorPolicy.variance`."""
        return self.beta * scale_of(self.B, problem)
