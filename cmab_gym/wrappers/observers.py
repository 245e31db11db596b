"""Observers: the observations of B trials, for the scalar wrappers (B = 1) and the vector ones.

A bandit passes every round that it plays to its observers. So observations are right even if
wrappers inside change actions, rewards or episodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
from gymnasium.spaces import Box, Space

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, Float32Array, FloatArray, IntArray
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.features import (
    CONTENTS,
    n_history_features,
    n_pseudo_reward_features,
    reward_features,
)
from cmab_gym.history import CorrelatedHistory, History
from cmab_gym.late_rewards import Arrivals, RoundQueue
from cmab_gym.problem import scaled_rewards

State = TypeVar("State")
TELL_REWARDS = ("reward_index", "pseudo_reward")  # keys of an info that tell the round's reward


class Observer(ABC, Generic[State]):
    """Records the rounds of B trials when their rewards arrive, and makes observations of them.

    It adds itself to the bandit's observers.

    Args:
        bandit: the environment, without wrappers.
        trials: B.

    Attributes:
        space: the space of one trial's observation.
    """

    space: Box

    def __init__(self, bandit: BanditEnv | BanditVectorEnv, trials: int) -> None:
        self._bandit, self._problem, self._trials = bandit, bandit.problem, trials
        self._late = RoundQueue[tuple[IntArray, FloatArray]](bandit.arrivals)
        self._state = self._new_state()
        self._ended: State | None = None  # of the episodes that ended in the last round
        bandit.observers.append(self)

    def begin(self) -> None:
        """Begin new episodes."""
        self._ended, self._state = self._state, self._new_state()
        self._late = RoundQueue(self._bandit.arrivals)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: arms and their rewards, each (B,)."""
        self._ended = None
        for arrived in self._late.add((arms.copy(), rewards.copy())):
            self._add(*arrived)

    def observe(self, inner: AnyArray, ended: bool = False) -> Float32Array:
        """Return the observations, float32 (B, D).

        Args:
            inner: (B, ...), the observations of the wrapped environment.
            ended: whether to return the last ones of the episodes that ended in the last round.
        """
        last = self._ended if ended else None
        return self._observation(self._state if last is None else last, inner)

    @abstractmethod
    def _new_state(self) -> State:
        """Return the state before the first round."""

    @abstractmethod
    def _add(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round to the state."""

    @abstractmethod
    def _observation(self, state: State, inner: AnyArray) -> Float32Array:
        """Return the observations of a state."""


class HistoryObserver(Observer[History]):
    """Shows the history of each trial, as `history_features`."""

    def __init__(self, bandit: BanditEnv | BanditVectorEnv, trials: int) -> None:
        super().__init__(bandit, trials)
        self.space = Box(0, 1, (n_history_features(self._problem.n_arms),), np.float32)

    def _new_state(self) -> History:
        return History(self._problem, self._trials)

    def _add(self, arms: IntArray, rewards: FloatArray) -> None:
        self._state.update(arms, rewards)

    def _observation(self, state: History, inner: AnyArray) -> Float32Array:
        return state.features(self._bandit.horizon)


class PseudoRewardObserver(Observer[CorrelatedHistory]):
    """Shows the wrapped environment's observations, then pseudo-rewards.

    Args:
        bandit, trials: as in `Observer`.
        content: "bounds", "phi" or "table"; see `cmab_gym.wrappers.PseudoRewardObservation`.
        inner: the space of one observation of the wrapped environment.

    Raises:
        ValueError: content is not one of these, or needs a table that is too large.
    """

    def __init__(
        self,
        bandit: BanditEnv | BanditVectorEnv,
        trials: int,
        content: str,
        inner: Space[Any],
    ) -> None:
        self._content = checks.choice("content", content, CONTENTS)
        if content != "bounds":
            bandit.problem.rows.table(f"content={content!r}")
        super().__init__(bandit, trials)
        n_arms, n_rewards = self._problem.n_arms, self._problem.reward_support.size
        added = n_pseudo_reward_features(content, n_arms, n_rewards)
        low, high = np.zeros(added, np.float32), np.ones(added, np.float32)
        self._keeps_inner = False
        if isinstance(inner, Box) and len(inner.shape) == 1 and inner.dtype == np.float32:
            self._keeps_inner = True
            low, high = np.append(inner.low, low), np.append(inner.high, high)
        self.space = Box(low, high, dtype=np.float32)

    def _new_state(self) -> CorrelatedHistory:
        return CorrelatedHistory(self._problem, self._trials)

    def _add(self, arms: IntArray, rewards: FloatArray) -> None:
        self._state.update(arms, rewards)

    def _observation(self, state: CorrelatedHistory, inner: AnyArray) -> Float32Array:
        added = state.pseudo_reward_features(self._content)
        return np.append(inner, added, axis=1) if self._keeps_inner else added


class RoundRewardsObserver(Observer[Float32Array]):
    """Shows the rewards of all arms in the last round, scaled to [0, 1]."""

    def __init__(self, bandit: BanditEnv | BanditVectorEnv, trials: int) -> None:
        super().__init__(bandit, trials)
        self.space = Box(0, 1, (self._problem.n_arms,), np.float32)
        self._round: tuple[FloatArray, FloatArray] | None = None

    def take(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the last round, once; None if no round was played since the last call.

        Returns:
            The rewards of all arms, float64 (B, K), and the largest of the arms not pulled, (B,).
        """
        last, self._round = self._round, None
        return last

    def _new_state(self) -> Float32Array:
        if not self._bandit.arrivals.at_once:
            raise ValueError(
                "FullInformation shows the rewards of a round in that round: expected an "
                "environment without LateFeedback; leave one of the two out"
            )
        return np.zeros((self._trials, self._problem.n_arms), np.float32)

    def _add(self, arms: IntArray, rewards: FloatArray) -> None:
        given = self._bandit.round_rewards.reshape(self._trials, -1)
        self._state = reward_features(given, self._problem.reward_bounds)
        others = given.copy()
        others[np.arange(self._trials), arms] = -np.inf
        self._round = given, others.max(axis=1)

    def _observation(self, state: Float32Array, inner: AnyArray) -> Float32Array:
        return state.copy()


class ArrivalObserver:
    """Collects the rewards of B trials until they arrive.

    It adds itself to the bandit's observers.

    Args:
        bandit: the environment, without wrappers.
        trials: B.
        arrivals: when they arrive.

    Raises:
        ValueError: the bandit's rewards are late already.
    """

    def __init__(
        self, bandit: BanditEnv | BanditVectorEnv, trials: int, arrivals: Arrivals
    ) -> None:
        if not bandit.arrivals.at_once:
            raise ValueError(
                "LateFeedback around LateFeedback: expected one; give it both arguments"
            )
        bandit.arrivals = arrivals
        bandit.observers.append(self)
        self._trials, self._arrivals = trials, arrivals
        self._played: tuple[IntArray, RoundQueue[tuple[IntArray, FloatArray]]] | None = None
        self.begin()

    def begin(self) -> None:
        """Begin new episodes."""
        self._queue = RoundQueue[tuple[IntArray, FloatArray]](self._arrivals)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Keep the arms of a round, and its episodes' queue."""
        self._played = arms.copy(), self._queue

    def take(self, rewards: FloatArray) -> tuple[IntArray, FloatArray] | None:
        """Add the rewards (B,) of a step, and return what arrives; None if it played no round.

        Returns:
            Arms, int64 (B, n), -1 where nothing arrives, and rewards, float64 (B, n), 0 there.
        """
        if self._played is None:
            return None
        (arms, queue), self._played = self._played, None
        shape = (self._trials, self._arrivals.rewards_every)
        arrived_arms, arrived_rewards = np.full(shape, -1), np.zeros(shape)
        for position, arrived in enumerate(queue.add((arms, rewards.copy()))):
            arrived_arms[:, position], arrived_rewards[:, position] = arrived
        return arrived_arms, arrived_rewards


class RewardScaler:
    """Scales the rewards of B trials to [0, 1].

    It adds itself to the bandit's observers.

    Args:
        bandit: the environment, without wrappers.
        wrapped: the environment that the wrapper wraps, for the error message.
    """

    def __init__(self, bandit: BanditEnv | BanditVectorEnv, wrapped: object) -> None:
        self._bounds, self._wrapped = bandit.problem.reward_bounds, wrapped
        self._last: FloatArray | None = None
        bandit.observers.append(self)

    def begin(self) -> None:
        """Begin new episodes, without effect."""

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Keep the rewards of a round."""
        self._last = rewards.copy()

    def scaled(self, rewards: Any) -> Any:
        """Scale the rewards of a step; leave those of a step that played no round unchanged.

        Args:
            rewards: a float or float64 (B,).

        Raises:
            ValueError: they are not the bandit's.
        """
        given, self._last = self._last, None
        if given is None:
            return rewards
        if not (rewards == given).all():
            raise ValueError(
                f"ScaleReward({self._wrapped}): got the reward {rewards} where the bandit gave "
                f"{given if given.size > 1 else given[0]}: expected rewards in the bandit's unit; "
                "put ScaleReward inside the wrapper that changes them"
            )
        return scaled_rewards(rewards, self._bounds)
