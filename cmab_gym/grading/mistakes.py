"""Mistakes that students make in UCB and C-UCB, each with the agent that makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.arrays import FloatArray
from cmab_gym.grading.assignment import Mistake
from cmab_gym.history import History
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams

Formula = Callable[[History], FloatArray]


@dataclass(frozen=True)
class WrongIndex:
    """A policy with any formula for the index.

    Args:
        formula: computes it from the history, float64 (B, K).
    """

    formula: Formula

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index: see `IndexPolicy.index`."""
        return self.formula(history)


class WrongFirstPulls(WrongIndex):
    """The same for policies that do not pull each arm once first."""

    ranks_unpulled: ClassVar[bool] = True


def _with(bonus: Formula) -> WrongIndex:
    """Return UCB with another bonus, in units of B."""
    return WrongIndex(lambda history: history.means + history.problem.reward_range * bonus(history))


def _squared(h: History) -> FloatArray:
    """Return the square of the right bonus, 2 ln t / n."""
    squared: FloatArray = 2 * np.log(h.t) / h.pulls
    return squared


def _pulls_from_one(h: History) -> FloatArray:
    pulls = h.pulls + 1
    t = h.t + h.problem.n_arms
    index: FloatArray = h.sums / pulls + h.problem.reward_range * np.sqrt(2 * np.log(t) / pulls)
    return index


def _one_if_unpulled(h: History) -> FloatArray:
    bonus = np.sqrt(2 * np.log(max(h.t, 1)) / np.maximum(h.pulls, 1))
    index: FloatArray = h.means + h.problem.reward_range * bonus
    return index


_POLICIES = (
    (
        "the rounds and the pulls are swapped: the bonus is B sqrt(2 ln t / n_k), not "
        "B sqrt(2 ln n_k / t)",
        _with(lambda h: np.sqrt(2 * np.log(h.pulls) / h.t)),
    ),
    (
        "it is ln t of the wrong t: count the pulls so far, not the round that begins",
        _with(lambda h: np.sqrt(2 * np.log(h.t + 1) / h.pulls)),
    ),
    (
        "it is ln t of the wrong t: count all pulls so far, the last one included",
        _with(lambda h: np.sqrt(2 * np.log(max(h.t - 1, 1)) / h.pulls)),
    ),
    (
        "it is ln t of the wrong t: take the pulls of all arms, not those of the arm",
        _with(lambda h: np.sqrt(2 * np.log(h.pulls) / h.pulls)),
    ),
    (
        "it is ln t of the wrong t: take the pulls so far, not the horizon",
        _with(lambda h: np.sqrt(2 * np.log(h.problem.horizon or 1) / h.pulls)),
    ),
    ("the factor 2 in the bonus is missing", _with(lambda h: np.sqrt(_squared(h) / 2))),
    ("the square root in the bonus is missing", _with(_squared)),
    (
        "the square root is of ln t alone: it is of 2 ln t / n_k",
        _with(lambda h: np.sqrt(2 * np.log(h.t)) / h.pulls),
    ),
    (
        "B, the length of the interval of rewards, is missing in the bonus",
        WrongIndex(lambda h: h.means + np.sqrt(_squared(h))),
    ),
    (
        "B is inside the square root: it multiplies it",
        WrongIndex(lambda h: h.means + np.sqrt(h.problem.reward_range * _squared(h))),
    ),
    (
        "B is the largest reward: it is the largest minus the smallest",
        WrongIndex(lambda h: h.means + h.problem.reward_bounds[1] * np.sqrt(_squared(h))),
    ),
    (
        "the logarithm is to the base 10: it is the natural one",
        _with(lambda h: np.sqrt(_squared(h) / np.log(10))),
    ),
    (
        "the logarithm is to the base 2: it is the natural one",
        _with(lambda h: np.sqrt(_squared(h) / np.log(2))),
    ),
    ("the bonus is missing: it always pulls the best mean", WrongIndex(lambda h: h.means)),
    ("the bonus is subtracted: it is added", _with(lambda h: -np.sqrt(_squared(h)))),
    (
        "the mean is the sum of the arm's rewards divided by all pulls: divide by the arm's",
        WrongIndex(
            lambda h: h.sums / h.t + h.problem.reward_range * np.sqrt(_squared(h)),
        ),
    ),
    (
        "the smallest index is pulled: pull the largest",
        WrongIndex(lambda h: -h.means - h.problem.reward_range * np.sqrt(_squared(h))),
    ),
    (
        "arms without a pull: their index is infinite; do not count a pull that was not made",
        WrongFirstPulls(_pulls_from_one),
    ),
    (
        "arms without a pull: their index is infinite, so that each is pulled before any other",
        WrongFirstPulls(_one_if_unpulled),
    ),
)


class _Transposed(CBandit):
    """Reads the pseudo-reward of arm k given arm l where that of arm l given arm k belongs."""

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `IndexAgent.reset`."""
        swapped = BanditProblem(
            problem.pseudo_rewards.swapaxes(0, 1),
            problem.reward_support,
            problem.reward_bounds,
            problem.reward_edges,
            horizon=problem.horizon,
        )
        super().reset(swapped, trials, rng)


UCB_MISTAKES = tuple(Mistake(sentence, IndexAgent(policy)) for sentence, policy in _POLICIES)
C_UCB_MISTAKES = (
    Mistake("it is UCB: the pseudo-rewards rule no arm out", IndexAgent(UCB())),
    Mistake(
        "each arm is pulled once first: an arm without a pull, too, is pulled only if competitive",
        CBandit(UCB(), first_pulls="all"),
    ),
    Mistake(
        "only the arm with the most pulls rules others out: all significant arms do, those with "
        "n_k >= t / K",
        CBandit(UCB(), reference="most-pulled"),
    ),
    Mistake(
        "arms with few pulls rule others out: only significant arms do, those with n_k >= t / K",
        CBandit(UCB(), log_factor=1e-9),
    ),
    Mistake(
        "the arms of the pseudo-rewards are swapped: pseudo_rewards[l, k] is of arm l given arm k",
        _Transposed(UCB()),
    ),
    *(Mistake(sentence, CBandit(policy)) for sentence, policy in _POLICIES),
)
