"""`FrozenAgent`: plays a trained network that no longer learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.api import checks_round, set_by_reset
from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.arrays import Float32Array, FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.problem import BanditProblem
from cmab_gym.state import Stateful
from cmab_gym.streams import TrialStreams, as_streams


class FrozenAgent(Stateful, ABC):
    """Computes a score of each arm by a network, from the history of each trial alone.

    Args:
        network: maps features, float64 (B, D), to scores, (B, K).
        greedy: True pulls the arm with the largest score; False draws it.
    """

    _history: History = set_by_reset()
    _playing: tuple[BanditProblem, int] = set_by_reset()
    _changing = ("_rng", "_history")

    def __init__(self, network: Any, greedy: bool) -> None:
        self._network, self.greedy = network, greedy

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`."""
        self._history = self._new_history(problem, trials)
        self._playing = problem, trials
        self._rng = as_streams(rng, trials)

    def act(self) -> IntArray:
        """Choose an arm for each trial, int64 (B,)."""
        from cmab_gym.agents.rl.arm_networks import scores_of

        scores = scores_of(self._network, self._features())
        return self._best(scores) if self.greedy else self._drawn(scores)

    @checks_round
    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add the rewards to the history."""
        self._history.update(arms, rewards)

    def _new_history(self, problem: BanditProblem, trials: int) -> History:
        return History(problem, trials)

    @abstractmethod
    def _features(self) -> Float32Array:
        """Return the network's input, float32 (B, D)."""

    def _best(self, scores: FloatArray) -> IntArray:
        """Return the arms with the largest scores, (B,)."""
        # Rounding makes arms with the same history tie, whatever the batch size.
        return argmax_with_random_ties(np.round(scores, 9), self._rng.uniform())

    def _drawn(self, scores: FloatArray) -> IntArray:
        """Draw arms (B,) from the softmax of the scores (B, K)."""
        cumulative = np.exp(scores - scores.max(axis=1, keepdims=True)).cumsum(axis=1)
        below = self._rng.uniform()[:, None] * cumulative[:, -1:]
        arms: IntArray = (cumulative[:, :-1] <= below).sum(axis=1)
        return arms
