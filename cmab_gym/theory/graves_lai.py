"""The lower bound for players that use all pseudo-rewards (Graves and Lai), for finite rewards.

Q ranges over the joint distributions that respect every pseudo-reward, keep the best arm's rewards
as they are, and make another arm l the best. The constant c is the least sum of eta_k gap_k such
that sum_k eta_k KL(P_k, Q_k) >= 1 for all Q. With eta scaled to cost 1 this is

    1 / c = max over eta of min over Q of sum_k eta_k KL(P_k, Q_k)
          = min over Q of max over k of KL(P_k, Q_k) / gap_k

where Q in the last line may be a mixture over l, with weights w_l, of one Q_l for each l, and KL
the same mixture of theirs. In the variables q_l = w_l Q_l this is a convex program with linear
constraints. Linear programs in which tangents replace the logarithms solve it: their values are
below the optimum, the divergences of their solutions are above it, and tangents are added until
both agree.
"""

from __future__ import annotations

import numpy as np

from cmab_gym.models.base import BanditModel
from cmab_gym.theory.conditions import NoBoundError, check_finite_support, check_unique_best_arm
from cmab_gym.theory.joint import JointDistributions
from cmab_gym.theory.lower_bounds import LowerBound
from cmab_gym.theory.tangents import TangentProgram

_TOLERANCE = 1e-5  # relative width of the bracket at which the iteration stops
_WIDEST = 0.01  # relative width at which the result is useless; tiny probabilities may cause it
_STEPS = 50


def graves_lai_bound(model: BanditModel) -> LowerBound:
    """Bound the regret of every agent from below, even of those that use all pseudo-rewards.

    The bound holds for the class of all joint distributions over `reward_support`, the same for
    every arm, that respect the pseudo-rewards: what a player knows. Only the arms' own
    distributions in the model matter. Numerically, another arm can be best if its mean can exceed
    the best arm's by 1e-7 of the length of the rewards' interval, and probabilities up to 1e-7
    count as 0.

    Args:
        model: the bandit, with at most 256 joint outcomes: the number of rewards that the best
            arm gives times R^(K - 1). Leaving constraints out of larger problems would enlarge the
            set of Q, and so the constant: the result would not be a lower bound.

    Returns:
        The bound; its constant is the lower end of the bracket, its error the bracket's width.

    Raises:
        NoBoundError: the rewards are continuous, two arms are best, there are too many joint
            outcomes, the pseudo-rewards contradict the rewards, or the bracket stays wide.

    Source: Appendix F of the paper ("a stronger lower bound"); Graves and Lai (1997).

    Examples:
        >>> from cmab_gym.envs.tabular import tabular_model
        >>> from cmab_gym.theory import graves_lai_bound
        >>> round(graves_lai_bound(tabular_model("table1-b")).constant, 3)
        4.966
        >>> graves_lai_bound(tabular_model("table1-a")).constant  # bounded regret is possible
        0.0
    """
    check_finite_support(model)
    check_unique_best_arm(model)
    joint = JointDistributions.of(model)
    joint.check_consistent()
    points = {arm: point for arm in joint.others if (point := joint.with_best(arm)) is not None}
    if not points:
        return LowerBound(0.0, np.zeros(model.n_arms))
    program = TangentProgram(joint, list(points))
    best = np.array([[1.0, *point] for point in points.values()]) / len(points)
    for _ in range(_STEPS):
        program.touch(best)
        below, eta, found = program.solve()
        best = joint.best_between(best, found)
        above = joint.largest_divergence(best)
        if abs(above - below) <= _TOLERANCE * below:
            break
        program.touch(found)
    if not abs(above - below) <= _WIDEST * below:
        raise NoBoundError(
            f"the constant could not be computed within {_WIDEST:.0%}: gaps or probabilities are "
            "too small for the accuracy of linear programs"
        )
    pulls = np.zeros(model.n_arms)
    pulls[joint.others] = eta / below
    size = model.problem.reward_range
    return LowerBound(size / above, pulls, size * max(1 / below - 1 / above, 0.0))
