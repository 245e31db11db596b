"""Gaps, phi and competitive arms of a model whose distribution is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.models.base import BanditModel


@dataclass(frozen=True, eq=False)
class Analysis:
    """Gaps, expected pseudo-rewards and competitive arms.

    Attributes:
        means: float64 (K,), mean reward of each arm.
        gaps: float64 (K,), the largest mean minus the arm's.
        phi: float64 (K, K), expected pseudo-rewards phi[l, k] = E[s_{l,k}(R_k)].
        best_arm: an arm with the largest mean, k*.
        pseudo_gaps: float64 (K,), the largest mean minus phi[l, k*].
        competitive: bool (K,), the arms that the best arm's rewards cannot rule out, and the best
            arm.

    Source: Definitions 2 (phi) and 5 (competitive) of the paper, Sections 3.1 and 4.1.
    """

    means: FloatArray
    gaps: FloatArray
    phi: FloatArray
    best_arm: int
    pseudo_gaps: FloatArray
    competitive: BoolArray

    @property
    def n_competitive(self) -> int:
        """How many arms are competitive, C."""
        return int(self.competitive.sum())

    @property
    def smallest_gap(self) -> float:
        """The gap between the best arm and the second best, Delta_min; 0 if two are best."""
        others = np.delete(self.gaps, self.best_arm)
        return float(others.min(initial=np.inf))


def analyse(model: BanditModel) -> Analysis:
    """Compute gaps, phi and the competitive arms of a model, by the table that players know.

    Examples:
        >>> from cmab_gym.envs.tabular import tabular_model
        >>> from cmab_gym.theory import analyse
        >>> analysis = analyse(tabular_model("table1-a"))
        >>> analysis.phi
        array([[0.6 , 0.68],
               [0.52, 0.4 ]])
        >>> analysis.competitive  # phi[1, 0] = 0.52 is below the best mean, 0.6
        array([ True, False])
    """
    phi = model.expected_pseudo_rewards()
    return analyse_means(model.means, phi, model.problem.tolerance)


def analyse_without_bins(model: BanditModel) -> Analysis:
    """Compute the same by the exact pseudo-rewards, of which a table with bins is an upper bound.

    Examples:
        >>> from cmab_gym.envs.latent import latent_model
        >>> from cmab_gym.theory import analyse, analyse_without_bins
        >>> model = latent_model("two-arm-a", bins=10)
        >>> analyse(model).n_competitive, analyse_without_bins(model).n_competitive
        (2, 1)
    """
    phi = model.exact_expected_pseudo_rewards()
    return analyse_means(model.means, phi, model.problem.tolerance)


def analyse_means(means: FloatArray, phi: FloatArray, tolerance: float = 1e-9) -> Analysis:
    """Compute gaps and competitive arms.

    Args:
        means: float64 (K,).
        phi: float64 (K, K), expected pseudo-rewards.
        tolerance: pseudo-gaps up to this count as 0, in the reward's unit.

    Raises:
        ValueError: the shapes do not fit.
    """
    if phi.shape != means.shape * 2:
        raise ValueError(f"phi has shape {phi.shape}: expected (K, K) with K = {means.size}")
    best = int(means.argmax())
    pseudo_gaps = means[best] - phi[:, best]
    competitive = pseudo_gaps <= tolerance
    competitive[best] = True
    return Analysis(means, means[best] - means, phi, best, pseudo_gaps, competitive)


def count_competitive(model: BanditModel, rng: Generator, rounds: int = 5000) -> int:
    """Estimate the number of competitive arms as the paper does, from pulls of the best arm.

    Pull the best arm `rounds` times, and count the arms whose empirical pseudo-reward is at least
    its empirical mean, including the best arm.

    Args:
        model: the bandit.
        rng: generator of the rewards.
        rounds: number of pulls, 1 or more.

    Returns:
        The C of one run, from 1 to K.

    Raises:
        ValueError: rounds is not an integer of at least 1.

    Source: Section 6.1 of the paper ("finding the size of the empirically competitive set").
    """
    rounds = checks.whole_number("rounds", rounds, 1)
    best = int(model.means.argmax())
    arms: IntArray = np.full((1, 1), best, dtype=np.int64)
    rewards, index = model.pull(model.draw(rng, rounds), arms)
    counts = np.bincount(index[:, 0], minlength=model.problem.reward_support.size)
    rows = model.problem.rows
    given_best = np.stack([rows.of(best, reward) for reward in range(counts.size)], axis=1)
    empirical = given_best @ counts / rounds
    competitive = empirical >= rewards.mean() - model.problem.tolerance
    return int(competitive.sum())
