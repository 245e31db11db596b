"""Epsilon-greedy: a random arm now and then, the best mean otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class EpsilonGreedy:
    """Pull a uniformly random arm with probability epsilon, and the best mean so far otherwise.

    Index: mean_k, or 0 for all arms in the rounds that explore. The probability is
    min(epsilon, decay K / t). Every arm is pulled once first.

    Args:
        epsilon: the probability of exploring, from 0 to 1.
        decay: how many random pulls an arm gets while t grows by a factor of 2.7, above 0; None
            keeps the probability fixed. The proof needs decay above 5 B^2 / D^2, where D is the
            smallest gap, and epsilon=1.

    Cost per round: O(K).

    Guarantee: with a fixed epsilon, regret grows as epsilon T times the mean gap; with a decay as
    the proof needs, as ln T.

    Source: Sutton and Barto (2018), Section 2.2; Auer, Cesa-Bianchi and Fischer (2002), Figure 3.
    """

    epsilon: float = 0.1
    decay: float | None = None

    def __post_init__(self) -> None:
        checks.number_between("epsilon", self.epsilon, 0, 1, "it is a probability")
        if self.decay is not None:
            checks.positive("decay", self.decay, "None keeps epsilon fixed")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        probability = float(self.epsilon)
        if self.decay is not None:
            probability = min(probability, float(self.decay) * history.problem.n_arms / history.t)
        explores = rng.random(1) < probability
        index: FloatArray = np.where(explores, 0.0, history.means)
        return index
