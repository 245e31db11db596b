"""`TabularModel`: any joint distribution of finitely many rewards."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray, read_only
from cmab_gym.models.base import BanditModel, Lookup, Pull, flat, numbered
from cmab_gym.problem import BanditProblem, tolerance_of
from cmab_gym.pseudo_rewards import conditional_means, first_violation


@dataclass(frozen=True, eq=False, repr=False)
class TabularModel(BanditModel):
    """A list of joint outcomes (one reward per arm) and their probabilities.

    Args:
        outcomes: float64 (J, K), the reward of every arm under each joint outcome.
        probabilities: float64 (J,), at least 0, with sum 1.
        pseudo_rewards: (K, K, R) over the sorted rewards that occur in `outcomes`; None takes the
            conditional means themselves, the tightest table there is.
        reward_bounds: (low, high); None takes the smallest and largest reward.
        allow_invalid: accept a table that is not an upper bound of the conditional means, or
            pseudo-lower bounds that are no lower ones.
        pseudo_lower_bounds: (K, K, R), -infinity where nothing is known; None: the player knows
            none.
        arm_names: K names; None numbers them.

    Raises:
        ValueError: the probabilities are not a distribution, a shape does not fit, or the table is
            not an upper bound.

    Source: Section 2.1 of the paper, Table 1.
    """

    outcomes: ArrayLike
    probabilities: ArrayLike
    pseudo_rewards: ArrayLike | None = None
    reward_bounds: tuple[float, float] | None = None
    allow_invalid: bool = False
    pseudo_lower_bounds: ArrayLike | None = None
    arm_names: tuple[str, ...] = ()
    problem: BanditProblem = field(init=False)
    means: FloatArray = field(init=False)
    reward_pmf: FloatArray = field(init=False)
    reward_unit: str = field(init=False, default="reward")
    _index: IntArray = field(init=False)
    _flat_index: array[Any] = field(init=False)
    _n_arms: int = field(init=False)
    _cumulative: FloatArray = field(init=False)
    _support: list[float] = field(init=False)

    def __post_init__(self) -> None:
        outcomes, chances = read_only(self.outcomes), read_only(self.probabilities)
        _check_distribution(outcomes, chances)
        support, index = np.unique(outcomes, return_inverse=True)
        index = index.reshape(outcomes.shape).astype(np.int64)
        pmf = _marginals(index, chances, support.size)
        bounds = (float(support[0]), float(support[-1]))
        if self.reward_bounds is not None:
            bounds = checks.interval("reward_bounds", self.reward_bounds)
        true = conditional_means(outcomes, chances, index, support.size)
        table = self._table(true, support, bounds)
        lower = self._lower_table(true, support, bounds)
        store = object.__setattr__
        store(self, "outcomes", outcomes)
        store(self, "probabilities", chances)
        store(self, "problem", BanditProblem(table, support, bounds, None, lower))
        store(self, "means", read_only(chances @ outcomes))
        store(self, "reward_pmf", read_only(pmf))
        store(self, "arm_names", tuple(self.arm_names) or numbered("arm", outcomes.shape[1]))
        store(self, "_index", index)
        store(self, "_flat_index", flat(index))
        store(self, "_n_arms", outcomes.shape[1])
        store(self, "_cumulative", np.cumsum(chances)[:-1])
        store(self, "_support", support.tolist())

    @classmethod
    def from_pmf(
        cls,
        pmf: ArrayLike,
        supports: Sequence[ArrayLike] | None = None,
        pseudo_rewards: ArrayLike | None = None,
        reward_bounds: tuple[float, float] | None = None,
        allow_invalid: bool = False,
        pseudo_lower_bounds: ArrayLike | None = None,
    ) -> TabularModel:
        """Build a model from a joint probability table with one axis per arm.

        Args:
            pmf: float64 (n_1, ..., n_K); entry [i_1, ..., i_K] is the chance that every arm k
                gives its reward number i_k.
            supports: K lists of rewards, the k-th of length n_k; None takes 0, 1, ..., n_k - 1.
            pseudo_rewards: as in the class.
            reward_bounds: as in the class.
            allow_invalid: as in the class.
            pseudo_lower_bounds: as in the class.

        Raises:
            ValueError: as the class; or the supports do not fit the table.
        """
        table = checks.numbers("pmf", pmf)
        if table.ndim == 0:
            raise ValueError(f"pmf={pmf!r}: expected a table with one axis per arm")
        values = _supports(table.shape, supports)
        outcomes = np.stack([axis.ravel() for axis in np.meshgrid(*values, indexing="ij")], axis=1)
        flat = table.ravel()
        kept = flat != 0  # NaN and negative entries stay, to be refused with their position
        if not kept.any():
            raise ValueError("pmf has only zeros: expected probabilities that sum to 1")
        return cls(
            outcomes[kept],
            flat[kept],
            pseudo_rewards,
            reward_bounds,
            allow_invalid,
            pseudo_lower_bounds,
        )

    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw the number of the joint outcome of each round, int64 (rounds, 1)."""
        return self.draw_trials([rng], rounds)[:, 0]

    def draw_trials(self, rngs: Sequence[Generator], rounds: int) -> AnyArray:
        """Draw rounds of several trials: see `BanditModel.draw_trials`."""
        uniform = np.stack([rng.random((rounds, 1)) for rng in rngs], axis=1)
        return self._cumulative.searchsorted(uniform, side="right")

    def pull(self, outcomes: AnyArray, arms: IntArray) -> Pull:
        """Look up rewards: see `BanditModel.pull`."""
        index = self._index[outcomes, arms]
        return self.problem.reward_support.take(index), index

    def prepare(self, outcomes: AnyArray) -> array[Any]:
        """See `BanditModel.prepare`."""
        return flat(outcomes)

    def pull_one(self, prepared: array[Any], row: int, arm: int) -> tuple[float, int]:
        """Look up one reward: see `BanditModel.pull_one`."""
        index: int = self._flat_index[prepared[row] * self._n_arms + arm]
        return self._support[index], index

    def lookup(self) -> Lookup:
        """See `BanditModel.lookup`."""
        return Lookup(self.problem.reward_support, table=self._index)

    def _table(
        self, true: FloatArray, support: FloatArray, bounds: tuple[float, float]
    ) -> FloatArray:
        high = bounds[1]
        if self.pseudo_rewards is None:
            table = np.where(np.isnan(true), high, true)
            arms = np.arange(table.shape[0])
            table[arms, arms] = support
            return table
        table = checks.numbers("pseudo_rewards", self.pseudo_rewards)
        if table.shape != true.shape:
            raise ValueError(
                f"pseudo_rewards has shape {table.shape}: expected {true.shape}, indexed "
                f"[l, k, j] for s_lk(r_j) with the rewards {support}"
            )
        tolerance = tolerance_of(bounds)
        wrong = None if self.allow_invalid else first_violation(table, true, tolerance)
        if wrong is not None:
            arm, given, j = wrong
            raise ValueError(
                f"pseudo_rewards[{arm}, {given}, {j}] = {table[wrong]:g} is below the mean "
                f"{true[wrong]:g} of arm {arm} when arm {given} gives {support[j]:g}: expected an "
                "upper bound; raise the entry, or say allow_invalid=True if this is meant"
            )
        return table

    def _lower_table(
        self, true: FloatArray, support: FloatArray, bounds: tuple[float, float]
    ) -> FloatArray | None:
        if self.pseudo_lower_bounds is None:
            return None
        table = checks.numbers("pseudo_lower_bounds", self.pseudo_lower_bounds)
        if table.shape == true.shape and not self.allow_invalid:
            wrong = first_violation(-table, -true, tolerance_of(bounds))
            if wrong is not None:
                arm, given, j = wrong
                raise ValueError(
                    f"pseudo_lower_bounds[{arm}, {given}, {j}] = {table[wrong]:g} is above the "
                    f"mean {true[wrong]:g} of arm {arm} when arm {given} gives {support[j]:g}: "
                    "expected a lower bound; lower the entry, or say allow_invalid=True if this "
                    "is meant"
                )
        return table


