"""What the wrappers ask of the environment they are put on."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorRewardWrapper

from cmab_gym.envs.base import BanditEnv, BanditVectorEnv


def bandit_of(wrapper: object, env: Any) -> BanditEnv:
    """Return the bandit inside env.

    Raises:
        ValueError: there is none of this package.
    """
    bandit = env.unwrapped
    if not isinstance(bandit, BanditEnv):
        raise ValueError(
            f"{type(wrapper).__name__}({env}): expected a bandit of this package, such as "
            'gym.make("CMAB-Tabular-v0"); a native vector environment takes the wrapper of the '
            "same name in cmab_gym.wrappers.vector"
        )
    return bandit


def vector_bandit_of(wrapper: object, env: Any) -> BanditVectorEnv:
    """Return the native vector environment inside env.

    Raises:
        ValueError: there is none of this package.
    """
    bandit = env.unwrapped
    if not isinstance(bandit, BanditVectorEnv):
        raise ValueError(
            f"{type(wrapper).__name__}({env}): expected a native vector environment of this "
            'package, such as gym.make_vec("CMAB-Tabular-v0", num_envs=4); in the modes "sync" and '
            '"async" pass make_vec the wrapper of the same name in cmab_gym.wrappers'
        )
    return bandit


def refuse_changed_rewards(wrapper: object, env: Any) -> None:
    """Refuse an environment whose rewards a wrapper changes.

    Raises:
        ValueError: there is such a wrapper inside env.
    """
    while env is not env.unwrapped:
        if isinstance(env, gym.RewardWrapper | VectorRewardWrapper):
            name = type(env).__name__
            raise ValueError(
                f"{type(wrapper).__name__} outside {name}: expected the rewards in the bandit's "
                f"own unit; put {name} outside"
            )
        env = env.env
