"""Trained agents that no longer learn: `make_agent("model.zip")`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.api import checks_round, set_by_reset
from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.rl.model_file import read_description, read_network
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams, as_streams


class TrainedAgent:
    """Plays the policy that `cmab-gym train` learned, from the history of each trial alone.

    It plays any number of arms, not only the number of its training.

    Args:
        path: the file that `cmab-gym train` wrote.
        greedy: True pulls the arm with the largest score; False draws an arm with the softmax of
            the scores as probabilities, as in training.

    Attributes:
        description: what the file says about the training.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: `cmab-gym train` did not write the file, or the extra `rl` is not installed.

    Cost per round: O(K) for each trial, through a small network.

    Source: Duan et al. (2016) and Wang et al. (2016) for learning to play bandits.
    """

    _history: History = set_by_reset()
    _playing: tuple[BanditProblem, int] = set_by_reset()

    def __init__(self, path: str | Path, greedy: bool = False) -> None:
        self.path, self.greedy = Path(path), greedy
        self.description = read_description(self.path)
        self._network = read_network(self.path)

    def __repr__(self) -> str:
        return f"TrainedAgent({str(self.path)!r}, greedy={self.greedy})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`."""
        self._history = History(problem, trials)
        self._playing = problem, trials
        self._rng = as_streams(rng, trials)

    def act(self) -> IntArray:
        """Choose an arm for each trial, int64 (B,)."""
        from cmab_gym.agents.rl.arm_networks import scores_of

        features = self._history.features(self.description["horizon"])
        scores = scores_of(self._network, features)
        if self.greedy:
            # Rounding makes arms with the same history tie, whatever the batch size.
            return argmax_with_random_ties(np.round(scores, 9), self._rng.uniform())
        return _drawn(scores, self._rng.uniform())

    @checks_round
    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add the rewards to the history."""
        self._history.update(arms, rewards)


def _drawn(scores: FloatArray, uniform: FloatArray) -> IntArray:
    """Draw arms (B,) from the softmax of the scores (B, K), with uniform numbers (B,)."""
    cumulative = np.exp(scores - scores.max(axis=1, keepdims=True)).cumsum(axis=1)
    arms: IntArray = (cumulative[:, :-1] <= uniform[:, None] * cumulative[:, -1:]).sum(axis=1)
    return arms
