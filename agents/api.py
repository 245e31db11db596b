"""`Agent`: the three methods of an agent that plays many trials at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Protocol, TypeAlias, runtime_checkable

from cmab_gym import checks
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.checks import TrialError
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams

__all__ = [
    "Agent",
    "AgentError",
    "NotReset",
    "TrialError",
    "checks_round",
    "set_by_reset",
    "unchecked_update",
]


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


class NotReset(AttributeError, ValueError):
    """An agent was used before its `reset`."""


class _SetByReset:
    """An attribute that raises `NotReset` until `reset` sets it."""

    def __get__(self, agent: object, owner: type) -> Any:
        if agent is None:
            return self
        raise NotReset(
            f"{owner.__name__} was used before its first reset: call reset(problem, trials, rng)"
        )


def set_by_reset() -> Any:
    """Declare an attribute of an agent's class that `reset` sets."""
    return _SetByReset()


Update: TypeAlias = Callable[..., None]  # of agent, arms, rewards, and what else it is told


def checks_round(update: Update) -> Update:
    """Make the `update` of an agent's class refuse arms and rewards that the problem cannot give.

    The `reset` of the class sets the attribute `_playing` to the problem and the number of trials.
    An evaluation calls `unchecked_update` instead, since its rewards come from the environment.

    Raises:
        ValueError: from the decorated method: the shapes are not (B,), an arm is not one of the
            problem's, or the problem cannot give a reward.
    """

    @wraps(update)
    def checked(agent: Any, arms: Any, rewards: Any, *more: Any) -> None:
        problem, trials = agent._playing
        rewards = checks.numbers("rewards", rewards)
        if rewards.shape != (trials,):
            raise ValueError(
                f"rewards have shape {rewards.shape}: expected ({trials},), one for each trial"
            )
        problem.reward_index(rewards)
        update(agent, checks.arms_in_range("arms", arms, trials, problem.n_arms), rewards, *more)

    checked.unchecked = update  # type: ignore[attr-defined]
    return checked


def unchecked_update(agent: Agent) -> Callable[..., None]:
    """Return an agent's `update` without the checks of `checks_round`."""
    unchecked = getattr(agent.update, "unchecked", None)
    return agent.update if unchecked is None else partial(unchecked, agent)