def _check_distribution(outcomes: FloatArray, chances: FloatArray) -> None:
    if outcomes.ndim != 2 or chances.shape != outcomes.shape[:1]:
        raise ValueError(
            f"outcomes {outcomes.shape} and probabilities {chances.shape}: expected (J, K) and (J,)"
        )
    if outcomes.shape[1] < 2:
        raise ValueError("1 arm given: expected at least 2; add an axis to the pmf")
    checks.finite("outcomes", outcomes)
    checks.finite("pmf", chances)
    if chances.min() < 0:
        raise ValueError(f"pmf has the negative entry {chances.min():g}: expected at least 0")
    if abs(chances.sum() - 1) > 1e-9:
        raise ValueError(
            f"pmf sums to {chances.sum():.12g}: expected 1; divide it by its sum if it holds counts"
        )


def _supports(shape: tuple[int, ...], supports: Sequence[ArrayLike] | None) -> list[FloatArray]:
    if supports is None:
        return [np.arange(size, dtype=np.float64) for size in shape]
    values = [checks.numbers(f"supports[{k}]", each) for k, each in enumerate(supports)]
    for k, value in enumerate(values):
        checks.finite(f"supports[{k}]", value)
    sizes = tuple(value.size for value in values)
    if sizes != shape:
        raise ValueError(f"supports of sizes {sizes}: expected {shape}, the shape of the pmf")
    for arm, value in enumerate(values):
        if np.unique(value).size != value.size:
            raise ValueError(f"supports[{arm}]={value}: expected different rewards; merge equals")
    return values


def _marginals(index: IntArray, chances: FloatArray, size: int) -> FloatArray:
    return np.stack([np.bincount(column, chances, size) for column in index.T])
