"""Agents that stable-baselines3 trained and saved: `make_agent("model.zip")`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.agents.rl.frozen import FrozenAgent
from cmab_gym.agents.rl.sb3_file import read_sb3_file
from cmab_gym.arrays import Float32Array, FloatArray, IntArray
from cmab_gym.features import CONTENTS, n_history_features, n_pseudo_reward_features
from cmab_gym.history import CorrelatedHistory, History
from cmab_gym.problem import BanditProblem, check_horizon, horizon_of
from cmab_gym.streams import TrialStreams

HISTORY = "history"
# What the network sees: the history, pseudo-rewards, or both.
OBSERVATIONS = (HISTORY, *CONTENTS, *(f"{HISTORY}+{content}" for content in CONTENTS))
_NOTHING = "nothing"  # the environments' own observation, which is constant


class SB3Agent(FrozenAgent):
    """Plays a PPO, A2C or DQN model that stable-baselines3 trained and saved, without learning.

    It plays bandits with as many arms as those of its training.

    Args:
        path: the file of the model's `save()`. It is read without running code that it may hold.
        greedy: True chooses as `predict(..., deterministic=True)`, the arm with the largest
            probability or value. False chooses as `predict` does by default: PPO and A2C draw an
            arm with its probability, and DQN pulls a random one with its `exploration_rate`.
        observation: what the model saw in its training: "history" of `HistoryObservation`;
            "bounds", "phi" or "table" of `PseudoRewardObservation`; or "history+bounds" and so on
            of one around the other. None finds it from the size.
        horizon: rounds of an episode in the training, which scale the history; None takes the
            rounds of a trial.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: stable-baselines3 did not write the file, its model is not a plain MlpPolicy for
            a bandit, or the extra `rl` is not installed.

    Cost per round: that of the network.
    """

    history: CorrelatedHistory  # without pseudo-rewards a plain `History`

    def __init__(
        self,
        path: str | Path,
        greedy: bool = False,
        observation: str | None = None,
        horizon: int | None = None,
    ) -> None:
        self.path, self.observation, self.horizon = Path(path), observation, horizon
        if observation is not None:
            checks.choice("observation", observation, OBSERVATIONS)
        check_horizon(horizon)
        self._model = read_sb3_file(self.path)
        super().__init__(self._model.network, greedy)

    def __repr__(self) -> str:
        given = f"greedy={self.greedy}, observation={self.observation!r}, horizon={self.horizon}"
        return f"SB3Agent({str(self.path)!r}, {given})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`.

        Raises:
            ValueError: the model plays another number of arms or saw something else, or the horizon
                is unknown.
        """
        if problem.n_arms != self._model.n_arms:
            raise ValueError(
                f"{self.path} plays {self._model.n_arms} arms: expected {problem.n_arms}, the "
                "number of arms here; train a model on this environment"
            )
        self._parts = self._seen(problem).split("+")
        self._horizon = horizon_of(self.horizon, problem) if HISTORY in self._parts else 1
        super().reset(problem, trials, rng)

    def _seen(self, problem: BanditProblem) -> str:
        """Return what the model saw in its training: one of `OBSERVATIONS`, or nothing.

        Raises:
            ValueError: `observation` has another size, or no kind or several kinds have this size.
        """
        if self._model.constant:
            return _NOTHING
        size, sizes = self._model.n_inputs, {name: _size(name, problem) for name in OBSERVATIONS}
        what = f"{self.path} was trained on observations of {size} numbers"
        fit = [name for name in OBSERVATIONS if sizes[name] == size]
        if self.observation is not None and self.observation not in fit:
            expected = f"expected {sizes[self.observation]} for {self.observation!r}"
            raise ValueError(f"{what}: {expected}; correct observation=...")
        if not fit:
            raise ValueError(
                f"{what}: expected one of {sizes}, as of HistoryObservation and "
                "PseudoRewardObservation around this environment"
            )
        if self.observation is None and (len(fit) > 1 or size == problem.n_arms):
            raise ValueError(
                f"{what}, which may be {' or '.join(map(repr, fit))}, or all rewards of a round, "
                f"which no agent sees here: say which, by observation={fit[0]!r}"
            )
        return self.observation or fit[0]

    def _new_history(self, problem: BanditProblem, trials: int) -> History:
        kind = CorrelatedHistory if set(self._parts) & set(CONTENTS) else History
        return kind(problem, trials)

    def _features(self) -> Float32Array:
        history = self.history
        if self._parts == [_NOTHING]:
            return np.ones((len(history.pulls), 1), np.float32)  # Discrete(1), as one number of 1
        parts = [
            history.features(self._horizon)
            if part == HISTORY
            else history.pseudo_reward_features(part)
            for part in self._parts
        ]
        return np.concatenate(parts, axis=1)

    def _drawn(self, scores: FloatArray) -> IntArray:
        if self._model.exploration is None:
            return super()._drawn(scores)
        arms = self._best(scores)
        explores = self.rng.uniform() < self._model.exploration
        anything = (self.rng.uniform() * self._model.n_arms).astype(np.int64)
        return np.where(explores, anything, arms)


def _size(observation: str, problem: BanditProblem) -> int:
    """Return how many numbers one of `OBSERVATIONS` has."""
    n_arms, n_rewards = problem.n_arms, problem.reward_support.size
    return sum(
        n_history_features(n_arms)
        if part == HISTORY
        else n_pseudo_reward_features(part, n_arms, n_rewards)
        for part in observation.split("+")
    )
