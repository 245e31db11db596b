"""Lower bounds on the regret: without structure (Lai and Robbins), and for latent sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.models.base import BanditModel
from cmab_gym.models.independent import IndependentModel
from cmab_gym.models.reward_laws import NormalLaw
from cmab_gym.theory.analysis import Analysis
from cmab_gym.theory.conditions import check_finite_support, checked_rounds


@dataclass(frozen=True, eq=False)
class LowerBound:
    """A lower bound on the regret of agents that do well on every bandit of a class.

    If an agent's regret grows more slowly than every power of T on every bandit of the class, then
    regret / ln T is at least `constant` in the limit of large T. At a small T it may be less.

    Attributes:
        constant: the factor of ln T, in the reward's unit; 0 if bounded regret is not excluded.
        pulls: float64 (K,), pulls of each arm per ln T that attain the bound; 0 for a best arm.
        error: the true constant is at most constant + error.
    """

    constant: float
    pulls: FloatArray
    error: float = 0.0

    def regret(self, rounds: ArrayLike) -> FloatArray:
        """Return constant * ln T.

        Args:
            rounds: T, of any shape, each 1 or more.

        Returns:
            float64, of the same shape.

        Raises:
            ValueError: a T is not a number from 1 to 1e100.
        """
        regret: FloatArray = self.constant * np.log(checked_rounds(rounds))
        return regret


def lai_robbins_bound(model: BanditModel) -> LowerBound:
    """Bound the regret of agents that know the possible rewards, but no pseudo-rewards.

    The constant is the sum of gap_k / K_inf(P_k, mu*) over the arms that are not best. The class is
    that of all distributions of each arm over the problem's `reward_support`, which may be larger
    than the set of rewards that the arm gives: a player does not know that set. An agent that uses
    pseudo-rewards may have less regret. An asymptotically optimal policy, such as `kl-ucb` for
    rewards 0 and 1, pulls each arm as often as `pulls` says.

    For independent normal rewards with a known standard deviation, the class is that of all means,
    and K_inf is gap_k^2 / (2 sigma^2).

    Raises:
        NoBoundError: the rewards are continuous, and not independent and normal.

    Source: Lai and Robbins (1985), Theorem 2; Burnetas and Katehakis (1996) for finite supports.

    Examples:
        >>> from cmab_gym.envs.tabular import tabular_model
        >>> from cmab_gym.theory import lai_robbins_bound
        >>> bound = lai_robbins_bound(tabular_model("table1-a"))  # 1 / ln 1.5
        >>> round(bound.constant, 3)
        2.466
        >>> bound.regret([10, 1000]).round(2)
        array([ 5.68, 17.04])
    """
    pulls, worse = np.zeros(model.n_arms), ~model.best_arms
    if isinstance(model, IndependentModel) and isinstance(model.law, NormalLaw):
        pulls[worse] = 2 * model.law.sigma**2 / model.gaps[worse] ** 2
        return LowerBound(float(pulls @ model.gaps), pulls)
    check_finite_support(model)
    support, largest = model.problem.reward_support, float(model.means.max())
    for arm in np.flatnonzero(worse):
        pulls[arm] = 1 / k_inf(model.reward_pmf[arm], support, largest)
    return LowerBound(float(pulls @ model.gaps), pulls)


def k_inf(pmf: FloatArray, support: FloatArray, mean: float) -> float:
    """Compute K_inf(P, mean), the least KL(P, Q) over Q on the support with a larger mean.

    Args:
        pmf: float64 (R,), P, with a mean below `mean`.
        support: float64 (R,), the possible rewards.
        mean: lower limit of the mean of Q.

    Returns:
        K_inf, above 0; infinite if no reward is larger than `mean`.

    Source: Honda and Takemura (2010), Theorem 8: the largest E_P[ln(1 - lambda (R - mean))] over
        lambda from 0 to 1 / (largest reward - mean).
    """
    room = float(support.max()) - mean
    if room <= 1e-9 * np.ptp(support):
        return np.inf
    above, probabilities = (support - mean)[pmf > 0], pmf[pmf > 0]

    def slope(weight: float) -> float:
        return -float(probabilities @ (above / (1 - weight * above)))

    last = (1 - 1e-13) / room
    weight = brentq(slope, 0.0, last, xtol=1e-15) if slope(last) < 0 else last
    return float(probabilities @ np.log1p(-weight * above))


def latent_bound(analysis: Analysis, divergences: ArrayLike) -> float:
    """Compute the paper's lower bound for rewards with a latent random source (Theorem 3).

    The bound is the largest gap_k / D(f_k, f~_k) over the competitive arms that are not best; 0 if
    C = 1. The paper leaves f~_k open: it is the reward distribution of arm k in *some* bandit of
    the class in which k is best and the best arm's rewards are unchanged. So the theorem says that
    regret grows as ln T if C > 1, but gives a constant only for a chosen bandit for every arm. With
    more than two arms only the growth is certain: the proof counts pulls of any arm as if they were
    pulls of arm k, and leaves out what the other arms say about the change.

    Args:
        analysis: the model's analysis.
        divergences: (K,), D(f_k, f~_k) above 0; those of the best arm and of non-competitive arms
            are ignored.

    Returns:
        The factor of ln T, in the reward's unit.

    Raises:
        ValueError: a competitive arm's divergence is not above 0, or there are not K divergences.
    """
    given = checks.numbers("divergences", divergences)
    if given.shape != analysis.means.shape:
        raise ValueError(
            f"divergences has shape {given.shape}: expected ({analysis.means.size},), one for each "
            "arm"
        )
    arms = np.flatnonzero(analysis.competitive)
    arms = arms[arms != analysis.best_arm]
    if not (given[arms] > 0).all():
        raise ValueError(
            f"divergences={given}: expected numbers above 0 for the competitive arms {arms}"
        )
    return float((analysis.gaps[arms] / given[arms]).max(initial=0.0))
