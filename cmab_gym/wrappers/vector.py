"""The wrappers of native vector environments, with the names of the scalar ones.

Each sub-environment shows what the scalar wrapper would show, in every autoreset mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from cmab_gym.arrays import AnyArray
from cmab_gym.envs.info import Info, with_masks
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.late_rewards import Arrivals
from cmab_gym.wrappers.checks import bandit_inside, require_joint_outcomes
from cmab_gym.wrappers.observers import (
    TELL_REWARDS,
    ArrivalObserver,
    HistoryObserver,
    Observer,
    PseudoRewardObserver,
    RewardScaler,
    RoundRewardsObserver,
)

Step: TypeAlias = tuple[Any, Any, Any, Any, Info]


class ObserverWrapper(VectorWrapper):
    """Replaces the observations by those of an observer.

    Args:
        env: a native vector environment of this package.
        observer: the observer of all its trials.
        shown: False keeps the observations of env.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], observer: Observer[Any], shown: bool = True
    ) -> None:
        super().__init__(env)
        self._observer, self._shown = observer, shown
        if shown:
            self.single_observation_space = observer.space
            self.observation_space = batch_space(observer.space, self.num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, Info]:
        """Begin an episode in every sub-environment."""
        observations, info = self.env.reset(seed=seed, options=options)
        return self._observer.observe(observations) if self._shown else observations, info

    def step(self, actions: Any) -> Step:
        """Pull an arm in each sub-environment."""
        observations, rewards, terminations, truncations, info = self.env.step(actions)
        if self._shown:
            if "final_obs" in info:
                final = self._observer.observe(np.stack(info["final_obs"]), ended=True)
                info["final_obs"][:] = list(final)
            observations = self._observer.observe(observations)
        return observations, rewards, terminations, truncations, info


class HistoryObservation(ObserverWrapper, RecordConstructorArgs):
    """Makes the histories of the episodes the observations, float32 (num_envs, 4 K + 2).

    Args:
        env: a native vector environment of this package.

    Raises:
        ValueError: env is not a native vector environment of this package.

    Examples:
        >>> import gymnasium as gym
        >>> from cmab_gym.wrappers import vector
        >>> envs = gym.make_vec("CMAB-MovieLens-v0", num_envs=3)  # 18 arms
        >>> vector.HistoryObservation(envs).observation_space.shape
        (3, 74)
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        bandit = bandit_inside(self, env, BanditVectorEnv)
        super().__init__(env, HistoryObserver(bandit, bandit.num_envs))


class PseudoRewardObservation(ObserverWrapper, RecordConstructorArgs):
    """Adds pseudo-rewards, or bounds from them, to the observations, float32 (num_envs, D).

    Args:
        env: a native vector environment of this package.
        content: "bounds", "phi" or "table"; see `cmab_gym.wrappers.PseudoRewardObservation`.

    Raises:
        ValueError: content is not one of these or needs a table that is too large, or env is not a
            native vector environment of this package.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], content: str = "bounds") -> None:
        RecordConstructorArgs.__init__(self, content=content)
        bandit = bandit_inside(self, env, BanditVectorEnv)
        inner = env.single_observation_space
        super().__init__(env, PseudoRewardObserver(bandit, bandit.num_envs, content, inner))


