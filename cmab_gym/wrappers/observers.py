"""Observers: the observations of B trials, for the scalar wrappers (B = 1) and the vector ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, Float32Array, FloatArray, IntArray
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.features import n_history_features, reward_features
from cmab_gym.history import CorrelatedHistory, History

CONTENTS = ("bounds", "phi", "table")


class Observer(ABC):
    """Records the rounds of B trials and makes observations of them.

    Args:
        bandit: the environment, without wrappers.
        trials: B.

    Attributes:
        space: the space of one trial's observation.
    """

    space: Box

    def __init__(self, bandit: BanditEnv | BanditVectorEnv, trials: int) -> None:
        self._bandit, self._problem, self._trials = bandit, bandit.problem, trials
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Begin new episodes: forget the recorded rounds."""

    @abstractmethod
    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: arms and their rewards, each (B,)."""

    @abstractmethod
    def observe(self, inner: AnyArray) -> Float32Array:
        """Return the observations, float32 (B, D).

        Args:
            inner: (B, ...), the observations of the wrapped environment.
        """


class HistoryObserver(Observer):
    """Shows the history of each trial, as `history_features`."""

    def __init__(self, bandit: BanditEnv | BanditVectorEnv, trials: int) -> None:
        super().__init__(bandit, trials)
        self.space = Box(0, 1, (n_history_features(self._problem.n_arms),), np.float32)

    def begin(self) -> None:
        """Forget the recorded rounds."""
        self._history = History(self._problem, self._trials)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: see `Observer.update`."""
        self._history.update(arms, rewards)

    def observe(self, inner: AnyArray) -> Float32Array:
        """Return the observations, float32 (B, D)."""
        return self._history.features(self._bandit.horizon)


class PseudoRewardObserver(Observer):
    """Shows the wrapped environment's observations, then pseudo-rewards.

    Args:
        bandit, trials: as in `Observer`.
        content: "bounds", "phi" or "table"; see `cmab_gym.wrappers.PseudoRewardObservation`.
        inner: the space of one observation of the wrapped environment.

    Raises:
        ValueError: content is not one of these.
    """

    def __init__(
        self,
        bandit: BanditEnv | BanditVectorEnv,
        trials: int,
        content: str,
        inner: Space[Any],
    ) -> None:
        self._content = checks.choice("content", content, CONTENTS)
        super().__init__(bandit, trials)
        n_arms, n_rewards = self._problem.n_arms, self._problem.reward_support.size
        added = {"bounds": n_arms, "phi": n_arms**2, "table": n_arms**2 * n_rewards}[content]
        low, high = np.zeros(added, np.float32), np.ones(added, np.float32)
        self._keeps_inner = False
        if isinstance(inner, Box) and len(inner.shape) == 1 and inner.dtype == np.float32:
            self._keeps_inner = True
            low, high = np.append(inner.low, low), np.append(inner.high, high)
        self.space = Box(low, high, dtype=np.float32)

    def begin(self) -> None:
        """Forget the recorded rounds."""
        self._history = CorrelatedHistory(self._problem, self._trials)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: see `Observer.update`."""
        self._history.update(arms, rewards)

    def observe(self, inner: AnyArray) -> Float32Array:
        """Return the observations, float32 (B, D)."""
        added = reward_features(self._pseudo_rewards(), self._problem.reward_bounds)
        return np.append(inner, added, axis=1) if self._keeps_inner else added

    def _pseudo_rewards(self) -> FloatArray:
        if self._content == "table":
            table = self._problem.pseudo_rewards
            return np.broadcast_to(table, (self._trials, *table.shape))
        return self._history.bounds if self._content == "bounds" else self._history.phi


class RoundRewardsObserver(Observer):
    """Shows the rewards of all arms in the last round, scaled to [0, 1]."""

    def __init__(self, bandit: BanditEnv | BanditVectorEnv, trials: int) -> None:
        super().__init__(bandit, trials)
        self.space = Box(0, 1, (self._problem.n_arms,), np.float32)

    def begin(self) -> None:
        """Forget the recorded rounds."""
        self._last: Float32Array = np.zeros((self._trials, self._problem.n_arms), np.float32)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: see `Observer.update`."""
        given = self._bandit.round_rewards.reshape(self._trials, -1)
        self._last = reward_features(given, self._problem.reward_bounds)

    def observe(self, inner: AnyArray) -> Float32Array:
        """Return the observations, float32 (B, D)."""
        return self._last.copy()
