"""Upper bounds on the pulls and the regret of C-UCB: the paper's Theorems 1 and 2 and Corollary 1.

The paper states them for rewards in [0, 1]. Here gaps are divided by B, the scale of the UCB index,
which is equivalent: rewards in an interval of length B, divided by B, lie in one of length 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import lambertw, zeta

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.models.base import BanditModel
from cmab_gym.problem import check_scale, scale_of
from cmab_gym.theory.analysis import Analysis, analyse
from cmab_gym.theory.conditions import NoBoundError, check_unique_best_arm, checked_rounds


@dataclass(frozen=True, eq=False)
class UpperBound:
    """Upper bounds on C-UCB's expected pulls of each arm and on its expected regret.

    Attributes:
        gaps: float64 (K,), in the reward's unit.
        competitive: bool (K,), according to the table that the agent uses.
        t0: float64 (K,), the t0 of Theorem 1 for a non-competitive arm, a whole number of rounds;
            NaN for the other arms.
        best_arm: k*.
        smallest_gap: Delta_min / B.
        scale: B.
    """

    gaps: FloatArray
    competitive: BoolArray
    t0: FloatArray
    best_arm: int
    smallest_gap: float
    scale: float

    @property
    def constant(self) -> float:
        """The factor of ln T in the bound on the regret; 0 if the regret is bounded (C = 1)."""
        others = self.competitive & (np.arange(self.gaps.size) != self.best_arm)
        return float((8 * self.scale**2 / self.gaps[others]).sum())

    def pulls(self, rounds: ArrayLike) -> FloatArray:
        """Bound the expected pulls of every arm.

        Args:
            rounds: T, one number or an array (...), each 1 or more.

        Returns:
            float64 (..., K): Theorem 2 for a competitive arm, Theorem 1 for a non-competitive one,
            and T for the best arm. A bound above T is vacuous; it is returned all the same.

        Raises:
            ValueError: a T is not a number from 1 to 1e100.
        """
        at = checked_rounds(rounds)
        bound = np.empty((*at.shape, self.gaps.size))
        for arm, gap in enumerate(self.gaps / self.scale):
            if arm == self.best_arm:
                bound[..., arm] = at
            elif self.competitive[arm]:
                bound[..., arm] = competitive_pulls(at, gap, self.smallest_gap, self.gaps.size)
            else:
                bound[..., arm] = non_competitive_pulls(at, self.t0[arm], self.gaps.size)
        return bound

    def regret(self, rounds: ArrayLike) -> FloatArray:
        """Bound the expected regret (Corollary 1).

        Args:
            rounds: T, one number or an array (...), each 1 or more.

        Returns:
            float64 (...), in the reward's unit.

        Raises:
            ValueError: a T is not a number from 1 to 1e100.
        """
        regret: FloatArray = self.pulls(rounds) @ self.gaps
        return regret


def c_ucb_bound(model: BanditModel, B: float | None = None) -> UpperBound:
    """Compute the paper's upper bounds for C-UCB on a model.

    The bounds hold only for C-UCB, under the conditions that are checked here. (Corollary 1 names
    C-TS too, but the paper proves it only for two arms with rewards 0 and 1.)

    Args:
        model: the bandit.
        B: scale of the UCB index, as in `cmab_gym.agents.UCB`; None takes the size of the rewards'
            interval.

    Raises:
        ValueError: B is not above 0.
        NoBoundError: two arms are best; B is less than the length of the interval of rewards or of
            an arm's pseudo-rewards, so that Hoeffding's inequality does not apply as in the proofs;
            or a pseudo-reward of the best arm is wrong, so that the arm may be ruled out for ever.

    Source: Section 4.2 of the paper; proofs in its appendices B to D.

    Examples:
        >>> from cmab_gym.envs.tabular import tabular_model
        >>> from cmab_gym.theory import c_ucb_bound
        >>> bound = c_ucb_bound(tabular_model("table1-a"))
        >>> bound.constant  # C = 1: the regret is bounded
        0.0
        >>> bound.t0
        array([    nan, 116672.])
    """
    check_scale(B)
    scale = scale_of(B, model.problem)
    analysis = analyse(model)
    _check_conditions(model, analysis, scale)
    smallest = analysis.smallest_gap / scale
    t0 = np.full(model.n_arms, np.nan)
    for arm in np.flatnonzero(~analysis.competitive):
        t0[arm] = first_round(min(smallest, analysis.pseudo_gaps[arm] / scale), model.n_arms)
    return UpperBound(
        analysis.gaps, analysis.competitive, t0, analysis.best_arm, smallest, scale
    )  # fmt: skip


def first_round(gap: float, n_arms: int) -> float:
    """Find t0: the smallest whole tau >= 2 with gap >= 4 sqrt(2 K ln(tau) / tau).

    Args:
        gap: the smaller of Delta_min and the arm's pseudo-gap, both divided by B, from
            1e-100 to 1.
        n_arms: K, 2 or more.

    Returns:
        t0, a whole number as a float; it may be larger than any realistic number of rounds.

    Raises:
        ValueError: the gap is not from 1e-100 to 1.

    Source: Theorem 1 of the paper.
    """
    gap = checks.number_between("gap", gap, 1e-100, 1, "divide it by B")  # its square is above 0
    level = gap**2 / (32 * n_arms)  # the largest ln(tau) / tau allowed
    # tau = -W(-level) / level on the branch of W on which ln(tau) / tau decreases. Below tau = e it
    # increases, but is at least ln(2) / 2 > 1/64, which no gap up to 1 reaches.
    near = np.ceil(-lambertw(-level, -1).real / level) + np.arange(-2, 3)
    enough = np.log(near) <= level * near
    return float(near[enough.argmax()])


def non_competitive_pulls(rounds: ArrayLike, t0: float, n_arms: int) -> FloatArray:
    """Bound the expected pulls of a non-competitive arm (Theorem 1).

    The bound is K t0 + K^3 sum over t from K t0 to T of 2 (t/K)^-2 + sum over t from 1 to T of
    3 t^-3.

    Args:
        rounds: T, one number or an array (...).
        t0: from `first_round`.
        n_arms: K.

    Returns:
        float64 (...).
    """
    at = checked_rounds(rounds)
    start = n_arms * t0
    # Sums of powers are differences of Hurwitz's zeta function, the sums from q on.
    later = np.maximum(zeta(2, start) - zeta(2, at + 1), 0)
    bound: FloatArray = start + 2.0 * n_arms**5 * later + 3 * (zeta(3, 1) - zeta(3, at + 1))
    return bound


def competitive_pulls(
    rounds: ArrayLike, gap: float, smallest_gap: float, n_arms: int
) -> FloatArray:
    """Bound the expected pulls of a competitive arm that is not the best (Theorem 2).

    The bound is 8 ln(T) / Delta_k^2 + 1 + pi^2 / 3 + sum over t from 1 to T of
    2 K t exp(-t Delta_min^2 / 2K).

    Args:
        rounds: T, one number or an array (...).
        gap: Delta_k / B, above 0.
        smallest_gap: Delta_min / B, above 0.
        n_arms: K.

    Returns:
        float64 (...).
    """
    at = checked_rounds(rounds)
    ucb1 = 8 * np.log(at) / gap**2 + 1 + np.pi**2 / 3
    bound: FloatArray = ucb1 + 2 * n_arms * _sum_of_t_exp(at, smallest_gap**2 / (2 * n_arms))
    return bound


def _sum_of_t_exp(rounds: FloatArray, rate: float) -> FloatArray:
    """Sum t exp(-rate t) over t from 1 to T, as x (1 - x^T - T x^T (1 - x)) / (1 - x)^2."""
    x, one_minus_x = np.exp(-rate), -np.expm1(-rate)
    kept = rounds * np.exp(-rate * rounds) * one_minus_x
    closed = x * (-np.expm1(-rate * rounds) - kept) / one_minus_x**2
    # The two terms cancel where the decay is tiny; there the sum is that of t.
    total: FloatArray = np.where(rate * rounds < 1e-7, rounds * (rounds + 1) / 2, closed)
    return total


def _check_conditions(model: BanditModel, analysis: Analysis, scale: float) -> None:
    problem, best = model.problem, analysis.best_arm
    check_unique_best_arm(model)
    widths = np.ptp(problem.pseudo_rewards, axis=2)
    np.fill_diagonal(widths, scale_of(None, problem))  # an arm's own entries are its rewards
    if widths.max() > scale + problem.tolerance:
        raise NoBoundError(
            f"rewards or pseudo-rewards of one arm are {widths.max():g} apart, more than B = "
            f"{scale:g}: the theorems need a B of at least {widths.max():g}"
        )
    given = int(analysis.phi[best].argmin())
    short = analysis.means[best] - analysis.phi[best, given]
    if short > problem.tolerance:
        raise NoBoundError(
            f"the pseudo-rewards of arm {best}, the best, given arm {given} average {short:.3g} "
            "less than its mean: the theorems need pseudo-rewards that are upper bounds"
        )