class FullInformation(ObserverWrapper, RecordConstructorArgs):
    """Shows the rewards of all arms in a round: see `cmab_gym.wrappers.FullInformation`.

    Information:
        `step`: the keys of env; rewards float64 (num_envs, K), the reward of every arm in this
        round; counterfactual_reward float64 (num_envs,), the largest reward of the arms not pulled.

    Args:
        env: a native vector environment of this package.
        observe: whether the rewards are the observations too.

    Raises:
        ValueError: env is not a native vector environment of this package, or its rewards are drawn
            by pulls.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], observe: bool = False) -> None:
        RecordConstructorArgs.__init__(self, observe=observe)
        bandit = bandit_inside(self, env, BanditVectorEnv)
        require_joint_outcomes(self, bandit)
        self._rounds = RoundRewardsObserver(bandit, bandit.num_envs)
        super().__init__(env, self._rounds, shown=observe)

    def step(self, actions: Any) -> Step:
        """Pull an arm in each sub-environment."""
        observations, rewards, terminations, truncations, info = super().step(actions)
        shape = (self.num_envs, self._rounds.space.shape[0])
        empty = np.zeros(shape), np.zeros(shape[0])
        _add_to(info, ("rewards", "counterfactual_reward"), self._rounds.take(), empty)
        return observations, rewards, terminations, truncations, info


class LateFeedback(VectorWrapper, RecordConstructorArgs):
    """Delays rewards, or gives them in batches: see `cmab_gym.wrappers.LateFeedback`.

    Information:
        `step`: the keys of env without reward_index and pseudo_reward; arrived_arms int64
        (num_envs, rewards_every) and arrived_rewards float64 (num_envs, rewards_every).

    Args:
        env: a native vector environment of this package.
        delay: rounds, 0 or more.
        rewards_every: rounds, 1 or more.

    Raises:
        ValueError: env is not a native vector environment of this package, or an argument is out of
            range.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], delay: int = 0, rewards_every: int = 1
    ) -> None:
        RecordConstructorArgs.__init__(self, delay=delay, rewards_every=rewards_every)
        bandit = bandit_inside(self, env, BanditVectorEnv)
        super().__init__(env)
        self._rounds = ArrivalObserver(bandit, bandit.num_envs, Arrivals(delay, rewards_every))
        self._shape = (bandit.num_envs, rewards_every)

    def step(self, actions: Any) -> Step:
        """Pull an arm in each sub-environment."""
        observations, rewards, terminations, truncations, info = self.env.step(actions)
        for each in (info, info.get("final_info", {})):
            for key in TELL_REWARDS:
                each.pop(key, None)
                each.pop(f"_{key}", None)
        arrived = self._rounds.take(rewards)
        if arrived is not None:
            rewards = arrived[1].sum(axis=1)
        empty = np.full(self._shape, -1), np.zeros(self._shape)
        _add_to(info, ("arrived_arms", "arrived_rewards"), arrived, empty)
        return observations, rewards, terminations, truncations, info


class ScaleReward(VectorWrapper, RecordConstructorArgs):
    """Scales rewards to [0, 1]: see `cmab_gym.wrappers.ScaleReward`.

    The rewards of a step that plays no round (autoreset mode NEXT_STEP) stay 0.

    Args:
        env: a native vector environment of this package.

    Raises:
        ValueError: env is not a native vector environment of this package; or, in `step`, a wrapper
            inside changed the rewards.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        bandit = bandit_inside(self, env, BanditVectorEnv)
        super().__init__(env)
        self._scaler = RewardScaler(bandit, env)

    def step(self, actions: Any) -> Step:
        """Pull an arm in each sub-environment."""
        observations, rewards, terminations, truncations, info = self.env.step(actions)
        scaled = self._scaler.scaled(rewards)
        return observations, scaled, terminations, truncations, info


def _add_to(
    info: Info,
    keys: Sequence[str],
    given: Sequence[AnyArray] | None,
    empty: Sequence[AnyArray],
) -> None:
    """Add what a wrapper tells about a round to the info of a step, in place.

    Args:
        info: the info.
        keys: the keys.
        given: their values; None if the step played no round.
        empty: the values, which are masked, of an info without a round.
    """
    everywhere = np.ones(len(empty[0]), np.bool_)
    if given is not None:
        told: Info = dict(zip(keys, given, strict=True))
        info.get("final_info", info).update(with_masks(told, everywhere))
    for key, value in with_masks(dict(zip(keys, empty, strict=True)), ~everywhere).items():
        info.setdefault(key, value)
