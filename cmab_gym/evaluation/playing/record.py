"""`Record`: what is recorded while a batch of trials runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.evaluation.results.arm_pulls import ArmPulls
from cmab_gym.history import History
from cmab_gym.models.base import BanditModel
from cmab_gym.state import Stateful

_ROUNDS = 64  # whose pulls are counted together, which takes a fifth of the time


class Record(Stateful):
    """The scores of B trials at C checkpoints, and the pulls of each arm.

    `add` records a round; the compiled loop fills the arrays itself.

    Args:
        model: the bandit.
        trials: B.
        checkpoints: the rounds at which scores are recorded, increasing; the last is the horizon.
        pulls: whether to record the pulls of each arm.

    Attributes:
        checkpoints: as given.
        regret: float64 (B, C), the sum of gaps so far at each checkpoint.
        best_arm_pulls: int64 (B, C), pulls of a best arm so far.
        reward: float64 (B, C), the sum of the rewards so far.
        competitive: int64 (B, C), among how many arms the agent chose; (B, 0) if it rules none out.
        pulls, last: int64 (B, K), pulls of each arm, and the round of the last one, 0 without a
            pull; (0, 0) if they are not recorded.
    """

    _changing = (
        *("regret", "best_arm_pulls", "reward", "competitive", "pulls", "last"),
        *("_next", "_best_pulls", "_rewards", "_arms", "_waiting"),
    )

    def __init__(
        self, model: BanditModel, trials: int, checkpoints: Sequence[int], pulls: bool = True
    ) -> None:
        shape = (trials, len(checkpoints))
        self.regret: FloatArray = np.zeros(shape)
        self.best_arm_pulls: IntArray = np.zeros(shape, dtype=np.int64)
        self.reward: FloatArray = np.zeros(shape)
        self.competitive: IntArray = np.zeros((trials, 0), dtype=np.int64)
        arms = (trials, model.n_arms) if pulls else (0, 0)
        self.pulls: IntArray = np.zeros(arms, dtype=np.int64)
        self.last: IntArray = np.zeros(arms, dtype=np.int64)
        self.checkpoints, self._next = tuple(checkpoints), 0
        self._best = model.best_arms.astype(np.int64)
        self._best_pulls: IntArray = np.zeros(trials, dtype=np.int64)
        self._rewards: FloatArray = np.zeros(trials)
        self._first = np.arange(trials) * model.n_arms  # positions in flat arrays
        self._arms: IntArray = np.zeros((_ROUNDS, trials), dtype=np.int64)
        self._waiting = 0  # rounds in `_arms` that are not counted yet
        self._latest: FloatArray = np.zeros(trials)

    def add(
        self, t: int, arms: IntArray, rewards: FloatArray, regret: FloatArray, agent: object
    ) -> None:
        """Record a round, before the agent learns from it.

        Args:
            t: the round, from 1.
            arms: int64 (B,), the arms pulled.
            rewards: float64 (B,), their rewards.
            regret: float64 (B,), the sum of gaps so far.
            agent: what chose the arms.
        """
        self._rewards += rewards
        self._latest = regret
        self._arms[self._waiting] = arms
        self._waiting += 1
        at_checkpoint = t == self.checkpoints[self._next]
        if at_checkpoint or self._waiting == _ROUNDS:
            self._count_pulls(t)
        if at_checkpoint:
            at = self._next
            self.regret[:, at], self.best_arm_pulls[:, at] = regret, self._best_pulls
            self.reward[:, at] = self._rewards
            self._count_candidates(at, agent)
            self._next += 1

    def _count_pulls(self, t: int) -> None:
        """Count the pulls of the rounds that wait, the last of which is t."""
        arms, n_rounds = self._arms[: self._waiting], self._waiting
        self._best_pulls += self._best[arms].sum(axis=0)
        if self.pulls.size:
            position = (self._first + arms).reshape(-1)
            np.add.at(self.pulls.reshape(-1), position, 1)
            rounds = np.repeat(np.arange(t - n_rounds + 1, t + 1), arms.shape[1])
            self.last.reshape(-1)[position] = rounds  # the last of several values stays
        self._waiting = 0

    def _count_candidates(self, at: int, agent: object) -> None:
        history = getattr(agent, "history", None)
        candidates = history.candidates if isinstance(history, History) else None
        if candidates is not None:
            self.count_competitive()
            self.competitive[:, at] = candidates.sum(axis=1)

    def mean_regret(self) -> float:
        """Return the mean regret of the trials so far."""
        # The compiled loop sums regret in the last column. Regret never falls.
        return float(np.maximum(self.regret.max(axis=1), self._latest).mean())

    def count_competitive(self) -> None:
        """Make room for the sizes of the competitive set."""
        if not self.competitive.size:
            self.competitive = np.zeros(self.regret.shape, dtype=np.int64)

    def arm_pulls(self) -> ArmPulls | None:
        """Return the pulls of each arm; None if they are not recorded."""
        return ArmPulls.of(self.pulls, self.last) if self.pulls.size else None
