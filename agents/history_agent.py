"""`HistoryAgent`: what agents share whose state is the history of their trials."""

from __future__ import annotations

from typing import ClassVar

from numpy.random import Generator

from cmab_gym.agents.api import checks_round, set_by_reset
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.problem import BanditProblem
from cmab_gym.state import Stateful
from cmab_gym.streams import TrialStreams, as_streams


class HistoryAgent(Stateful):
    """Keeps the history of its trials and a random stream for each.

    Attributes:
        history: the pulls and rewards of the trials so far.
    """

    history: History = set_by_reset()
    _playing: tuple[BanditProblem, int] = set_by_reset()
    _changing: ClassVar[tuple[str, ...]] = ("rng", "history")

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`; `rng` may also be a seed or a NumPy generator."""
        self.rng = as_streams(rng, trials)
        self.history = self._new_history(problem, trials)
        self._playing = problem, trials

    @checks_round
    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add the pulls and their rewards to the history.

        Raises:
            ValueError: an arm or a reward is not one of the problem's, or the shapes are not (B,).
        """
        self._learn(arms, rewards)

    def _new_history(self, problem: BanditProblem, trials: int) -> History:
        return History(problem, trials)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        self.history.update(arms, rewards)
