"""`FullInformation`: the rewards of all arms."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.info import Info
from cmab_gym.wrappers.checks import bandit_inside, require_joint_outcomes
from cmab_gym.wrappers.observations import ObserverWrapper
from cmab_gym.wrappers.observers import RoundRewardsObserver


class FullInformation(ObserverWrapper, RecordConstructorArgs):
    """Shows the rewards of all arms in a round, whichever is pulled (the experts' setting).

    Information:
        `step`: the keys of env; rewards float64 (K,), the reward of every arm in this round, in
        the bandit's unit; counterfactual_reward float, the largest reward of the arms not pulled.
        `reset` adds nothing.

    Observation:
        That of env; or with observe=True `Box(0, 1, (K,), float32)`, the rewards of the last round,
        scaled to [0, 1]; all 0 before the first round.

    In the environments of ratings, one uniform number decides a round, and each arm gives its
    quantile at it. An arm's rewards are distributed like its ratings, but how the rewards of two
    arms depend on each other is a convention, not data. It does not keep the table: of the 1530
    entries of the genres' table (`mask=0`) 633 lie below the conditional means of these outcomes,
    and 1518 would if the arms were independent. So compare `rewards` with `pseudo_rewards` only in
    tabular and latent environments.

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
        self._rounds = RoundRewardsObserver(bandit, 1)
        super().__init__(env, self._rounds, shown=observe)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Pull an arm."""
        observation, reward, terminated, truncated, info = super().step(action)
        played = self._rounds.take()
        if played is not None:
            rewards, best_of_others = played
            info["rewards"] = rewards[0]
            info["counterfactual_reward"] = float(best_of_others[0])
        return observation, reward, terminated, truncated, info
