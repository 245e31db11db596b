"""`BanditModel`: the joint distribution of the rewards of a correlated bandit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator

from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem

Pull: TypeAlias = tuple[FloatArray, IntArray]


class Lookup(NamedTuple):
    """The arrays with which a compiled loop does what `pull` does.

    Exactly one of the last three fields is given; it says how the loop finds the position j of an
    arm's reward in the support from an outcome (W,). The loop does not check its indices.

    Fields:
        support: float64 (R,), the rewards.
        thresholds: float64 (K, R - 1); the outcome is one uniform number u, and j is how many of
            the arm's thresholds are at most u. Or None.
        table: int64 (J, K) of positions j; the outcome is the row. Or None.
        cuts: float64 (R - 1,), the interior edges of the bins; the outcome holds the rewards of
            all arms, and j is the bin. Or None.
    """

    support: FloatArray
    thresholds: FloatArray | None = None
    table: IntArray | None = None
    cuts: FloatArray | None = None


class BanditModel(ABC):
    """A joint distribution of the rewards of all arms, and its means, which players do not know.

    The outcome of a round is drawn before the arm is chosen. So every arm has a reward in every
    round, and all agents that play the same trial see the same rewards.

    Attributes:
        problem: what a player may know.
        means: float64 (K,), the mean reward of each arm.
        reward_pmf: float64 (K, R), the probability of each reward of the support, or of each bin.
        arm_names: K names.
        reward_unit: the unit of the rewards, for labels ("stars").
        rounds_per_draw: the number of rounds in a block of a reward stream. The rewards of a seed
            depend on it, as a model may draw one kind of number for the whole block before the
            next kind.
    """

    rounds_per_draw: int = 256
    problem: BanditProblem
    means: FloatArray
    reward_pmf: FloatArray
    arm_names: tuple[str, ...]
    reward_unit: str

    @abstractmethod
    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw the outcome of each of some rounds.

        Returns:
            An array (rounds, W), for `pull`.
        """

    def draw_trials(self, rngs: Sequence[Generator], rounds: int) -> AnyArray:
        """Draw some rounds of several trials, each with its own generator.

        Returns:
            An array (rounds, B, W), whose [:, b] is the result of `draw` with generator b.
        """
        return np.stack([self.draw(rng, rounds) for rng in rngs], axis=1)

    @abstractmethod
    def pull(self, outcomes: AnyArray, arms: IntArray) -> Pull:
        """Look up the rewards of arms under outcomes.

        Args:
            outcomes: (n, W), n rows from `draw`.
            arms: int64 (n, m), m arms for each outcome; or (1, m), the same arms for all.

        Returns:
            The rewards, float64 (n, m), and their positions in the support or the bins, int64.
        """

    def prepare(self, outcomes: AnyArray) -> Any:
        """Convert outcomes (n, W) to the form that `pull_one` reads; override both or neither."""
        return outcomes

    def pull_one(self, prepared: Any, row: int, arm: int) -> tuple[float, int]:
        """Look up the reward of one arm under a prepared outcome, faster than `pull`."""
        rewards, index = self.pull(prepared[row : row + 1], np.array([[arm]]))
        return float(rewards[0, 0]), int(index[0, 0])

    def lookup(self) -> Lookup | None:
        """Return `pull` in a form for compiled loops, or None if there is none.

        It is not valid for subclasses, which may draw or pull in another way.
        """
        return None

    def expected_pseudo_rewards(self) -> FloatArray:
        """Return phi (K, K), phi[l, k] = E[s_{l,k}(R_k)], upper bounds on the mean of arm l."""
        phi: FloatArray = np.einsum("lkj,kj->lk", self.problem.pseudo_rewards, self.reward_pmf)
        np.fill_diagonal(phi, self.means)
        return phi

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return self.means.size

    @property
    def gaps(self) -> FloatArray:
        """The largest mean minus the mean of each arm, float64 (K,)."""
        gaps: FloatArray = self.means.max() - self.means
        return gaps

    @property
    def best_arms(self) -> BoolArray:
        """Whether each arm has the largest mean, bool (K,)."""
        best: BoolArray = self.gaps <= self.problem.tolerance
        return best


def flat(values: AnyArray) -> array[Any]:
    """Copy values, row by row, into Python's own array, from which one value is read faster."""
    return array(values.dtype.char, values.tobytes())


def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """Return the names "prefix 0", "prefix 1", ..."""
    return tuple(f"{prefix} {i}" for i in range(count))
