"""Subsampled greedy: greedy on a random sample of the arms, for problems with many arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cmab_gym import checks
from cmab_gym.agents.sample_of_arms import on_sampled_arms
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_horizon
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class SubsampledGreedy:
    """Pull the best mean so far of about sqrt(T) random arms: with many arms, some are good enough.

    Index: mean_k for the arms of the sample, each of which is pulled once first; -infinity for
    others.

    Args:
        arms: the size of the sample, 1 or more; None takes the square root of the horizon.
        horizon: rounds of a trial; None takes that of the evaluation.

    Needs: the horizon, if arms is None.

    Cost per round: O(K).

    Guarantee: sublinear regret for many arms, K > sqrt(T), if each mean is drawn from a
    distribution with some density near its maximum; in practice often the least of all agents.

    Source: Bayati, Hamidi, Johari and Khosravi (2020), Algorithm "SS-Greedy".
    """

    ranks_unpulled: ClassVar[bool] = True
    arms: int | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        if self.arms is not None:
            checks.whole_number("arms", self.arms, 1)
        check_horizon(self.horizon)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        return on_sampled_arms(history.means, history, self.arms, self.horizon)
