"""Distributions of rewards of K independent arms: normal, heavy-tailed, beta and finite ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, FloatArray, read_only
from cmab_gym.models.base import thresholds_of

Arm: TypeAlias = int | slice
# Normal rewards are clipped this many standard deviations beyond the outermost means, which moves
# two rewards in 10^9 at most, and a mean by less than 10^-9 standard deviations.
_STANDARD_DEVIATIONS = 6.0


class RewardLaw(ABC):
    """The distributions of the rewards of K arms.

    Attributes:
        means: float64 (K,).
        reward_bounds: (low, high), the interval that holds every reward.
        support: float64 (R,), the possible rewards; None if rewards are continuous.
        reward_sigma: as in `BanditProblem`.
    """

    means: FloatArray
    reward_bounds: tuple[float, float]
    support: FloatArray | None = None
    reward_sigma: float | None = None

    @abstractmethod
    def draw(self, rng: Generator, arm: Arm, size: tuple[int, ...]) -> FloatArray:
        """Draw independent rewards.

        Args:
            rng: the generator.
            arm: one arm; or all, slice(None), which are then the last axis of `size`.
            size: shape of the result.
        """

    @abstractmethod
    def probabilities(self, edges: FloatArray | None) -> FloatArray:
        """Return the probability of each reward of the support or of each bin, float64 (K, R)."""


class NormalLaw(RewardLaw):
    """Normal rewards with a common standard deviation.

    Args:
        means: (K,).
        sigma: the standard deviation, above 0.
        means_within: (low, high), what is known of the means before they are drawn; None takes the
            smallest and the largest. Rewards farther than 6 sigma outside are clipped, so that they
            are bounded.

    Attributes:
        sigma: the standard deviation.

    Raises:
        ValueError: a mean is not a finite number, or sigma is not above 0.
    """

    def __init__(
        self, means: ArrayLike, sigma: float, means_within: tuple[float, float] | None = None
    ) -> None:
        self.means = _means(means)
        self.sigma = checks.positive("sigma", sigma, "it is a standard deviation")
        self.reward_sigma = self.sigma
        self.reward_bounds = _around(self.means, means_within, _STANDARD_DEVIATIONS * self.sigma)

    def draw(self, rng: Generator, arm: Arm, size: tuple[int, ...]) -> FloatArray:
        """Draw rewards: see `RewardLaw.draw`."""
        rewards = rng.standard_normal(size) * self.sigma + self.means[arm]
        return np.clip(rewards, *self.reward_bounds, out=rewards)

    def probabilities(self, edges: FloatArray | None) -> FloatArray:
        """Return the probability of each bin: see `RewardLaw.probabilities`."""
        from scipy.special import ndtr

        assert edges is not None  # noqa: S101 (rewards are continuous)
        return _of_bins(ndtr((edges - self.means[:, None]) / self.sigma))


class StudentLaw(RewardLaw):
    """Rewards with heavy tails: Student's t distribution, scaled and shifted.

    Args:
        means: (K,).
        sigma: the standard deviation, above 0.
        freedom: degrees of freedom, above 2; the fewer, the heavier the tails.
        means_within: as in `NormalLaw`. Rewards farther outside than all but one in 10^9 are
            clipped.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(
        self,
        means: ArrayLike,
        sigma: float,
        freedom: float,
        means_within: tuple[float, float] | None = None,
    ) -> None:
        from scipy.special import stdtrit

        self.means = _means(means)
        sigma = checks.positive("sigma", sigma, "it is a standard deviation")
        self._freedom = checks.positive("freedom", freedom)
        if not freedom > 2:
            raise ValueError(
                f"freedom={freedom!r}: expected a number above 2; with fewer degrees of freedom "
                "rewards have no standard deviation"
            )
        self._scale = sigma * ((self._freedom - 2) / self._freedom) ** 0.5
        room = -float(stdtrit(self._freedom, 0.5e-9)) * self._scale
        self.reward_bounds = _around(self.means, means_within, room)

    def draw(self, rng: Generator, arm: Arm, size: tuple[int, ...]) -> FloatArray:
        """Draw rewards: see `RewardLaw.draw`."""
        rewards: FloatArray = rng.standard_t(self._freedom, size) * self._scale + self.means[arm]
        return np.clip(rewards, *self.reward_bounds, out=rewards)

    def probabilities(self, edges: FloatArray | None) -> FloatArray:
        """Return the probability of each bin: see `RewardLaw.probabilities`."""
        from scipy.special import stdtr

        assert edges is not None  # noqa: S101 (rewards are continuous)
        return _of_bins(stdtr(self._freedom, (edges - self.means[:, None]) / self._scale))


