"""The lower bound for all that pseudo-rewards can tell (Graves and Lai), for finite rewards.

Q ranges over the joint distributions that respect every pseudo-reward, leave the best arm's rewards
as they are, and make another arm l the best. The constant c is the least sum of eta_k gap_k such
that sum_k eta_k KL(P_k, Q_k) >= 1 for all Q. With eta scaled to cost 1 this is

    1 / c = max over eta of min over Q of sum_k eta_k KL(P_k, Q_k)
          = min over Q of max over k of KL(P_k, Q_k) / gap_k

where Q in the last line may be a mixture over l, with weights w_l, of one Q_l for each l, and KL
the same mixture of theirs. In the variables q_l = w_l Q_l this is a convex programme with linear
constraints. Linear programmes solve it, in which tangents stand for the logarithms: their values
are below the optimum, the divergences of their solutions above it, and tangents are added until
both agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog, minimize_scalar
from scipy.sparse import csr_array

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.models.base import BanditModel
from cmab_gym.theory.analysis import NoBoundError, check_unique_best_arm
from cmab_gym.theory.lower_bounds import LowerBound, check_finite_support

LARGEST_JOINT = 256  # joint outcomes of all arms: up to some 10 seconds
_TOLERANCE = 1e-5  # relative, between the two ends of the bracket, to stop at
_WIDEST = 0.01  # the same, to be of use; tiny chances may keep it above the tolerance
_STEPS = 50
_EQUAL = 1e-7  # of the size of the rewards' interval: means up to this apart count as equal
_IMPOSSIBLE = 1e-7  # chances up to this count as 0
_RATIOS = 2.0 ** np.arange(-6, 7)  # Q / P where the first tangents touch
_SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def graves_lai_bound(model: BanditModel) -> LowerBound:
    """Bound the regret of every agent, with all that the pseudo-rewards tell.

    The class is that of all joint distributions over `reward_support`, the same for every arm,
    that respect the pseudo-rewards: what a player knows. Of the model only the arms' own
    distributions matter. Numerically, another arm can be best if its mean can exceed the best arm's
    by 1e-7 of the size of the rewards' interval, and chances up to 1e-7 count as 0.

    Args:
        model: the bandit, with at most 256 joint outcomes: the number of rewards that the best
            arm gives times R^(K - 1). To leave out constraints for larger ones would enlarge the
            set of Q, and so the constant: the result would be no lower bound.

    Returns:
        The bound; its constant is the lower end of the bracket, its error the bracket's width.

    Raises:
        NoBoundError: the rewards are continuous, two arms are best, there are too many joint
            outcomes, the pseudo-rewards contradict the rewards, or the bracket stays wide.

    Source: Appendix F of the paper ("a stronger lower bound"); Graves and Lai (1997).
    """
    check_finite_support(model)
    check_unique_best_arm(model)
    joint = _Joint.of(model)
    joint.check_consistent()
    points = {arm: point for arm in joint.others if (point := joint.with_best(arm)) is not None}
    if not points:
        return LowerBound(0.0, np.zeros(model.n_arms))
    size = model.problem.reward_range
    programme = _Programme(joint, list(points))
    best = np.array([[1.0, *point] for point in points.values()]) / len(points)
    for _ in range(_STEPS):
        programme.touch(best)
        below, eta, found = programme.solve()
        best = joint.best_between(best, found)
        above = joint.largest_divergence(best)
        if abs(above - below) <= _TOLERANCE * below:
            break
        programme.touch(found)
    if not abs(above - below) <= _WIDEST * below:
        raise NoBoundError(
            f"the constant could not be told within {_WIDEST:.0%}: gaps or chances are too small "
            "for the accuracy of linear programmes"
        )
    pulls = np.zeros(model.n_arms)
    pulls[joint.others] = eta / below
    return LowerBound(size / above, pulls, size * max(1 / below - 1 / above, 0.0))


@dataclass(frozen=True, eq=False)
class _Joint:
    """The distributions q over N joint outcomes that respect the pseudo-rewards.

    Rewards are scaled to an interval of size 1. A *pair* is an arm other than the best, and a
    reward that it gives; there are T of them.

    Attributes:
        rewards: float64 (N, K), of every arm under every outcome.
        best: k*.
        best_mean: its mean.
        gaps: float64 (K,).
        limits: float64 (L, N); pseudo-rewards are respected where limits @ q <= 0.
        best_marginal: float64 (.., N); best_marginal @ q are the chances of the best arm's rewards.
        best_chances: what they are in truth.
        marginal: float64 (T, N), the same for the pairs.
        chances: float64 (T,).
        arms: int64 (T,), the arm of each pair.
    """

    rewards: FloatArray
    best: int
    best_mean: float
    gaps: FloatArray
    limits: FloatArray
    best_marginal: FloatArray
    best_chances: FloatArray
    marginal: FloatArray
    chances: FloatArray
    arms: IntArray

    @classmethod
    def of(cls, model: BanditModel) -> _Joint:
        problem, best = model.problem, int(model.means.argmax())
        low, size = problem.reward_bounds[0], problem.reward_range
        support = (problem.reward_support - low) / size
        table = (problem.pseudo_rewards - low) / size
        pmf = np.where(model.reward_pmf > _IMPOSSIBLE, model.reward_pmf, 0.0)
        pmf /= pmf.sum(axis=1, keepdims=True)
        index = _outcomes(pmf, best)
        rewards = support[index]
        limits = [
            (index[:, k] == j) * (rewards[:, l] - table[l, k, j])
            for l, k, j in np.argwhere(table < support[-1])  # noqa: E741 (the paper's letter)
            if l != k
        ]
        arms, places = np.nonzero(pmf)
        marginal = (index[:, arms] == places).T.astype(np.float64)
        own = arms == best
        return cls(
            rewards,
            best,
            float(pmf[best] @ support),
            model.gaps / size,
            np.reshape(limits, (-1, len(index))),
            marginal[own],
            pmf[best][places[own]],
            marginal[~own],
            pmf[arms, places][~own],
            arms[~own],
        )

    @property
    def others(self) -> IntArray:
        """The arms that are not best, int64 (K - 1,)."""
        return np.flatnonzero(np.arange(self.gaps.size) != self.best)

    def advantage(self, arm: int) -> FloatArray:
        """How much more than the best arm's mean an arm gives under each outcome, (N,)."""
        advantage: FloatArray = self.rewards[:, arm] - self.best_mean
        return advantage

    def check_consistent(self) -> None:
        """Refuse pseudo-rewards that no joint distribution of the arms' rewards respects."""
        found = linprog(
            np.zeros(len(self.rewards)),
            self.limits,
            np.full(len(self.limits), _EQUAL),
            np.vstack([self.best_marginal, self.marginal]),
            np.concatenate([self.best_chances, self.chances]),
            options=_SOLVER,
        )
        if not found.success:
            raise NoBoundError(
                "no joint distribution has these rewards and respects the pseudo-rewards: they "
                "are not all upper bounds"
            )

    def with_best(self, arm: int) -> FloatArray | None:
        """Find a distribution under which an arm is best and no reward of a pair is excluded.

        Returns:
            The chances of the pairs, float64 (T,); None if there is no such distribution.
        """
        advantage = self.advantage(arm)
        found = linprog(
            -advantage,
            self.limits,
            np.zeros(len(self.limits)),
            self.best_marginal,
            self.best_chances,
            options=_SOLVER,
        )
        if not found.success or -found.fun <= _EQUAL:
            return None
        # Half of what may be mixed in of the true distribution, which excludes none of them.
        share = -found.fun / (-found.fun + self.gaps[arm]) / 2
        chances: FloatArray = (1 - share) * (self.marginal @ found.x) + share * self.chances
        return chances

    def largest_divergence(self, mixture: FloatArray) -> float:
        """Compute max_k KL(P_k, Q_k) / gap_k of a mixture.

        Args:
            mixture: float64 (blocks, 1 + T), w and the chances of the pairs under q = w Q.
        """
        used = mixture[mixture[:, 0] > _IMPOSSIBLE]
        share = used[:, 0] / used[:, 0].sum()
        with np.errstate(divide="ignore"):
            surprise = np.log(self.chances) - np.log(used[:, 1:] / used[:, :1])
        divergences = np.bincount(self.arms, share @ (self.chances * surprise), self.gaps.size)
        return float((divergences[self.others] / self.gaps[self.others]).max())

    def best_between(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Find the mixture of the least `largest_divergence`, a convex function, between two."""

        def at(share: float) -> FloatArray:
            return one + share * (other - one)

        inside = minimize_scalar(
            lambda share: self.largest_divergence(at(share)), bounds=(0, 1), method="bounded"
        )
        candidates: list[FloatArray] = [one, other, at(inside.x)]
        return min(candidates, key=self.largest_divergence)


def _outcomes(pmf: FloatArray, best: int) -> IntArray:
    """List the joint outcomes, int64 (N, K): every arm's reward as its place in the support."""
    n_arms, size = pmf.shape
    places = [np.arange(size)] * n_arms
    places[best] = np.flatnonzero(pmf[best])
    number = places[best].size * float(size) ** (n_arms - 1)
    if number > LARGEST_JOINT:
        raise NoBoundError(
            f"{n_arms} arms of {size} rewards have {number:.4g} joint outcomes: this bound is "
            f"computed for at most {LARGEST_JOINT:,}"
        )
    axes = np.meshgrid(*places, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, n_arms)


class _Programme:
    """The linear programme: a block (q, w, m, u) for each arm that can be best, and t.

    q and w are as above, m the chances of the pairs under q, and u bounds each pair's term
    w h(m / (P w)) from above, where h(a) = a - 1 - ln a. The divergence of an arm is the sum of
    P u over its pairs, plus the chance w - sum m of rewards that it never gives. t, which is to be
    small, is at least every arm's divergence divided by its gap.
    """

    def __init__(self, joint: _Joint, rivals: list[int]) -> None:
        self._joint, blocks = joint, len(rivals)
        n, pairs = len(joint.rewards), joint.chances.size
        start = np.arange(blocks) * (n + 1 + 2 * pairs)
        self._q = start[:, None] + np.arange(n)
        self._w = start + n
        self._m = self._w[:, None] + 1 + np.arange(pairs)
        self._u = self._m + pairs
        self._t = blocks * (n + 1 + 2 * pairs)
        self._equal, self._at_most = _Rows(), _Rows()
        self._add_divergences()
        for block, rival in enumerate(rivals):
            self._add_joint(block, rival)
        self._equal.add((self._w, 1.0))  # the last row
        self._lowest = np.full((blocks, pairs), _RATIOS[0])
        for ratio in _RATIOS:
            self._add_tangents(np.full((blocks, pairs), ratio))

    def solve(self) -> tuple[float, FloatArray, FloatArray]:
        """Solve the programme as it is.

        Returns:
            t, the multipliers eta of the arms that are not best, with cost 1, and the solution, w
            and m (blocks, 1 + T).
        """
        size = self._t + 1
        cost, total = np.zeros(size), np.zeros(len(self._equal))
        cost[self._t] = total[-1] = 1.0
        found = linprog(
            cost,
            self._at_most.matrix(size),
            np.zeros(len(self._at_most)),
            self._equal.matrix(size),
            total,
            options=_SOLVER,
        )
        if not found.success:
            raise NoBoundError(f"a linear programme could not be solved: {found.message}")
        gaps = self._joint.gaps[self._joint.others]
        eta = -found.ineqlin.marginals[: gaps.size] / gaps
        mixture = np.column_stack([found.x[self._w], found.x[self._m]])
        return found.fun, eta, mixture.clip(0)

    def touch(self, mixture: FloatArray) -> None:
        """Add the tangents that touch the terms of a mixture, w and m (blocks, 1 + T)."""
        ratios = mixture[:, 1:] / (self._joint.chances * mixture[:, :1].clip(_IMPOSSIBLE))
        # At 0 the terms have no tangent: come nearer step by step, but not below what counts as 0.
        ratios = np.maximum(ratios, self._lowest / 8)
        self._lowest = np.minimum(self._lowest, ratios)
        self._add_tangents(ratios)

    def _add_divergences(self) -> None:
        joint = self._joint
        for arm in joint.others:  # the first rows: `solve` reads their multipliers
            own = np.flatnonzero(joint.arms == arm)
            self._at_most.add(
                (self._w, 1 / joint.gaps[arm]),
                (self._m[:, own], -1 / joint.gaps[arm]),
                (self._u[:, own], joint.chances[own] / joint.gaps[arm]),
                (self._t, -1.0),
            )

    def _add_joint(self, block: int, rival: int) -> None:
        joint, q, w = self._joint, self._q[block], self._w[block]
        for pair, row in zip(self._m[block], joint.marginal, strict=True):
            self._equal.add((q, row), (pair, -1.0))
        for chance, row in zip(joint.best_chances, joint.best_marginal, strict=True):
            self._equal.add((q, row), (w, -chance))
        for row in (*joint.limits, -joint.advantage(rival)):
            self._at_most.add((q, row))

    def _add_tangents(self, ratios: FloatArray) -> None:
        """Add u >= w h(a) + h'(a) (m / P - a w) with a ratio a for each block and pair."""
        for (block, pair), a in np.ndenumerate(
            ratios.clip(0.1 * _IMPOSSIBLE / self._joint.chances)
        ):
            self._at_most.add(
                (self._w[block], -np.log(a)),
                (self._m[block, pair], (1 - 1 / a) / self._joint.chances[pair]),
                (self._u[block, pair], -1.0),
            )


class _Rows:
    """The rows of a sparse matrix, one after the other."""

    def __init__(self) -> None:
        self._rows: list[tuple[IntArray, FloatArray]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, *terms: tuple[ArrayLike, ArrayLike]) -> None:
        """Add a row of (columns, values); one value may serve many columns."""
        columns = [np.ravel(places) for places, _ in terms]
        values = [np.ravel(np.broadcast_to(value, np.shape(place))) for place, value in terms]
        row = np.concatenate(values)
        self._rows.append((np.concatenate(columns)[row != 0], row[row != 0]))

    def matrix(self, width: int) -> Any:
        """Return the rows as a sparse matrix (rows, width)."""
        columns, values = zip(*self._rows, strict=True)
        ends = np.cumsum([0, *map(len, columns)])
        entries = (np.concatenate(values), np.concatenate(columns), ends)
        return csr_array(entries, shape=(len(self), width))
