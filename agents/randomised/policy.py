"""`RandomisedPolicy`: policies that draw an arm from probabilities, as index policies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from cmab_gym.agents.mathematics.categorical import exponentials
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams

_SCORES, _LOG_WEIGHTS = "scores", "log_weights"  # in the history's memory


class RandomisedPolicy(ABC):
    """Draws each arm with a probability that depends on scores, which the rewards change.

    The arm with the largest sum of its log-probability and independent Gumbel noise has the law of
    the probabilities. So a draw is an index policy; and where only some arms may be pulled, the
    largest index among them is a draw from the probabilities restricted to these arms. The scores
    learn from the restricted probabilities, those that the arm was really drawn with.

    A subclass defines `log_weights` and `learned`.

    Source: Gumbel (1954); Yellott (1977), The relationship between Luce's choice axiom, Thurstone's
    theory of comparative judgment, and the double exponential distribution.
    """

    ranks_unpulled: ClassVar[bool] = True
    needs_rewards_at_once: ClassVar[bool] = True  # to know with which probability an arm was drawn

    @abstractmethod
    def log_weights(self, scores: FloatArray, t: int) -> FloatArray:
        """Return the logarithm of each arm's probability, up to a constant of each trial.

        Args:
            scores: float64 (B, K); 0 before the first pull.
            t: the round, 1 or more.

        Returns:
            float64 (B, K).
        """

    @abstractmethod
    def learned(
        self, scores: FloatArray, probabilities: FloatArray, history: History
    ) -> FloatArray:
        """Return the scores after a round.

        Args:
            scores: float64 (B, K), those before the round.
            probabilities: float64 (B, K), with which the arm was drawn.
            history: after the round: `last_arm`, `last_reward`, and `t`, the round.
        """

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        log_weights = self.log_weights(self._scores(history), history.t + 1)
        history.memory[_LOG_WEIGHTS] = log_weights
        return log_weights + gumbel(history.problem.n_arms, rng)

    def learn(self, history: History, rng: TrialStreams) -> None:
        """Change the scores after a round: see `IndexPolicy`."""
        scores = self._scores(history)
        # Missing if the arm was not chosen by this policy, but logged, say.
        log_weights = history.memory.pop(_LOG_WEIGHTS, None)
        if log_weights is None:
            log_weights = self.log_weights(scores, history.t)
        candidates = history.candidates
        if candidates is not None:
            candidates = candidates.copy()
            candidates[np.arange(len(candidates)), history.last_arm] = True  # logged, say
        probabilities = softmax(log_weights, candidates)
        history.memory[_SCORES] = self.learned(scores, probabilities, history)

    def _scores(self, history: History) -> FloatArray:
        if _SCORES not in history.memory:
            history.memory[_SCORES] = np.zeros(history.pulls.shape)
        return history.memory[_SCORES]


def gumbel(size: int, rng: TrialStreams) -> FloatArray:
    """Draw standard Gumbel numbers, float64 (B, size)."""
    exponential = -np.log1p(-rng.random(size))
    noise: FloatArray = -np.log(exponential)
    return noise


def softmax(log_weights: FloatArray, candidates: BoolArray | None = None) -> FloatArray:
    """Return probabilities that are proportional to weights, and 0 for arms that are no candidates.

    Args:
        log_weights: float64 (B, K), the logarithms of the weights.
        candidates: bool (B, K), at least one in each row; None for all arms.

    Examples:
        >>> softmax(np.log([[1.0, 2.0, 1.0]]), np.array([[True, True, False]])).round(3)
        array([[0.333, 0.667, 0.   ]])
    """
    if candidates is not None:
        log_weights = np.where(candidates, log_weights, -np.inf)
    weights = exponentials(log_weights)
    probabilities: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def add_to_pulled(scores: FloatArray, arms: IntArray, values: FloatArray) -> FloatArray:
    """Return scores (B, K) with a value (B,) added to those of the arms pulled (B,)."""
    added = scores.copy()
    added[np.arange(arms.size), arms] += values
    return added
