"""`IndexAgent`: pulls the arm with the largest index of a policy."""

from __future__ import annotations

import sys
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.api import checks_round
from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.history_agent import HistoryAgent
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.history import CorrelatedHistory, History
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams


@runtime_checkable
class IndexPolicy(Protocol):
    """A rule that computes an index of every arm; the arm with the largest index is pulled.

    A class with the attribute `ranks_unpulled = True` computes it for arms without a pull too, and
    before the first round. The index of other policies is ignored there. Where the statistics of
    the history are not enough, a policy may have a method `learn(history, rng)`, which is called
    after every round; it keeps its arrays in `history.memory`, so that it may be shared by agents.
    The history of a class with the attribute `reads_pseudo_rewards = True` is a
    `CorrelatedHistory`. An evaluation also reads the attributes `told` ("means", "source" or
    "outcomes") and `needs_rewards_at_once`: see docs/your-agent.md.
    """

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index of every arm in every trial.

        Args:
            history: `pulls` (B, K); `means` (B, K); `t`, the pulls made so far in each trial, 1 or
                more unless the policy `ranks_unpulled`; `variances`, `counts`, `last_arm`,
                `last_reward`; and `problem`. Read-only.
            rng: one random stream for each trial.

        Returns:
            float64 (B, K), without NaN; ignored for arms without a pull unless the policy
            `ranks_unpulled`, so that a division by their 0 pulls does no harm.
        """


class IndexAgent(HistoryAgent):
    """Pulls the arm with the largest index; an arm without a pull has an infinite one.

    So every arm is pulled once first, in random order, unless the policy `ranks_unpulled`.

    Args:
        policy: the rule.

    Raises:
        ValueError: `policy` is not an instance of a class with `index()`.

    Attributes:
        history: the pulls and rewards of the trials so far.
    """

    _changing: ClassVar[tuple[str, ...]] = ("_acted",)

    def __init__(self, policy: IndexPolicy) -> None:
        if isinstance(policy, type | str) or not callable(getattr(policy, "index", None)):
            raise ValueError(
                f"{type(self).__name__}({policy!r}): expected an index policy, such as UCB(): an "
                "instance of a class with index()"
            )
        self.policy = policy

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy!r})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`; `rng` may also be a seed or a NumPy generator."""
        super().reset(problem, trials, rng)
        self._acted = False  # since the last update

    def act(self) -> IntArray:
        """Choose the arm with the largest index, ties broken at random, int64 (B,)."""
        index, allowed = self.indices(), self.allowed_arms()
        self._acted = True
        self.history.candidates = allowed
        if allowed is not None:
            # Above the -infinity of the others, even if the policy returns that.
            index = np.where(allowed, np.maximum(index, -sys.float_info.max), -np.inf)
        return argmax_with_random_ties(index, self.rng.uniform())

    @checks_round
    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add the pulls and their rewards to the history.

        Raises:
            ValueError: an arm or a reward is not one of the problem's, or the shapes are not (B,).
        """
        if not self._acted and self.history.t <= 1:
            # The first pulls were not chosen by act(), but logged, say. Reading the statistics once
            # makes the history keep them, since the policy has not read them yet.
            self.history.variances, self.history.counts  # noqa: B018
        self._acted = False
        self._learn(arms, rewards)
        learn = getattr(self.policy, "learn", None)
        if learn is not None:
            learn(self.history, self.rng)
        self.history.candidates = None

    def allowed_arms(self) -> BoolArray | None:
        """Return the arms that may be pulled, bool (B, K); None allows all."""
        return None

    def _new_history(self, problem: BanditProblem, trials: int) -> History:
        reads_pseudo_rewards = getattr(self.policy, "reads_pseudo_rewards", False)
        return (CorrelatedHistory if reads_pseudo_rewards else History)(problem, trials)

    def indices(self) -> FloatArray:
        """Return the index of every arm, float64 (B, K).

        It is infinite for arms without a pull that the policy does not rank.
        """
        pulls = self.history.pulls
        ranks_unpulled = getattr(self.policy, "ranks_unpulled", False)
        if not self.history.t and not ranks_unpulled:
            return np.full(pulls.shape, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            index = np.asarray(self.policy.index(self.history, self.rng), dtype=np.float64)
        if index.shape != pulls.shape:
            raise ValueError(
                f"{type(self.policy).__name__}.index() returned the shape {index.shape}: expected "
                f"{pulls.shape}, one number for each trial and arm"
            )
        return index if ranks_unpulled else np.where(pulls > 0, index, np.inf)
