"""The random agent: the baseline of every comparison."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.api import checks_round, set_by_reset
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.state import Stateful
from cmab_gym.streams import TrialStreams, as_streams


class RandomAgent(Stateful):
    """Pulls a uniformly random arm in every round and ignores the rewards.

    Cost per round: O(1).

    Guarantee: regret T times the mean gap.
    """

    _rng: TrialStreams = set_by_reset()
    _playing: tuple[BanditProblem, int] = set_by_reset()
    _changing = ("_rng",)

    def __repr__(self) -> str:
        return "RandomAgent()"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`."""
        self._playing = problem, trials
        self._rng = as_streams(rng, trials)

    def act(self) -> IntArray:
        """Choose a random arm for each trial, int64 (B,)."""
        problem, _ = self._playing
        return (self._rng.uniform() * problem.n_arms).astype(np.int64)

    @checks_round
    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Ignore the rewards."""
