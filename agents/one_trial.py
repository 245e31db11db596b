"""Plain agents that play one trial, and `Copies`, which plays B trials with them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.api import TrialError, checks_round, set_by_reset
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.state import Stateful
from cmab_gym.streams import TrialStreams, as_streams


@runtime_checkable
class OneTrialAgent(Protocol):
    """A plain agent, which plays one trial."""

    def reset(self, problem: BanditProblem, rng: Generator) -> None:
        """Forget everything and begin a trial; use only rng for random numbers."""

    def act(self) -> int:
        """Choose an arm, from 0 to `problem.n_arms` - 1."""

    def update(self, arm: int, reward: float) -> None:
        """Learn from the reward of the arm pulled."""


class Copies(Stateful):
    """Plays B trials with B copies of a plain agent.

    Args:
        make: function of no arguments that returns a new `OneTrialAgent`.

    Raises:
        TrialError: a copy raised an error, or did not return an integer.
    """

    _copies: list[Any] = set_by_reset()
    _playing: tuple[BanditProblem, int] = set_by_reset()
    _changing = ("_rng", "_copies")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def __repr__(self) -> str:
        made = getattr(self.make, "func", self.make)  # the class in a `partial`
        return f"Copies({getattr(made, '__name__', made)})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Make the copies and begin their trials."""
        self._rng = as_streams(rng, trials)
        self._copies, self._playing = [], (problem, trials)
        for trial, stream in enumerate(self._rng.generators):
            with _errors_of(trial):
                self._copies.append(self.make())
                self._copies[-1].reset(problem, stream)

    def act(self) -> IntArray:
        """Return the arm that each copy chooses, int64 (B,)."""
        problem, trials = self._playing
        n_arms, arms = problem.n_arms, np.empty(trials, dtype=np.int64)
        for trial, agent in enumerate(self._copies):
            with _errors_of(trial):
                arm = agent.act()
            arms[trial] = _checked_arm(trial, arm, n_arms)
        return arms

    @checks_round
    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Pass its arm and reward to each copy."""
        pairs = zip(arms.tolist(), rewards.tolist(), strict=True)
        for trial, (agent, (arm, reward)) in enumerate(zip(self._copies, pairs, strict=True)):
            with _errors_of(trial):
                agent.update(arm, reward)


@contextmanager
def _errors_of(trial: int) -> Iterator[None]:
    """Turn an error of a copy into a `TrialError` of its trial."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a SystemExit, say, ends this agent only
        raise TrialError(trial, f"{type(error).__name__}: {error}") from error


def _checked_arm(trial: int, arm: Any, n_arms: int) -> int:
    try:
        number = operator.index(arm)
    except TypeError:
        number = -1
    if not 0 <= number < n_arms or isinstance(arm, bool | np.bool_):
        raise TrialError(
            trial,
            f"act() returned {arm!r} of type {type(arm).__name__}: expected an integer arm from 0 "
            f"to {n_arms - 1}",
        )
    return number
