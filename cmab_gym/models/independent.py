"""`IndependentModel`: arms that say nothing about each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, read_only
from cmab_gym.models.base import names_of_arms
from cmab_gym.models.drawn_rewards import DrawnRewards, rounds_per_draw
from cmab_gym.models.reward_laws import RewardLaw
from cmab_gym.problem import BanditProblem
from cmab_gym.rows import ArmRows, LazyRows, PseudoRewardRows, is_small

_ALL = slice(None)


@dataclass(frozen=True, eq=False, repr=False)
class IndependentModel(DrawnRewards):
    """Independent arms: each pseudo-reward of another arm is the largest reward.

    Args:
        law: the distributions of the arms' rewards.
        bins: the number of bins of equal size into which the player's table divides continuous
            rewards; ignored if there are finitely many rewards.
        arm_names: K names; if empty, the arms are numbered.

    Raises:
        ValueError: `bins` is not a whole number of at least 1, or there is not one name for each
            arm.

    Examples:
        >>> from cmab_gym.models.reward_laws import FiniteLaw
        >>> model = IndependentModel(FiniteLaw.bernoulli([0.2, 0.7]))
        >>> model.means
        array([0.2, 0.7])
        >>> model.problem.pseudo_rewards[1, 0]  # arm 1 when arm 0 gives 0 and 1
        array([1., 1.])
    """

    law: RewardLaw
    bins: int = 100
    arm_names: tuple[str, ...] = ()
    reward_unit: str = field(init=False, default="reward")
    problem: BanditProblem = field(init=False)
    means: FloatArray = field(init=False)
    reward_pmf: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        law, bins = self.law, checks.whole_number("bins", self.bins, 1)
        n_arms, bounds = law.means.size, law.reward_bounds
        if law.support is not None:
            edges, support, own = None, law.support, law.support
        else:
            edges = np.linspace(*bounds, bins + 1)
            support, own = (edges[:-1] + edges[1:]) / 2, edges[1:]
        problem = BanditProblem(
            _no_information(n_arms, own, bounds[1]),
            support,
            bounds,
            edges,
            reward_sigma=law.reward_sigma,
        )
        store = object.__setattr__
        store(self, "problem", problem)
        store(self, "means", law.means)
        store(self, "reward_pmf", read_only(law.probabilities(edges)))
        store(self, "arm_names", names_of_arms(self.arm_names, n_arms))
        store(self, "rounds_per_draw", rounds_per_draw(n_arms))

    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw the rewards of all arms, float64 (rounds, K)."""
        return self.law.draw(rng, _ALL, (rounds, self.n_arms))

    def draw_arm(self, arm: int, rngs: Sequence[Generator], size: int) -> FloatArray:
        """Draw the rewards of one arm: see `BanditModel.draw_arm`."""
        return np.stack([self.law.draw(rng, arm, (size,)) for rng in rngs])


def _no_information(n_arms: int, own: FloatArray, high: float) -> FloatArray | PseudoRewardRows:
    """Return pseudo-rewards that are the largest reward, except those of an arm given itself."""
    if is_small(n_arms, own.size):
        table = np.full((n_arms, n_arms, own.size), high)
        table[np.arange(n_arms), np.arange(n_arms)] = own
        return table
    return LazyRows(n_arms, own, high, _nothing_known)


def _nothing_known(arm: int) -> ArmRows:
    none = np.zeros(0, dtype=np.int64)
    return ArmRows(none, none, np.zeros(0), unknown=True)
