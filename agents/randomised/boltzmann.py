"""Boltzmann exploration, also called softmax: better arms are likelier."""

from __future__ import annotations

from dataclasses import dataclass

from cmab_gym import checks
from cmab_gym.agents.randomised.policy import gumbel
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class Boltzmann:
    """Draw an arm with a probability that grows exponentially with its mean reward.

    Probability of arm k: proportional to exp(mean_k / (temperature B)), after one pull of each arm.

    Args:
        temperature: above 0. A larger one explores more.
        B: scale of the rewards, in their unit; None takes the problem's.

    Cost per round: O(K), with K Gumbel numbers.

    Guarantee: none; with a fixed temperature the regret grows linearly.

    Source: Sutton and Barto (1998), Section 2.3; Cesa-Bianchi et al. (2017), Boltzmann exploration
    done right, says what is wrong with it.
    """

    temperature: float = 0.1
    B: float | None = None

    def __post_init__(self) -> None:
        checks.positive("temperature", self.temperature, "it divides the means")
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        # The largest sum of log-probability and Gumbel noise has the law of the probabilities.
        scaled = history.means / (self.temperature * scale_of(self.B, history.problem))
        index: FloatArray = scaled + gumbel(history.problem.n_arms, rng)
        return index
