"""`HistogramModel`: rewards drawn from one histogram per arm, such as test ratings."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray, read_only
from cmab_gym.models.base import BanditModel, Pull, flat, names_of_arms
from cmab_gym.problem import BanditProblem


@dataclass(frozen=True, eq=False, repr=False)
class HistogramModel(BanditModel):
    """Draw an arm's reward with replacement from its histogram.

    One uniform number decides a round: every arm's reward is its quantile at that number. A player
    sees one arm per round, so only the distribution of each arm matters.

    Args:
        counts: (K, R), how often each arm got each reward; at least one per arm.
        problem: what a player may know, over the same K arms and R rewards.
        arm_names: K names; if empty, the arms are numbered.
        reward_unit: the unit of the rewards.
        provenance: the origin of the counts, as values of JSON.

    Raises:
        ValueError: a shape does not fit, a count is negative, an arm has no reward, or there is not
            one name for each arm.

    Source: Section 6.1 of the paper.

    Examples:
        >>> problem = BanditProblem(np.array([[[0, 1], [1, 1]], [[1, 1], [0, 1]]]), [0, 1], (0, 1))
        >>> HistogramModel(np.array([[3, 1], [1, 1]]), problem).means
        array([0.25, 0.5 ])
    """

    counts: FloatArray
    problem: BanditProblem
    arm_names: tuple[str, ...] = ()
    reward_unit: str = "reward"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    means: FloatArray = field(init=False)
    reward_pmf: FloatArray = field(init=False)
    _thresholds: FloatArray = field(init=False)
    _arm_thresholds: list[list[float]] = field(init=False)
    _support: list[float] = field(init=False)

    def __post_init__(self) -> None:
        counts, problem = checks.read_only("counts", self.counts), self.problem
        shape = (problem.n_arms, problem.reward_support.size)
        if counts.shape != shape:
            raise ValueError(f"counts has shape {counts.shape}: expected (K, R) = {shape}")
        checks.moderate("counts", counts)
        if counts.min() < 0:
            raise ValueError(f"counts has the negative entry {counts.min():g}: expected at least 0")
        names = names_of_arms(self.arm_names, shape[0])
        totals = counts.sum(axis=1, keepdims=True)
        if totals.min() == 0:
            arm = int(totals.argmin())
            raise ValueError(
                f"arm {arm} ({names[arm]}) has no reward in counts: expected at least one; "
                "leave the arm out or use more test data"
            )
        store = object.__setattr__
        store(self, "counts", counts)
        store(self, "arm_names", names)
        store(self, "means", read_only((counts @ problem.reward_support) / totals[:, 0]))
        store(self, "reward_pmf", read_only(counts / totals))
        # (R - 1, K), so that `pull` compares one uniform number with each of R - 1 rows.
        store(self, "_thresholds", self.thresholds.T.copy())
        store(self, "_arm_thresholds", self.thresholds.tolist())
        store(self, "_support", problem.reward_support.tolist())

    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw the uniform number of each round, float64 (rounds, 1)."""
        return rng.random((rounds, 1))

    def pull(self, outcomes: AnyArray, arms: IntArray) -> Pull:
        """Look up rewards: see `BanditModel.pull`."""
        # Transposed, so that the innermost loops run over the many outcomes.
        passed = self._thresholds.take(arms.T, axis=1) <= outcomes.T
        index = passed.sum(axis=0)
        return self.problem.reward_support.take(index).T, index.T

    def prepare(self, outcomes: AnyArray) -> array[Any]:
        """See `BanditModel.prepare`."""
        return flat(outcomes)

    def pull_one(self, prepared: array[Any], row: int, arm: int) -> tuple[float, int]:
        """Look up one reward: see `BanditModel.pull_one`."""
        index = bisect_right(self._arm_thresholds[arm], prepared[row])
        return self._support[index], index
