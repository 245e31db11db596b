"""The wrappers for the native vector environments, under the names of the scalar ones.

They show each sub-environment what the scalar wrapper would show it, in both autoreset modes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorRewardWrapper, VectorWrapper
from gymnasium.vector.utils import batch_space

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.envs.base import Info, with_masks
from cmab_gym.features import reward_features, scaled_rewards
from cmab_gym.history import CorrelatedHistory, History
from cmab_gym.wrappers.checks import refuse_changed_rewards, vector_bandit_of
from cmab_gym.wrappers.full_information import best_of_others
from cmab_gym.wrappers.observations import (
    CONTENTS,
    Features,
    history_space,
    pseudo_reward_space,
    pseudo_rewards_seen,
    with_inner,
)

Step: TypeAlias = tuple[Any, Any, Any, Any, Info]


class _Observing(VectorWrapper):
    """Lets its subclass keep what it needs of the rounds, and make observations of it."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self._bandit = vector_bandit_of(self, env)
        self._problem = self._bandit.problem
        self._begin()

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, Info]:
        """Begin an episode in every sub-environment, with nothing seen."""
        observations, info = self.env.reset(seed=seed, options=options)
        self._begin()
        return self._observe(observations), info

    def step(self, actions: Any) -> Step:
        """Pull an arm in each sub-environment."""
        observations, rewards, terminations, truncations, info = self.env.step(actions)
        if self._bandit.round_played:
            self._update(np.asarray(actions), rewards)
        if "final_obs" in info:
            final = self._observe(np.stack(info["final_obs"]))
            for place, observation in enumerate(final):
                info["final_obs"][place] = observation
        if "final_obs" in info or not self._bandit.round_played:
            self._begin()
        return self._observe(observations), rewards, terminations, truncations, info

    def _set_space(self, single: Box) -> None:
        self.single_observation_space = single
        self.observation_space = batch_space(single, self.num_envs)

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _update(self, arms: IntArray, rewards: FloatArray) -> None: ...

    @abstractmethod
    def _observe(self, inner: AnyArray) -> Features: ...


class HistoryObservation(_Observing, RecordConstructorArgs):
    """Makes the observations the histories of the episodes, float32 (B, 4 K + 2).

    Args:
        env: a native vector environment of this package.

    Raises:
        ValueError: env is none, or its rewards are changed by a wrapper.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        refuse_changed_rewards(self, env)
        self._set_space(history_space(self._problem))

    def _begin(self) -> None:
        self._history = History(self._problem, self.num_envs)

    def _update(self, arms: IntArray, rewards: FloatArray) -> None:
        self._history.update(arms, rewards)

    def _observe(self, inner: AnyArray) -> Features:
        return self._history.features(self._bandit.horizon)


class PseudoRewardObservation(_Observing, RecordConstructorArgs):
    """Adds what the pseudo-rewards say to the observations, float32 (B, D).

    Args:
        env: a native vector environment of this package.
        content: "bounds", "phi" or "table"; see `cmab_gym.wrappers.PseudoRewardObservation`.

    Raises:
        ValueError: content is none of these; env is no such environment, or its rewards are changed
            by a wrapper.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], content: str = "bounds") -> None:
        RecordConstructorArgs.__init__(self, content=content)
        self._content = checks.choice("content", content, CONTENTS)
        super().__init__(env)
        refuse_changed_rewards(self, env)
        inner = env.single_observation_space
        self._set_space(pseudo_reward_space(inner, self._problem, self._content))

    def _begin(self) -> None:
        self._history = CorrelatedHistory(self._problem, self.num_envs)

    def _update(self, arms: IntArray, rewards: FloatArray) -> None:
        self._history.update(arms, rewards)

    def _observe(self, inner: AnyArray) -> Features:
        return with_inner(inner, pseudo_rewards_seen(self._history, self._problem, self._content))


class FullInformation(_Observing, RecordConstructorArgs):
    """Tells what every arm gives in a round: info["rewards"], float64 (B, K).

    Args:
        env: a native vector environment of this package.
        observe: whether the rewards are the observations too; see
            `cmab_gym.wrappers.FullInformation`.

    Raises:
        ValueError: env is none.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], observe: bool = False) -> None:
        RecordConstructorArgs.__init__(self, observe=observe)
        self._shown = observe
        super().__init__(env)
        if observe:
            self._set_space(Box(0, 1, (self._problem.n_arms,), np.float32))

    def step(self, actions: Any) -> Step:
        """Pull an arm in each sub-environment."""
        observations, rewards, terminations, truncations, info = super().step(actions)
        everywhere = np.ones(self.num_envs, np.bool_)
        shape = (self.num_envs, self._problem.n_arms)
        said: Info = {"rewards": np.zeros(shape), "counterfactual_reward": np.zeros(shape[0])}
        if self._bandit.round_played:
            given = self._bandit.round_rewards
            best = best_of_others(given, np.asarray(actions))
            told = with_masks({"rewards": given, "counterfactual_reward": best}, everywhere)
            info.get("final_info", info).update(told)
        for key, value in with_masks(said, ~everywhere).items():
            info.setdefault(key, value)
        return observations, rewards, terminations, truncations, info

    def _begin(self) -> None:
        self._last = np.zeros((self.num_envs, self._problem.n_arms), np.float32)

    def _update(self, arms: IntArray, rewards: FloatArray) -> None:
        self._last = reward_features(self._bandit.round_rewards, self._problem.reward_bounds)

    def _observe(self, inner: AnyArray) -> AnyArray:
        return self._last.copy() if self._shown else inner


class ScaleReward(VectorRewardWrapper, RecordConstructorArgs):
    """Scales rewards to [0, 1], as `cmab_gym.wrappers.ScaleReward`.

    A step that plays no round (autoreset mode NEXT_STEP) keeps its rewards of 0.

    Args:
        env: a native vector environment of this package.

    Raises:
        ValueError: env is none.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._bandit = vector_bandit_of(self, env)

    def rewards(self, reward: Any) -> Any:
        """Scale the rewards of a round, (B,)."""
        if not self._bandit.round_played:
            return reward
        return scaled_rewards(reward, self._bandit.problem.reward_bounds)
