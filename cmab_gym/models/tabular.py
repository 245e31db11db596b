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
from cmab_gym.models.base import BanditModel, Pull, flat, names_of_arms
from cmab_gym.problem import BanditProblem, tolerance_of
from cmab_gym.pseudo_rewards import conditional_means, first_violation, set_own_rewards


@dataclass(frozen=True, eq=False, repr=False)
class TabularModel(BanditModel):
    """A list of joint outcomes (one reward per arm) and their probabilities.

    Args:
        outcomes: float64 (J, K), the reward of every arm under each joint outcome.
        probabilities: float64 (J,), at least 0, with sum 1.
        pseudo_rewards: (K, K, R) over the sorted rewards that occur in `outcomes`; None takes the
            conditional means themselves, the tightest valid table.
        reward_bounds: (low, high); None takes the smallest and largest reward.
        allow_invalid: accept pseudo-rewards that are not upper bounds on the conditional means, and
            pseudo-lower bounds that are not lower bounds.
        pseudo_lower_bounds: (K, K, R), -infinity where nothing is known; None if the player knows
            no lower bounds.
        arm_names: K names; if empty, the arms are numbered.

    Raises:
        ValueError: the probabilities are not a distribution, a shape does not fit, a table does not
            bound the conditional means, or there is not one name for each arm.

    Source: Section 2.1 of the paper, Table 1.

    Examples:
        >>> model = TabularModel(*outcomes_of([[0.25, 0.25], [0.375, 0.125]]))
        >>> model.means
        array([0.5  , 0.375])
        >>> model.problem.pseudo_rewards[1, 0]  # E[R_1 | R_0 = 0] and E[R_1 | R_0 = 1]
        array([0.5 , 0.25])
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
        if not isinstance(self.allow_invalid, bool | np.bool_):  # the text "no" would be true
            raise ValueError(f"allow_invalid={self.allow_invalid!r}: expected True or False")
        outcomes = checks.read_only("outcomes", self.outcomes)
        probabilities = checks.read_only("probabilities", self.probabilities)
        if outcomes.ndim != 2 or probabilities.shape != outcomes.shape[:1]:
            raise ValueError(
                f"outcomes {outcomes.shape} and probabilities {probabilities.shape}: expected "
                "(J, K) and (J,)"
            )
        if outcomes.shape[1] < 2:
            raise ValueError(f"outcomes has shape {outcomes.shape}: expected (J, K) with K >= 2")
        checks.moderate("outcomes", outcomes)
        _check_distribution("probabilities", probabilities)
        support, index = np.unique(outcomes, return_inverse=True)
        index = index.reshape(outcomes.shape).astype(np.int64)
        pmf = _marginals(index, probabilities, support.size)
        bounds = (float(support[0]), float(support[-1]))
        if self.reward_bounds is not None:
            bounds = checks.interval("reward_bounds", self.reward_bounds)
        true = conditional_means(outcomes, probabilities, index, support.size)
        if self.pseudo_rewards is None:
            table = np.where(np.isnan(true), bounds[1], true)
            set_own_rewards(table, support)
        else:
            table = self._checked_table("pseudo_rewards", true, support, bounds, sign=1)
        lower = None
        if self.pseudo_lower_bounds is not None:
            lower = self._checked_table("pseudo_lower_bounds", true, support, bounds, sign=-1)
        store = object.__setattr__
        store(self, "outcomes", outcomes)
        store(self, "probabilities", probabilities)
        store(self, "problem", BanditProblem(table, support, bounds, None, lower))
        store(self, "means", read_only(probabilities @ outcomes))
        store(self, "reward_pmf", read_only(pmf))
        store(self, "arm_names", names_of_arms(self.arm_names, outcomes.shape[1]))
        store(self, "_index", index)
        store(self, "_flat_index", flat(index))
        store(self, "_n_arms", outcomes.shape[1])
        store(self, "_cumulative", np.cumsum(probabilities)[:-1])
        store(self, "_support", support.tolist())

    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw the joint outcome of each round, int64 (rounds, 1), as its row."""
        return self._cumulative.searchsorted(rng.random((rounds, 1)), side="right")

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

    def source_rewards(self) -> FloatArray:
        """Return the joint outcomes as values of the source: see `BanditModel.source_rewards`."""
        rewards = np.asarray(self.outcomes).T
        return np.stack([rewards, rewards])

    def _checked_table(
        self,
        name: str,
        true: FloatArray,
        support: FloatArray,
        bounds: tuple[float, float],
        sign: int,
    ) -> FloatArray:
        """Return a given table of upper bounds (sign 1) or lower bounds (sign -1) on the means."""
        table = checks.numbers(name, getattr(self, name))
        if table.shape != true.shape:
            raise ValueError(
                f"{name} has shape {table.shape}: expected {true.shape}, indexed [l, k, j] for "
                f"s_lk(r_j) with the rewards {support}"
            )
        wrong = first_violation(sign * table, sign * true, tolerance_of(bounds))
        if wrong is None or self.allow_invalid:
            return table
        arm, given, j = wrong
        side, kind, remedy = (
            ("below", "upper", "raise") if sign > 0 else ("above", "lower", "lower")
        )
        raise ValueError(
            f"{name}[{arm}, {given}, {j}] = {table[wrong]:g} is {side} the mean {true[wrong]:g} of "
            f"arm {arm} when arm {given} gives {support[j]:g}: expected {kind} bounds; {remedy} "
            "the entry, or pass allow_invalid=True if it is intended"
        )


