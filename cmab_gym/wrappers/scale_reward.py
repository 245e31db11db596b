"""`ScaleReward`: rewards from 0 to 1."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.info import Info
from cmab_gym.wrappers.checks import bandit_inside
from cmab_gym.wrappers.observers import RewardScaler


class ScaleReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Scales rewards to [0, 1]: (reward - low) / (high - low), with the bandit's reward_bounds.

    Args:
        env: a bandit of this package, with rewards in its unit: put wrappers that change rewards
            outside.

    Raises:
        ValueError: env is not a bandit of this package; or, in `step`, a wrapper inside changed the
            reward.

    Examples:
        >>> import gymnasium as gym
        >>> from cmab_gym.wrappers import ScaleReward
        >>> env = ScaleReward(gym.make("CMAB-MovieLens-v0"))  # 1 to 5 stars
        >>> observation, info = env.reset(seed=0)
        >>> env.step(0)[1] in (0, 0.25, 0.5, 0.75, 1)
        True
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        bandit = bandit_inside(self, env, BanditEnv)
        super().__init__(env)
        self._scaler = RewardScaler(bandit, env)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Pull an arm."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        scaled = self._scaler.scaled(reward)
        return observation, scaled, terminated, truncated, info
