"""`FrozenAgent`: plays a trained network that no longer learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.history_agent import HistoryAgent
from cmab_gym.agents.mathematics.categorical import drawn, exponentials
from cmab_gym.arrays import Float32Array, FloatArray, IntArray


class FrozenAgent(HistoryAgent, ABC):
    """Computes a score of each arm by a network, from the history of each trial alone.

    Args:
        network: maps features, float64 (B, D), to scores, (B, K).
        greedy: True pulls the arm with the largest score; False draws it.
    """

    def __init__(self, network: Any, greedy: bool) -> None:
        self._network, self.greedy = network, greedy

    def act(self) -> IntArray:
        """Choose an arm for each trial, int64 (B,)."""
        from cmab_gym.agents.rl.arm_networks import scores_of

        scores = scores_of(self._network, self._features())
        return self._best(scores) if self.greedy else self._drawn(scores)

    @abstractmethod
    def _features(self) -> Float32Array:
        """Return the network's input, float32 (B, D)."""

    def _best(self, scores: FloatArray) -> IntArray:
        """Return the arms with the largest scores, (B,)."""
        # Rounding makes arms with the same history tie, whatever the batch size.
        return argmax_with_random_ties(np.round(scores, 9), self.rng.uniform())

    def _drawn(self, scores: FloatArray) -> IntArray:
        """Draw arms (B,) from the softmax of the scores (B, K)."""
        return drawn(exponentials(scores), self.rng.uniform())
