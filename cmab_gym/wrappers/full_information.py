"""`FullInformation`: the rewards of all arms."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.info import Info
from cmab_gym.wrappers.checks import bandit_inside, require_joint_outcomes
from cmab_gym.wrappers.observations import ObserverWrapper
from cmab_gym.wrappers.observers import RoundRewardsObserver


class FullInformation(ObserverWrapper, RecordConstructorArgs):
    """Shows the rewards of all arms in a round, whichever is pulled (the experts' setting).

    Information:
        `step`: the keys of env; rewards float64 (K,), the reward of every arm in this round;
        counterfactual_reward float, the largest reward of the arms not pulled. `reset` adds
        nothing.

    Observation:
        That of env; or with observe=True `Box(0, 1, (K,), float32)`, the rewards of the last round,
        scaled to [0, 1]; all 0 before the first round.

    In the environments of ratings, one uniform number decides a round, and each arm gives its
    quantile at it. An arm's rewards are distributed like its ratings, but how the rewards of two
    arms depend on each other is a convention, not data.

    Args:
        env: a bandit of this package.
        observe: whether the rewards are the observation too.

    Raises:
        ValueError: env is not a bandit of this package, or its rewards are drawn by pulls.

    Examples:
        >>> import gymnasium as gym
        >>> from cmab_gym.wrappers import FullInformation
        >>> env = FullInformation(gym.make("CMAB-MovieLens-v0"))
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step(2)
        >>> info["rewards"].shape
        (18,)
        >>> bool(info["rewards"][2] == reward)
        True
    """

    def __init__(self, env: gym.Env[Any, Any], observe: bool = False) -> None:
        RecordConstructorArgs.__init__(self, observe=observe)
        bandit = bandit_inside(self, env, BanditEnv)
        require_joint_outcomes(self, bandit)
        super().__init__(env, RoundRewardsObserver(bandit, 1) if observe else None)
        self._bandit = bandit

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Pull an arm."""
        observation, reward, terminated, truncated, info = super().step(action)
        rewards = self._bandit.round_rewards
        info["rewards"] = rewards
        info["counterfactual_reward"] = float(best_of_others(rewards[None], np.array([action]))[0])
        return observation, reward, terminated, truncated, info


def best_of_others(rewards: FloatArray, arms: IntArray) -> FloatArray:
    """Return the largest reward of the arms not pulled, float64 (B,).

    Args:
        rewards: float64 (B, K), the rewards of all arms.
        arms: int64 (B,), the arm pulled in each row.
    """
    others = rewards.copy()
    others[np.arange(len(arms)), arms] = -np.inf
    best: FloatArray = others.max(axis=1)
    return best
