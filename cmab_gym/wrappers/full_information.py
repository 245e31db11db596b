"""`FullInformation`: what every arm would have given."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.envs.base import Info
from cmab_gym.features import reward_features
from cmab_gym.wrappers.checks import bandit_of


class FullInformation(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Tells what every arm gives in a round, whichever is pulled: the game of experts.

    Information:
        `step`: besides the keys of env, rewards float64 (K,), what every arm gave in this round;
        and counterfactual_reward float, the largest of those of the arms not pulled. `reset` adds
        nothing.

    Observation:
        As env's; or with observe `Box(0, 1, (K,), float32)`, the rewards of the last round, scaled
        to [0, 1]; all 0 before the first.

    In the environments of ratings one number decides a round, and each arm gives its quantile at
    it: an arm's rewards are distributed as its ratings, but how the arms' rewards depend on each
    other there is a convention, and nothing that users said.

    Args:
        env: a bandit of this package.
        observe: whether the rewards are the observation too.

    Raises:
        ValueError: env is none.
    """

    def __init__(self, env: gym.Env[Any, Any], observe: bool = False) -> None:
        RecordConstructorArgs.__init__(self, observe=observe)
        super().__init__(env)
        self._bandit, self._observe = bandit_of(self, env), observe
        if observe:
            self.observation_space = Box(0, 1, (self._bandit.model.n_arms,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        if self._observe:
            observation = np.zeros(self._bandit.model.n_arms, np.float32)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Pull an arm."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        rewards = self._bandit.round_rewards
        info["rewards"] = rewards
        info["counterfactual_reward"] = float(best_of_others(rewards[None], np.array([action]))[0])
        if self._observe:
            bounds = self._bandit.problem.reward_bounds
            observation = reward_features(rewards[None], bounds)[0]
        return observation, reward, terminated, truncated, info


def best_of_others(rewards: FloatArray, arms: IntArray) -> FloatArray:
    """Return the largest reward in each row but for that of the arm pulled, (B, K) to (B,)."""
    others = rewards.copy()
    others[np.arange(len(arms)), arms] = -np.inf
    best: FloatArray = others.max(axis=1)
    return best
