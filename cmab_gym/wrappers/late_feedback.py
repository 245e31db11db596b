"""`LateFeedback`: rewards that arrive some rounds late, or several together."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.info import Info
from cmab_gym.late_rewards import Arrivals
from cmab_gym.wrappers.checks import bandit_inside
from cmab_gym.wrappers.observers import TELL_REWARDS, ArrivalObserver


class LateFeedback(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Delays rewards, or gives them in batches.

    After every `rewards_every` rounds, all rewards arrive whose round was at least `delay` rounds
    ago; those that would arrive after the end of the episode are lost. The reward of a step is the
    sum of those that arrive in it, 0 if none does. Observations of this package's wrappers, inside
    or outside, show a reward and its pull when it arrives.

    Information:
        `step`: the keys of env without reward_index and pseudo_reward, which would tell the reward;
        arrived_arms int64 (rewards_every,), the arms whose rewards arrive, oldest first, then -1;
        arrived_rewards float64 (rewards_every,), their rewards, then 0.

    Args:
        env: a bandit of this package.
        delay: rounds, 0 or more.
        rewards_every: rounds, 1 or more.

    Raises:
        ValueError: env is not a bandit of this package, or an argument is out of range.

    Examples:
        >>> import gymnasium as gym
        >>> from cmab_gym.wrappers import LateFeedback
        >>> env = LateFeedback(gym.make("CMAB-MovieLens-v0"), rewards_every=3)
        >>> observation, info = env.reset(seed=0)
        >>> [env.step(arm)[4]["arrived_arms"].tolist() for arm in (7, 8, 9)]
        [[-1, -1, -1], [-1, -1, -1], [7, 8, 9]]
    """

    def __init__(self, env: gym.Env[Any, Any], delay: int = 0, rewards_every: int = 1) -> None:
        RecordConstructorArgs.__init__(self, delay=delay, rewards_every=rewards_every)
        bandit = bandit_inside(self, env, BanditEnv)
        super().__init__(env)
        self._rounds = ArrivalObserver(bandit, 1, Arrivals(delay, rewards_every))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Pull an arm."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        arrived = self._rounds.take(np.array([reward]))
        if arrived is not None:
            arms, rewards = arrived
            reward = float(rewards.sum())
            info["arrived_arms"], info["arrived_rewards"] = arms[0], rewards[0]
        for key in TELL_REWARDS:
            info.pop(key, None)
        return observation, reward, terminated, truncated, info
