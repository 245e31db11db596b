"""Observations that show a learner the history, pseudo-rewards, and bounds from both."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.info import Info
from cmab_gym.wrappers.checks import bandit_inside
from cmab_gym.wrappers.observers import HistoryObserver, Observer, PseudoRewardObserver


class ObserverWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """Replaces the observations by those of an observer.

    Args:
        env: a bandit of this package.
        observer: the observer of its trial.
        shown: False keeps the observations of env.
    """

    def __init__(self, env: gym.Env[Any, Any], observer: Observer[Any], shown: bool = True) -> None:
        super().__init__(env)
        self._observer, self._shown = observer, shown
        if shown:
            self.observation_space = observer.space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observation(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Pull an arm."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._observation(observation), reward, terminated, truncated, info

    def _observation(self, inner: Any) -> Any:
        return self._observer.observe(np.asarray(inner)[None])[0] if self._shown else inner


class HistoryObservation(ObserverWrapper, RecordConstructorArgs):
    """Makes the history of the episode the observation.

    Observation:
        `Box(0, 1, (4 K + 2,), float32)`: for each of the K arms its share of the horizon, its count
        on a logarithmic scale, its mean reward and whether it was pulled last; the last reward;
        the time left. See `cmab_gym.wrappers.history_features`.

    Args:
        env: a bandit of this package. Wrappers inside may change actions, rewards or the length of
            an episode: the history is that of the bandit itself, in its unit.

    Raises:
        ValueError: env is not a bandit of this package.

    Examples:
        >>> import gymnasium as gym
        >>> from cmab_gym.wrappers import HistoryObservation
        >>> env = HistoryObservation(gym.make("CMAB-Tabular-v0", horizon=4))
        >>> observation, info = env.reset(seed=0)
        >>> observation
        array([0. , 0. , 0. , 0. , 0.5, 0.5, 0. , 0. , 0. , 1. ], dtype=float32)
        >>> observation, reward, terminated, truncated, info = env.step(1)
        >>> observation[[0, 1, -1]]  # each arm's share of the horizon, and the time left
        array([0.  , 0.25, 0.75], dtype=float32)
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        bandit = bandit_inside(self, env, BanditEnv)
        super().__init__(env, HistoryObserver(bandit, 1))


class PseudoRewardObservation(ObserverWrapper, RecordConstructorArgs):
    """Adds pseudo-rewards, or bounds from them, to the observation.

    Observation:
        `Box(0, 1, (D,), float32)`: the observation of env, if that is a flat float32 box, such as
        `HistoryObservation`'s; then pseudo-rewards, scaled like rewards to [0, 1], with 1 where
        nothing is known. With K arms and R rewards these are

        - "bounds", K numbers: for each arm the smallest empirical pseudo-reward over the
          significant arms, the bound that C-Bandit compares with the best mean. It is small and all
          that the C-Bandit rule needs: the best choice for most learners;
        - "phi", K * K numbers: all empirical pseudo-rewards, of arm l given arm k at [l, k];
        - "table", K * K * R numbers: the pseudo-rewards s[l, k, j] themselves. They are constant in
          an episode: for learners that play many different bandits. With continuous rewards R is
          the number of bins: choose few.

    Args:
        env: a bandit of this package. Wrappers inside may change actions, rewards or the length of
            an episode: arms and rewards are those of the bandit itself.
        content: "bounds", "phi" or "table".

    Raises:
        ValueError: content is not one of these or needs a table that is too large, or env is not a
            bandit of this package.

    Examples:
        >>> import gymnasium as gym
        >>> from cmab_gym.wrappers import HistoryObservation, PseudoRewardObservation
        >>> env = gym.make("CMAB-MovieLens-v0", task="genre")  # 18 arms
        >>> PseudoRewardObservation(env).observation_space.shape
        (18,)
        >>> PseudoRewardObservation(HistoryObservation(env)).observation_space.shape
        (92,)
    """

    def __init__(self, env: gym.Env[Any, Any], content: str = "bounds") -> None:
        RecordConstructorArgs.__init__(self, content=content)
        bandit = bandit_inside(self, env, BanditEnv)
        super().__init__(env, PseudoRewardObserver(bandit, 1, content, env.observation_space))
