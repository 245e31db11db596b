"""`Agent`: the three methods of an agent that plays many trials at once."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.checks import TrialError
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams

__all__ = ["Agent", "AgentError", "TrialError"]


@runtime_checkable
class Agent(Protocol):
    """Plays B independent trials of one problem in lockstep."""

    def reset(self, problem: BanditProblem, trials: int, rng: TrialStreams) -> None:
        """Forget everything and begin `trials` new trials, with a random stream for each."""

    def act(self) -> IntArray:
        """Choose an arm for each trial, int64 (B,)."""

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Learn from the rewards, float64 (B,), of the arms pulled, int64 (B,)."""


class AgentError(ValueError):
    """An agent raised an error, or did not return an arm."""
