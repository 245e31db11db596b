"""`CBandit`: the correlated version of any index policy."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.agents.correlated.least_bounds import LeastBounds
from cmab_gym.agents.index_agent import IndexAgent, IndexPolicy
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.competitive import most_pulled_arms, significant_arms
from cmab_gym.history import CorrelatedHistory
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams

FIRST_PULLS = ("competitive", "all")
REFERENCES = ("significant", "most-pulled")


class CBandit(IndexAgent):
    """Plays an index policy on the arms that the pseudo-rewards do not rule out.

    Idea: rewards of one arm bound the mean of every other. Arm l is empirically competitive if for
    every significant arm k (one with at least t/K of the t pulls) the pseudo-rewards of l given
    the rewards of k average at least the best mean of a significant arm.

    Index: the policy's, over the empirically competitive arms and the best significant arm. An arm
    without a pull has an infinite index, but is pulled only while it is competitive, so with many
    arms most are never tried.

    Needs: pseudo-rewards in the problem. Where all of them are the largest reward, it chooses
    exactly as `IndexAgent(policy)`: an arm about which the other arms say nothing is never ruled
    out.

    Cost per round: O(K) for the update and O(K S) for the choice among S significant arms, in
    addition to the policy's; memory O(K) per trial for each arm pulled.

    Guarantee: with UCB, non-competitive arms are pulled O(1) times in expectation (Theorem 1).

    Source: Section 3 and Algorithm 1 of the paper; the rule is `cmab_gym.competitive`. Since phi of
    an arm given itself is its mean, a significant arm with a lower mean than the best is ruled out,
    as the published curves require. If several significant arms share the best mean, all of them
    may be pulled.

    Args:
        policy: the rule.
        first_pulls: "competitive" pulls an arm for the first time only while it is empirically
            competitive, as Algorithm 1 says; "all" pulls every arm once first.
        lower_bounds: whether to use the problem's pseudo-lower bounds, if it has any. An arm is
            then also ruled out if its pseudo-rewards average less than the pseudo-lower bounds of
            some arm (remark in Section 3; the paper uses those of significant arms only, but a
            lower bound on the mean of any arm is one on the best mean).
        log_factor: c above 0: an arm is also significant after c ln t pulls. On tables of ratings
            more arms are then ruled out, but Theorem 1 no longer holds: where gaps are small,
            regret is linear in some trials (docs/significance.md). Infinity for the paper's rule.
        until: rounds in which pseudo-rewards rule arms out; later all arms are allowed. For a
            policy that starts from a survey's means, and tables of ratings: correlations help
            early, and later an arm that they wrongly rule out costs more and more
            (docs/when-correlations-pay.md). Infinity, or a whole number, 1 or more.
        reference: "significant" compares arms with every significant arm; "most-pulled" with the
            arm that has the most pulls alone, as the first version of C-UCB did (Gupta, Joshi and
            Yağan, arXiv:1808.05904). It rules out fewer arms. `log_factor` then has no effect.
    """

    history: CorrelatedHistory
    _changing = ("_least_bounds",)

    def __init__(
        self,
        policy: IndexPolicy,
        first_pulls: str = "competitive",
        lower_bounds: bool = False,
        log_factor: float = math.inf,
        until: float = math.inf,
        reference: str = "significant",
    ) -> None:
        super().__init__(policy)
        self.first_pulls = checks.choice("first_pulls", first_pulls, FIRST_PULLS)
        self.lower_bounds = lower_bounds
        if log_factor != math.inf:
            checks.positive("log_factor", log_factor, "it multiplies ln t; inf for t/K alone")
        self.log_factor = log_factor
        self.until = until if until == math.inf else checks.whole_number("until", until, 1)
        self.reference = checks.choice("reference", reference, REFERENCES)

    def __repr__(self) -> str:
        first = "" if self.first_pulls == "competitive" else ", first_pulls='all'"
        lower = ", lower_bounds=True" if self.lower_bounds else ""
        factor = "" if self.log_factor == math.inf else f", log_factor={self.log_factor:g}"
        until = "" if self.until == math.inf else f", until={self.until}"
        reference = "" if self.reference == "significant" else ", reference='most-pulled'"
        options = f"{first}{lower}{factor}{until}{reference}"
        return f"{type(self).__name__}({self.policy!r}{options})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `IndexAgent.reset`."""
        super().reset(problem, trials, rng)
        self._least_bounds = LeastBounds(self.history, self._tight_values())

    def allowed_arms(self) -> BoolArray:
        """Return the empirically competitive arms and the best significant arm, bool (B, K).

        After `until` rounds they are all arms.
        """
        history = self.history
        if history.t >= self.until:
            return np.ones(history.pulls.shape, dtype=np.bool_)
        required = history.required_bound
        allowed = history.allowed(self._least_bounds.over(history.significant, required), required)
        if self.first_pulls == "competitive":
            return allowed
        unpulled = history.pulls == 0
        return np.where(unpulled.any(axis=1, keepdims=True), unpulled, allowed)

    def _new_history(self, problem: BanditProblem, trials: int) -> CorrelatedHistory:
        if self.reference == "most-pulled":
            return CorrelatedHistory(problem, trials, self.lower_bounds, most_pulled_arms)
        find = partial(significant_arms, log_factor=self.log_factor)
        return CorrelatedHistory(problem, trials, self.lower_bounds, find)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        super()._learn(arms, rewards)
        if self.history.t < self.until:
            self._update_bounds(arms, rewards)

    def _update_bounds(self, arms: IntArray, rewards: FloatArray) -> None:
        """Update the bounds on the means after a round that the history has just received."""
        self._least_bounds.update(arms)

    def _tight_values(self) -> FloatArray | None:
        """Return bounds in addition to phi, as `LeastBounds` takes them."""
        return None
