"""Observations that show a learner what was seen, and what the pseudo-rewards say of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Space
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from cmab_gym import checks
from cmab_gym.arrays import AnyArray
from cmab_gym.envs.base import Info
from cmab_gym.features import n_history_features, reward_features
from cmab_gym.history import CorrelatedHistory, History
from cmab_gym.problem import BanditProblem
from cmab_gym.wrappers.checks import bandit_of, refuse_changed_rewards

Features: TypeAlias = NDArray[np.float32]
CONTENTS = ("bounds", "phi", "table")


class _FromHistory(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps the history of the episode for its subclass, whose observation it is."""

    _history: History

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        bandit = bandit_of(self, env)
        refuse_changed_rewards(self, env)
        self._horizon, self._problem = bandit.horizon, bandit.problem
        self._begin()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Features, Info]:
        """Begin an episode, with nothing seen."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._begin()
        return self._observe(observation), info

    def step(self, action: Any) -> tuple[Features, Any, bool, bool, Info]:
        """Pull an arm."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._history.update(np.array([action]), np.array([float(reward)]))
        return self._observe(observation), reward, terminated, truncated, info

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _observe(self, observation: Any) -> Features: ...


class HistoryObservation(_FromHistory, RecordConstructorArgs):
    """Makes the observation the history of the episode, for learners that need one.

    Observation:
        `Box(0, 1, (4 K + 2,), float32)`: of each of the K arms its share of the horizon, its count
        on a logarithmic scale, its mean reward and whether it was pulled last; the last reward;
        the time left. See `cmab_gym.wrappers.history_features`.

    Args:
        env: a bandit of this package. Its rewards must be in its own unit: a wrapper that scales
            rewards goes outside.

    Raises:
        ValueError: env is no such bandit, or its rewards are changed by a wrapper.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.observation_space = history_space(self._problem)

    def _begin(self) -> None:
        self._history = History(self._problem, 1)

    def _observe(self, observation: Any) -> Features:
        features: Features = self._history.features(self._horizon)[0]
        return features


class PseudoRewardObservation(_FromHistory, RecordConstructorArgs):
    """Adds what the pseudo-rewards say to the observation.

    Observation:
        `Box(0, 1, (D,), float32)`: the observation of env, if that is a flat float32 box, such as
        `HistoryObservation`'s; then pseudo-rewards, scaled like rewards to [0, 1], with 1 where
        nothing is known. With K arms and R rewards these are

        - "bounds", K numbers: for each arm the least empirical pseudo-reward over the significant
          arms, the bound that C-Bandit compares with the best mean. Small, and all that rule needs:
          the one to learn with;
        - "phi", K * K numbers: all empirical pseudo-rewards, of arm l given arm k at [l, k];
        - "table", K * K * R numbers: the pseudo-rewards s[l, k, j] themselves. They never change in
          an episode: for learners that play many different bandits.

    Args:
        env: a bandit of this package; a wrapper that scales rewards goes outside.
        content: "bounds", "phi" or "table".

    Raises:
        ValueError: content is none of these; env is no such bandit, or its rewards are changed by a
            wrapper.
    """

    def __init__(self, env: gym.Env[Any, Any], content: str = "bounds") -> None:
        RecordConstructorArgs.__init__(self, content=content)
        self._content = checks.choice("content", content, CONTENTS)
        super().__init__(env)
        self.observation_space = pseudo_reward_space(
            env.observation_space, self._problem, self._content
        )

    def _begin(self) -> None:
        self._history: CorrelatedHistory = CorrelatedHistory(self._problem, 1)

    def _observe(self, observation: Any) -> Features:
        added = pseudo_rewards_seen(self._history, self._problem, self._content)
        features: Features = with_inner(np.asarray(observation)[None], added)[0]
        return features


def history_space(problem: BanditProblem) -> Box:
    """Return the space of `HistoryObservation`."""
    return Box(0, 1, (n_history_features(problem.n_arms),), np.float32)


def pseudo_reward_space(inner: Space[Any], problem: BanditProblem, content: str) -> Box:
    """Return the space of `PseudoRewardObservation` outside one of another space."""
    n_arms, size = problem.n_arms, problem.reward_support.size
    added = {"bounds": n_arms, "phi": n_arms**2, "table": n_arms**2 * size}[content]
    low, high = np.zeros(added, np.float32), np.ones(added, np.float32)
    if isinstance(inner, Box) and len(inner.shape) == 1 and inner.dtype == np.float32:
        low, high = np.append(inner.low, low), np.append(inner.high, high)
    return Box(low, high, dtype=np.float32)


def pseudo_rewards_seen(
    history: CorrelatedHistory, problem: BanditProblem, content: str
) -> Features:
    """Return what `PseudoRewardObservation` adds, float32 (B, number)."""
    if content == "table":
        trials = len(history.pulls)
        values: AnyArray = np.broadcast_to(
            problem.pseudo_rewards, (trials, *problem.pseudo_rewards.shape)
        )
    else:
        values = history.bounds if content == "bounds" else history.phi
    return reward_features(values, problem.reward_bounds)


def with_inner(inner: AnyArray, added: Features) -> Features:
    """Put the observations of the environment inside, (B, ...), before those added, (B, number)."""
    return np.append(inner, added, axis=1) if inner.ndim == 2 else added
