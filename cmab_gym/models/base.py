"""`BanditModel`: the joint distribution of the rewards of a correlated bandit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray, read_only
from cmab_gym.problem import BanditProblem

Pull: TypeAlias = tuple[FloatArray, IntArray]


class BanditModel(ABC):
    """A joint distribution of the rewards of all arms, and its means, which players do not know.

    `cmab_gym.models.draws` draws the rewards: by rounds from joint outcomes (`draw` and `pull`), or
    by pulls from each arm's own distribution (`thresholds`, or `draw_arm` for continuous rewards).

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

    def draw_arm(self, arm: int, rngs: Sequence[Generator], size: int) -> FloatArray:
        """Draw independent rewards of one arm, for models with continuous rewards.

        Takes the arm's part of joint outcomes; a model may draw the arm alone, which is faster.

        Args:
            arm: the arm.
            rngs: one generator for each row.
            size: rewards in a row.

        Returns:
            float64 (len(rngs), size).
        """
        own = np.full((1, 1), arm)
        return np.stack([self.pull(self.draw(rng, size), own)[0][:, 0] for rng in rngs])

    @cached_property
    def thresholds(self) -> FloatArray:
        """The distribution function of each arm, float64 (K, R - 1), without its last value, 1.

        The quantile at u is the reward whose position is the number of thresholds up to u.
        """
        return thresholds_of(self.reward_pmf)

    def expected_pseudo_rewards(self) -> FloatArray:
        """Return phi (K, K), phi[l, k] = E[s_{l,k}(R_k)], upper bounds on the mean of arm l.

        The pseudo-rewards are those of the table that players know; phi[k, k] is the mean of arm k.
        """
        table = self.problem.rows.table("phi")
        phi: FloatArray = np.einsum("lkj,kj->lk", table, self.reward_pmf)
        np.fill_diagonal(phi, self.means)
        return phi

    def exact_expected_pseudo_rewards(self) -> FloatArray:
        """Return phi (K, K) of the pseudo-rewards without bins.

        With bins the phi of the table is a little larger, as an entry is the largest in its bin.
        """
        return self.expected_pseudo_rewards()

    def source_rewards(self) -> FloatArray:
        """Return the lowest and the highest reward of each arm for each value of a hidden source.

        Returns:
            float64 (2, K, X), for X values, or cells of values.

        Raises:
            ValueError: the rewards do not depend on a hidden source whose values are known.
        """
        raise ValueError(
            "the rewards do not come from a hidden source: expected an environment such as "
            "CMAB-Latent-v0 or CMAB-Tabular-v0; leave out agents that are told of the source"
        )

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


def thresholds_of(pmf: FloatArray) -> FloatArray:
    """Return the distribution functions (K, R - 1) of K arms: see `BanditModel.thresholds`.

    Args:
        pmf: float64 (K, R), the probability of each reward.
    """
    thresholds = np.cumsum(pmf, axis=1)[:, :-1]
    # Exactly 1 where no larger reward is possible, whatever the rounding of the sum.
    impossible = np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1][:, 1:] == 0
    return read_only(np.where(impossible, 1.0, thresholds))


def flat(values: AnyArray) -> array[Any]:
    """Copy values, row by row, into Python's own array, from which one value is read faster."""
    return array(values.dtype.char, values.tobytes())


def names_of_arms(given: Sequence[str], n_arms: int) -> tuple[str, ...]:
    """Return the names of the arms: those given, or "arm 0", "arm 1", ... if none are.

    Raises:
        ValueError: there is not one name for each arm.
    """
    names = tuple(given) or tuple(f"arm {arm}" for arm in range(n_arms))
    if len(names) != n_arms:
        raise ValueError(f"arm_names holds {len(names)} names: expected {n_arms}, one for each arm")
    return names
