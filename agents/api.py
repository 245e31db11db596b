"""What an agent is: three methods, for many trials at once or for one."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams


@runtime_checkable
class Agent(Protocol):
    """Plays B independent trials of one problem in lockstep."""

    def reset(self, problem: BanditProblem, trials: int, rng: TrialStreams) -> None:
        """Forget everything and begin `trials` new trials, with a random stream for each."""

    def act(self) -> IntArray:
        """Choose an arm for each trial, int64 (B,)."""

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Learn the rewards, float64 (B,), of the arms pulled, int64 (B,)."""


class AgentError(ValueError):
    """An agent raised an error, or returned what is not an arm."""


class TrialError(ValueError):
    """Something went wrong in one trial of a batch.

    Args:
        trial: the position of the trial in the batch.
        message: what went wrong.
    """

    def __init__(self, trial: int, message: str) -> None:
        super().__init__(message)
        self.trial = trial