def outcomes_of(
    pmf: ArrayLike, supports: Sequence[ArrayLike] | None = None
) -> tuple[FloatArray, FloatArray]:
    """List the joint outcomes of a probability table with one axis per arm.

    Args:
        pmf: float64 (n_1, ..., n_K), K >= 2; entry [i_1, ..., i_K] is the probability that every
            arm k gives the reward at position i_k of its support.
        supports: K lists of rewards, the k-th of length n_k; None takes 0, 1, ..., n_k - 1.

    Returns:
        The outcomes (J, K) and their probabilities (J,), as `TabularModel` takes them, without
        those of probability 0.

    Raises:
        ValueError: the table is not a distribution, or the supports do not fit it.

    Examples:
        >>> outcomes, probabilities = outcomes_of([[0.25, 0.25], [0.5, 0]], [[0, 1], [-1, 1]])
        >>> outcomes
        array([[ 0., -1.],
               [ 0.,  1.],
               [ 1., -1.]])
        >>> probabilities
        array([0.25, 0.25, 0.5 ])
    """
    table = checks.numbers("pmf", pmf)
    if table.ndim < 2:
        raise ValueError(
            f"pmf has shape {table.shape}: expected one axis for each of 2 or more arms"
        )
    _check_distribution("pmf", table)
    values = _supports(table.shape, supports)
    outcomes = np.stack([axis.ravel() for axis in np.meshgrid(*values, indexing="ij")], axis=1)
    probabilities = table.ravel()
    possible = probabilities > 0
    return outcomes[possible], probabilities[possible]


def _check_distribution(name: str, pmf: FloatArray) -> None:
    checks.finite(name, pmf)
    if (pmf < 0).any():
        raise ValueError(f"{name} holds {pmf.min():g}: expected at least 0")
    if abs(pmf.sum() - 1) > 1e-9:
        raise ValueError(
            f"the sum of {name} is {pmf.sum():.12g}: expected 1; if these are counts, divide by it"
        )


def _supports(shape: tuple[int, ...], supports: Sequence[ArrayLike] | None) -> list[FloatArray]:
    if supports is None:
        return [np.arange(size, dtype=np.float64) for size in shape]
    if not isinstance(supports, Sequence | np.ndarray):
        raise ValueError(
            f"supports={supports!r}: expected a list of rewards for each of {len(shape)} arms"
        )
    values = [checks.numbers(f"supports[{k}]", each) for k, each in enumerate(supports)]
    sizes = tuple(value.size for value in values)
    if sizes != shape:
        raise ValueError(f"supports of sizes {sizes}: expected {shape}, the shape of the pmf")
    for k, value in enumerate(values):
        checks.moderate(f"supports[{k}]", value)
        if np.unique(value).size != value.size:
            raise ValueError(f"supports[{k}]={value}: expected different rewards; merge equals")
    return values


def _marginals(index: IntArray, probabilities: FloatArray, size: int) -> FloatArray:
    return np.stack([np.bincount(column, probabilities, size) for column in index.T])
