"""`BanditModel`: how the rewards of a correlated bandit are drawn."""

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
    """How a compiled loop finds the reward of an arm under an outcome (W,), as `pull` does.

    Either the outcome is one uniform number, and the reward's position is how many of the arm's
    thresholds it has reached; or it is the number of a joint outcome, and the position is in the
    table; or the outcome is all rewards, and the position is the bin. The loop checks nothing: a
    number past the table's end is read from memory that is not the table's.

    Fields:
        support: float64 (R,), the rewards.
        thresholds: float64 (K, R - 1), or None.
        table: int64 (J, K), of positions, or None.
        cuts: float64 (R - 1,), what divides the bins, or None.
    """

    support: FloatArray
    thresholds: FloatArray | None = None
    table: IntArray | None = None
    cuts: FloatArray | None = None


class BanditModel(ABC):
    """How nature draws the rewards; knows the means, which no player does.

    In each round nature fixes an outcome, whatever arm is then pulled: so all agents that play
    the same trial meet the same rewards, and every arm's reward in a round is defined.

    Attributes:
        problem: what a player may know.
        means: float64 (K,), the mean reward of each arm.
        reward_pmf: float64 (K, R), the chance of each reward of the support, or of each bin.
        arm_names: K names.
        reward_unit: what one unit of reward is, for labels ("stars").
        rounds_per_draw: a reward stream is drawn in blocks of this many rounds. It is part of what
            a seed means: a model may draw one kind of number for the whole block before the next
            kind.
    """

    rounds_per_draw: int = 256
    problem: BanditProblem
    means: FloatArray
    reward_pmf: FloatArray
    arm_names: tuple[str, ...]
    reward_unit: str

    @abstractmethod
    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw what nature fixes in each of some rounds.

        Returns:
            An array (rounds, W), for `pull`.
        """

    def draw_trials(self, rngs: Sequence[Generator], rounds: int) -> AnyArray:
        """Draw some rounds of several trials, each with its own generator.

        Returns:
            An array (rounds, B, W), whose [:, b] is what `draw` gives with the generator b.
        """
        return np.stack([self.draw(rng, rounds) for rng in rngs], axis=1)

    @abstractmethod
    def pull(self, outcomes: AnyArray, arms: IntArray) -> Pull:
        """Look up the rewards of arms under outcomes.

        Args:
            outcomes: (n, W), n rows from `draw`.
            arms: int64 (n, m), m arms for each outcome, or (1, m): the same arms for all.

        Returns:
            The rewards, float64 (n, m), and their positions in the support or the bins, int64.
        """

    def prepare(self, outcomes: AnyArray) -> Any:
        """Bring outcomes (n, W) into the form that `pull_one` reads: override both, or none."""
        return outcomes

    def pull_one(self, prepared: Any, row: int, arm: int) -> tuple[float, int]:
        """Look up the reward of one arm under a prepared outcome: as `pull`, but quick."""
        rewards, index = self.pull(prepared[row : row + 1], np.array([[arm]]))
        return float(rewards[0, 0]), int(index[0, 0])

    def lookup(self) -> Lookup | None:
        """Return `pull` in a form for compiled loops; None: it has none.

        It holds for the class that defines it alone: a subclass may draw or pull otherwise.
        """
        return None

    def expected_pseudo_rewards(self) -> FloatArray:
        """Return phi (K, K): phi[l, k] = E[s_{l,k}(R_k)], an upper bound on the mean of arm l."""
        phi: FloatArray = np.einsum("lkj,kj->lk", self.problem.pseudo_rewards, self.reward_pmf)
        np.fill_diagonal(phi, self.means)
        return phi

    @property
    def n_arms(self) -> int:
        """The number of arms, K."""
        return self.means.size

    @property
    def gaps(self) -> FloatArray:
        """How much less than the best arm each arm gives on average, float64 (K,)."""
        gaps: FloatArray = self.means.max() - self.means
        return gaps

    @property
    def best_arms(self) -> BoolArray:
        """Which arms have the largest mean, bool (K,)."""
        best: BoolArray = self.gaps <= self.problem.tolerance
        return best


def flat(numbers: AnyArray) -> array[Any]:
    """Copy numbers, row by row, into an array of Python's, which gives one number quicker."""
    return array(numbers.dtype.char, numbers.tobytes())


def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """Return the names "prefix 0", "prefix 1", ..."""
    return tuple(f"{prefix} {number}" for number in range(count))
