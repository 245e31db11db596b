"""LUCB: pull the best arm and its nearest rival until their confidence intervals part."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.identification.api import SamplingAgent
from cmab_gym.agents.identification.confidence import radius
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams


class LUCB(SamplingAgent):
    """Pull the best arm and its nearest rival until their confidence intervals part.

    Idea: each arm has an interval [L, U] that holds its mean. The leader is the arm with the
    largest average, among those with U >= max L; its challenger is the arm with the largest U among
    the others. Both are pulled in turn. Stop when L of the leader reaches U of every other arm.

    Interval: average -+ B radius(n, delta / K), see `confidence.radius`, intersected with all
    earlier ones. B is the length of the interval of rewards, or 2 `reward_sigma`.

    Args:
        delta: the accepted probability of stopping with a wrong arm, between 0 and 1.

    Cost per round: O(K).

    Guarantee: the arm is wrong with probability at most delta. That needs K of the 2 K bounds: U of
    the best arm, and L of each other one. With two best arms it may never stop.

    Source: Kalyanakrishnan, Tewari, Auer and Stone (2012), whose interval is wider: its square has
    ln(5 K t^4 / (4 delta)) in place of ln(K / delta) + ln(n + 1) / 2.
    """

    _changing = ("lower", "upper", "_challenger")

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `IdentificationAgent.reset`."""
        super().reset(problem, trials, rng)
        shape = (trials, problem.n_arms)
        self.lower, self.upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        self._each = self.delta / self._bounds_needed()
        self._trial = np.arange(trials)
        self._challenger = np.zeros(trials, dtype=np.int64)

    def best_arm(self) -> IntArray:
        """Return the leader of each trial: see `IdentificationAgent.best_arm`."""
        best: IntArray = self._promise().argmax(axis=1)
        return best

    def _bounds_needed(self) -> int:
        """Return how many bounds must hold so that no wrong arm is returned."""
        return self.history.problem.n_arms

    def _choose(self) -> IntArray:
        if (self.history.t - self.history.problem.n_arms) % 2 == 1:
            return self._challenger
        leader = argmax_with_random_ties(self._promise(), self.rng.uniform())
        rivals = self._without(leader)
        self._challenger = argmax_with_random_ties(rivals, self.rng.uniform())
        return leader

    def _stops(self) -> BoolArray:
        leader = self.best_arm()
        stops: BoolArray = self.lower[self._trial, leader] >= self._without(leader).max(axis=1)
        return stops

    def _promise(self) -> FloatArray:
        """Return the averages, lowered where an arm cannot be best, so that they come last."""
        history = self.history
        hopeless = self.upper < self.lower.max(axis=1, keepdims=True)
        promise: FloatArray = history.means - 2 * history.problem.reward_range * hopeless
        return promise

    def _without(self, leader: IntArray) -> FloatArray:
        """Return the upper bounds, with -infinity for the leader."""
        upper = self.upper.copy()
        upper[self._trial, leader] = -np.inf
        return upper

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        super()._learn(arms, rewards)
        pulled = self._trial, arms
        mean = self.history.means[pulled]
        self._radius = radius(self.history.pulls[pulled], self._each)
        distance = self.scale * self._radius
        self.lower[pulled] = np.maximum(self.lower[pulled], mean - distance)
        self.upper[pulled] = np.minimum(self.upper[pulled], mean + distance)
