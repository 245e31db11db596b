"""Optimism over the classes of users that a survey found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.survey.learned import classes_of
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_horizon, check_scale, horizon_of, scale_of
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class ClassUCB:
    """Believe in the class of users that promises most, until its promises fail.

    Index: the largest mean of the arm in a class that the rewards do not contradict. Each round
    counts for the class whose promise was the largest, m_ck for the arm k that was pulled. After N
    of its rounds a class is dropped if it promised more than B / 2 sqrt(6 N ln T) + N `bias` in
    excess of the rewards. If all classes are dropped, all are allowed again.

    Args:
        B: length of the interval of rewards, in their unit; None takes the problem's. A larger B
            explores more.
        bias: how much the mean of an arm may differ from that of the class, in the reward's unit,
            0 or more.
        horizon: T, rounds of a trial; None takes that of the evaluation.

    Needs: `survey_classes` in the problem: `classes=8`, say, in `CMAB-Ratings-v0`.

    Cost per round: O(C K).

    Guarantee: if the new population is one of the classes, regret grows with the square root of
    C T ln T, whatever the number of arms. Otherwise it may be linear.

    Source: mUCB of J. Hong, B. Kveton, M. Zaheer, Y. Chow, A. Ahmed and C. Boutilier, "Latent
    bandits revisited" (NeurIPS 2020).
    """

    ranks_unpulled: ClassVar[bool] = True
    B: float | None = None
    bias: float = 0.0
    horizon: int | None = None

    def __post_init__(self) -> None:
        check_scale(self.B)
        checks.number_between("bias", self.bias, 0, checks.LARGEST, "it is a difference of means")
        check_horizon(self.horizon)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        consistent, means = self.consistent(history), classes_of(history.problem).means
        index: FloatArray = np.where(consistent[:, :, None], means, -np.inf).max(axis=1)
        return index

    def learn(self, history: History, rng: TrialStreams) -> None:
        """Count the last round for the class that promised most."""
        consistent = self.consistent(history)
        promised = classes_of(history.problem).means.T[history.last_arm]
        best = np.where(consistent, promised, -np.inf).argmax(axis=1)
        own = np.arange(best.size), best
        history.memory["rounds"][own] += 1
        history.memory["excess"][own] += promised[own] - history.last_reward - float(self.bias)

    def consistent(self, history: History) -> BoolArray:
        """Return the classes that the rewards do not contradict, bool (B, C)."""
        memory, problem = history.memory, history.problem
        log_t = np.log(horizon_of(self.horizon, problem))
        shape = len(history.pulls), classes_of(problem).weights.size
        rounds = memory.setdefault("rounds", np.zeros(shape))
        excess = memory.setdefault("excess", np.zeros(shape))
        allowed: BoolArray = excess <= scale_of(self.B, problem) / 2 * np.sqrt(6 * rounds * log_t)
        return allowed | ~allowed.any(axis=1, keepdims=True)
