"""Subsampled UCB: UCB1 on a random sample of the arms, for problems with many arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cmab_gym import checks
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.agents.sample_of_arms import on_sampled_arms
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_horizon, check_scale
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class SubsampledUCB:
    """UCB1 on about sqrt(T) random arms, since trying all of them costs more than it gains.

    Index: that of `ucb` for the arms of the sample, -infinity for others.

    Args:
        arms: the size of the sample, 1 or more; None takes the square root of the horizon.
        horizon: rounds of a trial; None takes that of the evaluation.
        B: length of the interval of rewards, in their unit; None takes the problem's.

    Needs: the horizon, if arms is None.

    Cost per round: O(K).

    Guarantee: the best rate for many arms, K > sqrt(T), if each mean is drawn from a distribution
    with some density near its maximum.

    Source: Bayati, Hamidi, Johari and Khosravi (2020), Algorithm "SS-UCB".
    """

    ranks_unpulled: ClassVar[bool] = True
    arms: int | None = None
    horizon: int | None = None
    B: float | None = None

    def __post_init__(self) -> None:
        if self.arms is not None:
            checks.whole_number("arms", self.arms, 1)
        check_horizon(self.horizon)
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        index = UCB(self.B).index(history, rng)
        return on_sampled_arms(index, history, self.arms, self.horizon)
