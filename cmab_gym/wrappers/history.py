"""`HistoryObservation`: the observation is what the player has seen so far."""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from cmab_gym.envs.base import Info
from cmab_gym.history import History, n_history_features
from cmab_gym.wrappers.checks import bandit_of, refuse_changed_rewards

Features: TypeAlias = NDArray[np.float32]


class HistoryObservation(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Makes the observation the history of the episode, for learners that need one.

    Observation:
        `Box(0, 1, (4 K + 2,), float32)`: of each of the K arms its share of the horizon, its count
        on a logarithmic scale, its mean reward and whether it was pulled last; the last reward;
        the time left. See `cmab_gym.wrappers.history_features`.

    Args:
        env: a bandit of this package. Its rewards must be in its own unit: a wrapper that scales
            rewards goes outside.

    Raises:
        ValueError: env is no such bandit, or its rewards are changed by a wrapper.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        bandit = bandit_of(self, env)
        refuse_changed_rewards(self, env)
        self.observation_space = history_space(bandit.model.n_arms)
        self._horizon, self._bounds = bandit.horizon, bandit.problem.reward_bounds
        self._history = History(1, bandit.model.n_arms)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Features, Info]:
        """Begin an episode, with nothing seen."""
        _, info = self.env.reset(seed=seed, options=options)
        self._history = History(1, self._history.pulls.shape[1])
        return self._features(), info

    def step(self, action: Any) -> tuple[Features, Any, bool, bool, Info]:
        """Pull an arm."""
        _, reward, terminated, truncated, info = self.env.step(action)
        self._history.update(np.array([action]), np.array([float(reward)]))
        return self._features(), reward, terminated, truncated, info

    def _features(self) -> Features:
        features: Features = self._history.features(self._horizon, self._bounds)[0]
        return features


def history_space(n_arms: int) -> Box:
    """Return the space of `HistoryObservation` for K arms."""
    return Box(0, 1, (n_history_features(n_arms),), np.float32)