class BetaLaw(RewardLaw):
    """Rewards between 0 and 1 with beta distributions.

    Args:
        means: (K,), above 0 and below 1.
        concentration: the sum a + b of the parameters, above 0: arm k has a = means[k]
            concentration. The variance is mean (1 - mean) / (concentration + 1).

    Raises:
        ValueError: an argument is out of range.
    """

    reward_bounds = (0.0, 1.0)

    def __init__(self, means: ArrayLike, concentration: float) -> None:
        self.means = _means(means)
        _check_limits(self.means, (self.means > 0) & (self.means < 1), "above 0 and below 1")
        total = checks.positive("concentration", concentration, "it is the sum a + b")
        self._a, self._b = self.means * total, (1 - self.means) * total

    def draw(self, rng: Generator, arm: Arm, size: tuple[int, ...]) -> FloatArray:
        """Draw rewards: see `RewardLaw.draw`."""
        return rng.beta(self._a[arm], self._b[arm], size)

    def probabilities(self, edges: FloatArray | None) -> FloatArray:
        """Return the probability of each bin: see `RewardLaw.probabilities`."""
        from scipy.special import betainc

        assert edges is not None  # noqa: S101 (rewards are continuous)
        return _of_bins(betainc(self._a[:, None], self._b[:, None], edges))


class FiniteLaw(RewardLaw):
    """Finitely many rewards.

    Args:
        pmf: (K, R), the probabilities of the rewards of each arm; each row sums to 1.
        support: (R,), the rewards, increasing; None takes R numbers evenly spaced from 0 to 1.

    Raises:
        ValueError: a row is not a distribution, or the shapes do not fit.
    """

    def __init__(self, pmf: ArrayLike, support: ArrayLike | None = None) -> None:
        table = checks.numbers("pmf", pmf)
        if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
            raise ValueError(
                f"pmf has shape {table.shape}: expected (K, R), a row of probabilities for each of "
                "K >= 2 arms"
            )
        size = table.shape[1]
        given = np.linspace(0, 1, size) if support is None else support
        self.support = self._support = read_only(checks.increasing("support", given, 2))
        if self._support.size != size:
            raise ValueError(
                f"support holds {self._support.size} rewards: expected {size}, one for each column "
                "of pmf"
            )
        checks.finite("pmf", table)
        wrong = (table.min(axis=1) < 0) | (np.abs(table.sum(axis=1) - 1) > 1e-9)
        if wrong.any():
            arm = int(wrong.argmax())
            raise ValueError(
                f"pmf[{arm}] is {table[arm]}: expected probabilities that sum to 1; divide counts "
                "by their sum"
            )
        self._pmf = read_only(table)
        self._thresholds = thresholds_of(self._pmf)
        self.means = read_only(self._pmf @ self._support)
        self.reward_bounds = float(self._support[0]), float(self._support[-1])

    @classmethod
    def bernoulli(cls, means: ArrayLike) -> FiniteLaw:
        """Return rewards 0 and 1, the latter with the probabilities `means`, (K,).

        Raises:
            ValueError: a mean is not between 0 and 1.
        """
        ones = _means(means)
        _check_limits(ones, (ones >= 0) & (ones <= 1), "from 0 to 1")
        return cls(np.stack([1 - ones, ones], axis=1))

    def draw(self, rng: Generator, arm: Arm, size: tuple[int, ...]) -> FloatArray:
        """Draw rewards: see `RewardLaw.draw`."""
        passed = self._thresholds[arm] <= rng.random(size)[..., None]
        rewards: FloatArray = self._support.take(passed.sum(axis=-1))
        return rewards

    def probabilities(self, edges: FloatArray | None) -> FloatArray:
        """Return the probability of each reward: see `RewardLaw.probabilities`."""
        return self._pmf


def _means(values: ArrayLike) -> FloatArray:
    means = checks.read_only("means", values)
    if means.ndim != 1 or means.size < 2:
        raise ValueError(
            f"means has shape {means.shape}: expected (K,), one mean for each of K >= 2 arms"
        )
    checks.moderate("means", means)
    return means


def _check_limits(means: FloatArray, inside: BoolArray, limits: str) -> None:
    if not inside.all():
        arm = int(inside.argmin())
        raise ValueError(f"means[{arm}] is {means[arm]:g}: expected numbers {limits}")


def _around(
    means: FloatArray, within: tuple[float, float] | None, room: float
) -> tuple[float, float]:
    """Return the interval of the means, or one that is known to hold them, with room around it."""
    low, high = within or (float(means.min()), float(means.max()))
    return low - room, high + room


def _of_bins(below: FloatArray) -> FloatArray:
    """Return the probability of each bin, given the distribution functions at its edges."""
    below[:, 0], below[:, -1] = 0, 1
    probabilities: FloatArray = np.diff(below, axis=1)
    return probabilities
