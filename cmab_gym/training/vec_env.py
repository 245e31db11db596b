"""`ProblemVecEnv`: episodes in lockstep, each with a new problem, for stable-baselines3."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.random import Generator
from stable_baselines3.common.vec_env import VecEnv

from cmab_gym.arrays import Float32Array, FloatArray, IntArray
from cmab_gym.features import history_features, n_history_features
from cmab_gym.training.problems import ProblemDistribution


class ProblemVecEnv(VecEnv):
    """Runs N episodes in lockstep; each episode has a new problem of a distribution.

    Observations are those of `HistoryObservation`, made of rewards that are drawn. The reward for
    training is minus the gap of the arm pulled: the expected reward, without noise, compared with
    the best arm's. The observations do not show it. The first episodes end early, at evenly spread
    ages, so that the environments are not all in the same round.

    Args:
        problems: the distribution.
        n_envs: N.
        horizon: rounds of an episode.
        rng: draws problems and rewards.
    """

    def __init__(
        self, problems: ProblemDistribution, n_envs: int, horizon: int, rng: Generator
    ) -> None:
        self._problems, self._horizon, self._rng = problems, horizon, rng
        shape = (n_envs, problems.n_arms)
        self._pulls: IntArray = np.zeros(shape, dtype=np.int64)
        self._sums: FloatArray = np.zeros(shape)
        self._gaps: FloatArray = np.zeros(shape)
        self._thresholds: FloatArray = np.zeros((*shape, problems.rewards.size - 1))
        self._last_arm: IntArray = np.full(n_envs, -1)
        self._last_reward: FloatArray = np.zeros(n_envs)
        self._t: IntArray = np.zeros(n_envs, dtype=np.int64)
        self._end: IntArray = np.maximum(1, np.arange(1, n_envs + 1) * horizon // n_envs)
        self._each = np.arange(n_envs)
        self._arms: IntArray = np.zeros(n_envs, dtype=np.int64)
        size = (n_history_features(problems.n_arms),)
        super().__init__(
            n_envs,
            gym.spaces.Box(0, 1, size, np.float32),
            gym.spaces.Discrete(problems.n_arms),
        )

    def reset(self) -> Float32Array:
        """Begin an episode in each environment."""
        for env in range(self.num_envs):
            self._begin(env)
        return self._features()

    def step_async(self, actions: IntArray) -> None:
        """Set the arms to pull, int64 (N,)."""
        self._arms = actions

    def step_wait(self) -> tuple[Float32Array, FloatArray, Any, list[dict[str, Any]]]:
        """Pull the arms.

        Returns:
            Observations float32 (N, D), rewards float32 (N,), whether each episode ended bool (N,),
            and N infos; that of an episode that ended has its terminal_observation.
        """
        pulled = (self._each, self._arms)
        uniform = self._rng.random(self._each.size)
        index: IntArray = (uniform[:, None] >= self._thresholds[pulled]).sum(axis=1)
        reward = self._problems.rewards[index]
        self._pulls[pulled] += 1
        self._sums[pulled] += reward
        self._last_arm[:], self._last_reward[:] = self._arms, reward
        self._t += 1
        training_rewards = -self._gaps[pulled]
        over = self._t >= self._end
        infos: list[dict[str, Any]] = [{} for _ in self._each]
        if over.any():
            last = self._features()
            for env in np.flatnonzero(over).tolist():
                infos[env]["terminal_observation"] = last[env]
                self._begin(env)
                self._end[env] = self._horizon
        return self._features(), training_rewards.astype(np.float32), over, infos

    def _begin(self, env: int) -> None:
        pmf = self._problems.draw(self._rng)
        means = pmf @ self._problems.rewards
        self._gaps[env] = means.max() - means
        self._thresholds[env] = np.cumsum(pmf, axis=1)[:, :-1]
        self._pulls[env], self._sums[env] = 0, 0
        self._last_arm[env], self._last_reward[env], self._t[env] = -1, 0, 0

    def _features(self) -> Float32Array:
        means = self._sums / np.maximum(self._pulls, 1)
        return history_features(
            self._pulls,
            means,
            self._last_arm,
            self._last_reward,
            self._t,
            self._horizon,
            (0.0, 1.0),
        )

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute once for each of the environments; None for one that is missing."""
        return [getattr(self, attr_name, None) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: the environments have no attributes of their own."""
        raise NotImplementedError(
            f"set_attr({attr_name!r}): the environments are one object; set its attributes"
        )

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **more: Any) -> Any:
        """Refuse: the environments have no methods of their own."""
        raise NotImplementedError(
            f"env_method({method_name!r}): the environments are one object; call its methods"
        )

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each of the environments."""
        return [False for _ in self._get_indices(indices)]
