"""Lower bounds on the regret: without structure (Lai and Robbins), and for a latent source."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.models.base import BanditModel
from cmab_gym.theory.analysis import Analysis, NoBoundError


@dataclass(frozen=True, eq=False)
class LowerBound:
    """Regret that no agent avoids which does well on every bandit of a class.

    For each agent whose regret grows slower than every power of T on every bandit of the class,
    regret / ln T is at least `constant` in the limit of large T. At a small T it may be less.

    Attributes:
        constant: in the reward's unit; 0 if bounded regret is not excluded.
        pulls: float64 (K,), pulls of each arm per ln T with which it is attained; 0 for a best
            arm.
        error: by how much the true constant may be larger, at most.
    """

    constant: float
    pulls: FloatArray
    error: float = 0.0

    def regret(self, rounds: ArrayLike) -> FloatArray:
        """Return constant * ln T for T of any shape, each 1 or more."""
        regret: FloatArray = self.constant * np.log(checks.numbers("rounds", rounds))
        return regret


def lai_robbins_bound(model: BanditModel) -> LowerBound:
    """Bound the regret of agents that know the possible rewards, but no pseudo-rewards.

    The sum of gap_k / K_inf(P_k, mu*) over the arms that are not best. The class is that of all
    distributions of each arm over the problem's `reward_support`, be it larger than the rewards
    that the arm itself gives: a player does not know which they are. An agent that uses
    pseudo-rewards may have less regret; the pulls of a competitive arm are what an asymptotically
    optimal policy, such as `kl-ucb` for rewards 0 and 1, spends on it.

    Raises:
        NoBoundError: the rewards are continuous.

    Source: Lai and Robbins (1985), Theorem 2; Burnetas and Katehakis (1996) for finite supports.
    """
    check_finite_support(model)
    support, largest = model.problem.reward_support, float(model.means.max())
    pulls = np.zeros(model.n_arms)
    for arm in np.flatnonzero(~model.best_arms):
        pulls[arm] = 1 / kl_inf(model.reward_pmf[arm], support, largest)
    return LowerBound(float(pulls @ model.gaps), pulls)


def kl_inf(pmf: FloatArray, support: FloatArray, mean: float) -> float:
    """Compute K_inf(P, mean), the least KL(P, Q) over Q on the support with a larger mean.

    Args:
        pmf: float64 (R,), P, with a mean below `mean`.
        support: float64 (R,), the possible rewards.
        mean: what the mean of Q must exceed.

    Returns:
        K_inf, above 0; infinite if no reward is larger than `mean`.

    Source: Honda and Takemura (2010), Theorem 8: the largest E_P[ln(1 - lambda (R - mean))] over
        lambda from 0 to 1 / (largest reward - mean).
    """
    room = float(support.max()) - mean
    if room <= 1e-9 * np.ptp(support):
        return np.inf
    above, chances = (support - mean)[pmf > 0], pmf[pmf > 0]

    def slope(weight: float) -> float:
        return -float(chances @ (above / (1 - weight * above)))

    last = (1 - 1e-13) / room
    weight = brentq(slope, 0.0, last, xtol=1e-15) if slope(last) < 0 else last
    return float(chances @ np.log1p(-weight * above))


def latent_bound(analysis: Analysis, divergences: ArrayLike) -> float:
    """Compute the paper's lower bound for rewards with a latent random source (Theorem 3).

    The largest gap_k / D(f_k, f~_k) over the competitive arms that are not the best; 0 if C = 1.
    The paper leaves f~_k open: it is the reward distribution of arm k in *some* bandit of the
    class in which k is best and the best arm's rewards are as they were. So the theorem has a
    verdict, ln T if C > 1, but no constant until such a bandit is chosen for every arm. With more
    than two arms only the verdict is sure: the proof counts pulls of any arm as if of arm k, and
    leaves out what the other arms tell of the change.

    Args:
        analysis: of the model.
        divergences: (K,), D(f_k, f~_k) above 0; those of the best and of non-competitive arms are
            not looked at.

    Returns:
        The constant before ln T, in the reward's unit.

    Raises:
        ValueError: a divergence that is needed is not above 0, or there are not K.
    """
    given = checks.numbers("divergences", divergences)
    if given.shape != analysis.means.shape:
        raise ValueError(
            f"divergences {given.shape}: expected ({analysis.means.size},), one an arm"
        )
    arms = np.flatnonzero(analysis.competitive)
    arms = arms[arms != analysis.best_arm]
    if not (given[arms] > 0).all():
        raise ValueError(f"divergences={given}: expected above 0 for the competitive arms {arms}")
    return float((analysis.gaps[arms] / given[arms]).max(initial=0.0))


def check_finite_support(model: BanditModel) -> None:
    """Refuse a model whose rewards are continuous.

    Raises:
        NoBoundError: they are.
    """
    if model.problem.reward_edges is not None:
        raise NoBoundError("the rewards are continuous: this bound is computed for finitely many")
