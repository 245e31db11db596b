"""`IdentificationAgent`: the methods of an agent that stops when it knows the best arm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.history_agent import HistoryAgent
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem, scale_of
from cmab_gym.streams import TrialStreams


@runtime_checkable
class IdentificationAgent(Protocol):
    """Plays B trials in lockstep, and says in each when it knows the best arm.

    A class is called with `delta=...`, the error probability that the user accepts. After a trial
    is done it is still asked for arms, as long as other trials are not; these pulls do not count.
    """

    def reset(self, problem: BanditProblem, trials: int, rng: TrialStreams) -> None:
        """Forget everything and begin `trials` new trials, with a random stream for each."""

    def act(self) -> IntArray:
        """Choose an arm for each trial, int64 (B,)."""

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Learn from the rewards, float64 (B,), of the arms pulled, int64 (B,)."""

    def done(self) -> BoolArray:
        """Return which trials have found their best arm, bool (B,)."""

    def best_arm(self) -> IntArray:
        """Return the arm that each trial takes for the best one, int64 (B,)."""


class SamplingAgent(HistoryAgent, ABC):
    """What the agents here share: every arm is pulled once first, in random order.

    Args:
        delta: the accepted probability of stopping with a wrong arm, between 0 and 1.

    Raises:
        ValueError: `delta` is not between 0 and 1.

    Attributes:
        history: the pulls and rewards of the trials so far.
    """

    def __init__(self, delta: float = 0.05) -> None:
        self.delta = check_delta(delta)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(delta={self.delta:g})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `IdentificationAgent.reset`; `rng` may also be a seed."""
        super().reset(problem, trials, rng)
        self.scale = scale_of(None, problem)

    def act(self) -> IntArray:
        """Choose an arm for each trial: see `IdentificationAgent.act`."""
        if self._warm:
            return self._choose()
        unpulled = np.where(self.history.pulls == 0, 1.0, 0.0)
        return argmax_with_random_ties(unpulled, self.rng.uniform())

    def done(self) -> BoolArray:
        """Return which trials have found their best arm: see `IdentificationAgent.done`."""
        trials = self._playing[1]
        return self._stops() if self._warm else np.zeros(trials, dtype=np.bool_)

    def best_arm(self) -> IntArray:
        """Return the arm with the largest mean: see `IdentificationAgent.best_arm`."""
        best: IntArray = self.history.means.argmax(axis=1)
        return best

    @abstractmethod
    def _choose(self) -> IntArray:
        """Choose an arm for each trial, when every arm has a pull."""

    @abstractmethod
    def _stops(self) -> BoolArray:
        """Return which trials are done, when every arm has a pull."""

    @property
    def _warm(self) -> bool:
        return self.history.t >= self.history.problem.n_arms


def check_delta(delta: Any) -> float:
    """Return an error probability as a float.

    Raises:
        ValueError: it is not between 0 and 1.
    """
    number = checks.number_between("delta", delta, 0, 1, "0 and 1 excluded")
    if number in (0, 1):
        raise ValueError(f"delta={delta!r}: expected a number between 0 and 1, such as 0.05")
    return number
