"""The joint distributions of the arms' rewards that respect the pseudo-rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize_scalar

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.joint_rewards import JointRewards
from cmab_gym.models.base import BanditModel
from cmab_gym.theory.conditions import NoBoundError

IMPOSSIBLE = 1e-7  # probabilities up to this count as 0
SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_EQUAL = 1e-7  # means up to this apart count as equal, as a share of the rewards' interval


@dataclass(frozen=True, eq=False)
class JointDistributions:
    """The distributions q over N joint outcomes that respect the pseudo-rewards.

    Rewards are scaled to an interval of length 1. A *pair* is an arm other than the best, and a
    reward that it gives; there are T of them.

    Attributes:
        rewards: float64 (N, K), of every arm under every outcome.
        best: k*.
        best_mean: its mean.
        gaps: float64 (K,).
        limits: float64 (L, N); q respects the pseudo-rewards if limits @ q <= 0.
        best_marginal: float64 (.., N); best_marginal @ q are the probabilities of the best arm's
            rewards under q.
        best_probabilities: float64 (..,), their true values.
        marginal: float64 (T, N), the same for the pairs.
        probabilities: float64 (T,).
        arms: int64 (T,), the arm of each pair.
    """

    rewards: FloatArray
    best: int
    best_mean: float
    gaps: FloatArray
    limits: FloatArray
    best_marginal: FloatArray
    best_probabilities: FloatArray
    marginal: FloatArray
    probabilities: FloatArray
    arms: IntArray

    @classmethod
    def of(cls, model: BanditModel) -> JointDistributions:
        """Take the arms' distributions and the pseudo-rewards of a model.

        Raises:
            NoBoundError: there are too many joint outcomes, see `JointRewards`.
        """
        problem, best = model.problem, int(model.means.argmax())
        pmf = np.where(model.reward_pmf > IMPOSSIBLE, model.reward_pmf, 0.0)
        pmf /= pmf.sum(axis=1, keepdims=True)
        given = [np.arange(pmf.shape[1])] * problem.n_arms
        given[best] = np.flatnonzero(pmf[best])
        try:
            joint = JointRewards.of(problem, given)
        except ValueError as error:
            raise NoBoundError(str(error)) from None
        arms, positions = np.nonzero(pmf)
        marginal = (joint.index[:, arms] == positions).T.astype(np.float64)
        own = arms == best
        return cls(
            joint.rewards,
            best,
            float(pmf[best] @ joint.support),
            model.gaps / problem.reward_range,
            joint.limits,
            marginal[own],
            pmf[best][positions[own]],
            marginal[~own],
            pmf[arms, positions][~own],
            arms[~own],
        )

    @property
    def others(self) -> IntArray:
        """The arms that are not best, int64 (K - 1,)."""
        return np.flatnonzero(np.arange(self.gaps.size) != self.best)

    def advantage(self, arm: int) -> FloatArray:
        """Return an arm's reward under each outcome minus the best arm's mean, (N,)."""
        advantage: FloatArray = self.rewards[:, arm] - self.best_mean
        return advantage

    def check_consistent(self) -> None:
        """Refuse pseudo-rewards that no joint distribution of the arms' rewards respects.

        Raises:
            NoBoundError: there is no such distribution.
        """
        found = linprog(
            np.zeros(len(self.rewards)),
            self.limits,
            np.full(len(self.limits), _EQUAL),
            np.vstack([self.best_marginal, self.marginal]),
            np.concatenate([self.best_probabilities, self.probabilities]),
            options=SOLVER,
        )
        if not found.success:
            raise NoBoundError(
                "no joint distribution has these rewards and respects the pseudo-rewards: they "
                "are not all upper bounds"
            )

    def with_best(self, arm: int) -> FloatArray | None:
        """Find a distribution under which an arm is best and every pair is possible.

        Returns:
            The probabilities of the pairs, float64 (T,); None if there is no such distribution.
        """
        advantage = self.advantage(arm)
        found = linprog(
            -advantage,
            self.limits,
            np.zeros(len(self.limits)),
            self.best_marginal,
            self.best_probabilities,
            options=SOLVER,
        )
        if not found.success or -found.fun <= _EQUAL:
            return None
        # Mix in the true distribution, which makes every pair possible: half of the largest share
        # with which the arm is still best.
        share = -found.fun / (-found.fun + self.gaps[arm]) / 2
        mixed: FloatArray = (1 - share) * (self.marginal @ found.x) + share * self.probabilities
        return mixed

    def largest_divergence(self, mixture: FloatArray) -> float:
        """Compute max_k KL(P_k, Q_k) / gap_k of a mixture.

        Args:
            mixture: float64 (blocks, 1 + T), w and the probabilities of the pairs under q = w Q.
        """
        used = mixture[mixture[:, 0] > IMPOSSIBLE]
        share = used[:, 0] / used[:, 0].sum()
        with np.errstate(divide="ignore"):
            log_ratio = np.log(self.probabilities) - np.log(used[:, 1:] / used[:, :1])
        terms = share @ (self.probabilities * log_ratio)
        divergences = np.bincount(self.arms, terms, self.gaps.size)
        return float((divergences[self.others] / self.gaps[self.others]).max())

    def best_between(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Find the mixture between two with the least `largest_divergence`, which is convex."""

        def at(share: float) -> FloatArray:
            return one + share * (other - one)

        inside = minimize_scalar(
            lambda share: self.largest_divergence(at(share)), bounds=(0, 1), method="bounded"
        )
        candidates: list[FloatArray] = [one, other, at(inside.x)]
        return min(candidates, key=self.largest_divergence)
