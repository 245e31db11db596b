"""The wrappers for the native vector environments."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from cmab_gym.envs.base import Info
from cmab_gym.history import History
from cmab_gym.wrappers.checks import refuse_changed_rewards, vector_bandit_of
from cmab_gym.wrappers.history import history_space

Features: TypeAlias = NDArray[np.float32]


class HistoryObservation(VectorWrapper, RecordConstructorArgs):
    """`cmab_gym.wrappers.HistoryObservation` of every sub-environment, float32 (B, 4 K + 2).

    Args:
        env: a native vector environment of this package.

    Raises:
        ValueError: env is none, or its rewards are changed by a wrapper.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        VectorWrapper.__init__(self, env)
        bandit = vector_bandit_of(self, env)
        refuse_changed_rewards(self, env)
        self.single_observation_space = history_space(bandit.model.n_arms)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._horizon, self._bounds = bandit.horizon, bandit.problem.reward_bounds
        self._history = History(self.num_envs, bandit.model.n_arms)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Features, Info]:
        """Begin an episode in every sub-environment, with nothing seen."""
        _, info = self.env.reset(seed=seed, options=options)
        self._begin()
        return self._features(), info

    def step(self, actions: Any) -> tuple[Features, Any, Any, Any, Info]:
        """Pull an arm in each sub-environment; the step after the end begins new episodes."""
        _, rewards, terminations, truncations, info = self.env.step(actions)
        if self._history.t == self._horizon:
            self._begin()
        else:
            self._history.update(actions, rewards)
        return self._features(), rewards, terminations, truncations, info

    def _begin(self) -> None:
        self._history = History(*self._history.pulls.shape)

    def _features(self) -> Features:
        return self._history.features(self._horizon, self._bounds)
