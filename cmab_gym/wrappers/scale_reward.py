"""`ScaleReward`: rewards from 0 to 1."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import TransformReward

from cmab_gym.envs.base import BanditEnv
from cmab_gym.features import scaled_rewards
from cmab_gym.wrappers.checks import bandit_inside


class ScaleReward(TransformReward[Any, Any], RecordConstructorArgs):
    """Scales rewards to [0, 1]: (reward - low) / (high - low), with the bandit's reward_bounds.

    Put it outside all other wrappers: observations need rewards in the bandit's own unit.

    Args:
        env: a bandit of this package.

    Raises:
        ValueError: env is not a bandit of this package.

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
        bounds = bandit_inside(self, env, BanditEnv).problem.reward_bounds
        TransformReward.__init__(self, env, partial(scaled_rewards, reward_bounds=bounds))
