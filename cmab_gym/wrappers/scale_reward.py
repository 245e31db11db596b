"""`ScaleReward`: rewards from 0 to 1."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import TransformReward

from cmab_gym.features import scaled_rewards
from cmab_gym.wrappers.checks import bandit_of


class ScaleReward(TransformReward[Any, Any], RecordConstructorArgs):
    """Scales rewards to [0, 1]: (reward - low) / (high - low), with the bounds of the bandit.

    It is the outermost wrapper: those of observations need rewards in the bandit's unit.

    Args:
        env: a bandit of this package.

    Raises:
        ValueError: env is none.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        bounds = bandit_of(self, env).problem.reward_bounds
        TransformReward.__init__(self, env, partial(scaled_rewards, reward_bounds=bounds))
