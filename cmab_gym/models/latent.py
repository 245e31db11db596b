"""`LatentModel`: rewards that depend on a hidden random source X, within known bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, read_only
from cmab_gym.models.base import names_of_arms
from cmab_gym.models.drawn_rewards import DrawnRewards, rounds_per_draw
from cmab_gym.models.latent_bounds import Bound, Cells, values_of
from cmab_gym.problem import BanditProblem
from cmab_gym.pseudo_rewards import set_own_rewards

_X_QUANTILES, _REWARD_QUANTILES = 20_000, 16  # midpoints for expectations over X, and given X
_SAMPLES, _GRID_SAMPLES = 1_000_000, 20_000  # draws in their place for a sampler without quantiles
_SOURCE_CELLS = 100  # of X, for players who are told the functions
_TRIALS_PER_DRAW = 32  # trials that share a call of the functions: few enough to bound the memory
_MOST_BINS, _FEWEST_BINS, _TABLE_BYTES = 2000, 100, 4 * 2**20  # of a table with default bins


@dataclass(frozen=True)
class ScaledBeta:
    """X = scale * Beta(a, b), with the same draws as `scipy.stats.beta(a, b, scale=scale)`.

    It skips the checks that SciPy makes in every call, which take longer than the draws. Only
    Beta(1, 1) has other draws than SciPy's: those of the uniform distribution.
    """

    a: float
    b: float
    scale: float = 1.0

    def rvs(self, size: int, random_state: Generator) -> FloatArray:
        """Draw X, float64 (size,)."""
        if self.a == self.b == 1:
            return random_state.random(size) * self.scale
        return random_state.beta(self.a, self.b, size) * self.scale

    def ppf(self, q: FloatArray) -> FloatArray:
        """Return the quantiles of X."""
        from scipy.stats import beta  # this import takes half a second

        return np.asarray(beta.ppf(q, self.a, self.b, scale=self.scale))

    def support(self) -> tuple[float, float]:
        """Return the range of X."""
        return 0.0, self.scale


@dataclass(frozen=True, eq=False, repr=False)
class LatentModel(DrawnRewards):
    """Each round draws X; the reward of arm k is uniform between lower_k(X) and upper_k(X).

    The player knows the bound functions and the range of X, but not its distribution.

    Args:
        latent: the distribution of X: a frozen `scipy.stats` distribution, or a function of
            (generator, size) that returns float64 (size,).
        lower, upper: K vectorised functions of X each; equal ones make X decide the reward.
        latent_range: (low, high) of X; None takes the support of the SciPy distribution.
        reward_bounds: (low, high) of the rewards; None takes the extremes of the bound functions.
        bins: the number of bins of equal size into which the player's table divides the rewards;
            None takes `default_bins` of the number of arms.
        delta: probability, from 0 to 1, that a reward depends on another, independent X in place of
            X (soft bounds). So the bounds hold with probability 1 - delta for any reward, as the
            paper's formula needs, and the means do not depend on delta.
        arm_names: K names; if empty, the arms are numbered.

    Raises:
        ValueError: the range of X is unbounded, a lower bound is above its upper bound, a value is
            not finite, or there is not one function of each kind, and one name, for each arm.

    Source: Section 2.3 of the paper; soft bounds from its Remark 4.

    Examples:
        >>> model = LatentModel(
        ...     ScaledBeta(1, 1),
        ...     lower=[lambda x: x, lambda x: x**2],
        ...     upper=[lambda x: x, lambda x: x**2],
        ...     bins=4,
        ... )
        >>> model.means.round(3)
        array([0.5  , 0.333])
        >>> model.problem.pseudo_rewards[1, 0].round(3)  # arm 1 when arm 0 is in each quarter
        array([0.063, 0.25 , 0.563, 1.   ])
    """

    latent: Any
    lower: Sequence[Bound]
    upper: Sequence[Bound]
    latent_range: tuple[float, float] | None = None
    reward_bounds: tuple[float, float] | None = None
    bins: int | None = None
    delta: float = 0.0
    arm_names: tuple[str, ...] = ()
    reward_unit: str = field(init=False, default="reward")
    problem: BanditProblem = field(init=False)
    means: FloatArray = field(init=False)
    reward_pmf: FloatArray = field(init=False)
    _x_range: tuple[float, float] = field(init=False)
    _n_arms: int = field(init=False)
    _deterministic: bool = field(init=False)  # whether X decides the rewards

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            given = getattr(self, name)
            if not isinstance(given, Sequence) or not all(callable(each) for each in given):
                raise ValueError(f"{name}={given!r}: expected a list of functions, one per arm")
        if len(self.lower) != len(self.upper) or len(self.upper) < 2:
            raise ValueError(
                f"{len(self.lower)} lower and {len(self.upper)} upper bound functions: expected "
                "one of each per arm, for at least 2 arms"
            )
        bins = default_bins(len(self.upper))
        if self.bins is not None:
            bins = checks.whole_number("bins", self.bins, 1)
        delta = checks.number_between("delta", self.delta, 0, 1, "it is a probability")
        x_range = _range_of(self.latent, self.latent_range)
        cells = Cells.over(x_range, self.lower, self.upper)
        bounds = cells.extremes
        if self.reward_bounds is not None:
            bounds = checks.interval("reward_bounds", self.reward_bounds)
        cells = cells.within(bounds)
        edges = np.linspace(*bounds, bins + 1)
        table = _soften(cells.pseudo_rewards(edges[:-1], edges[1:]), bounds[1], delta)
        set_own_rewards(table, edges[1:])
        store = object.__setattr__
        store(self, "rounds_per_draw", rounds_per_draw(len(self.lower)))
        store(self, "_n_arms", len(self.lower))
        store(self, "_deterministic", tuple(self.lower) == tuple(self.upper))
        store(self, "bins", bins)
        store(self, "_x_range", x_range)
        store(self, "problem", BanditProblem(table, (edges[:-1] + edges[1:]) / 2, bounds, edges))
        store(self, "arm_names", names_of_arms(self.arm_names, len(self.lower)))
        store(self, "means", read_only(self._mean_rewards()))
        store(self, "reward_pmf", read_only(self._bin_probabilities()))

    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw X, and each arm's reward unless X decides it, float64 (rounds, K)."""
        return self.draw_trials([rng], rounds)[:, 0]

    def draw_trials(self, rngs: Sequence[Generator], rounds: int) -> AnyArray:
        """Draw rounds of several trials: see `BanditModel.draw_trials`."""
        outcomes = np.empty((rounds, len(rngs), self._n_arms))
        for first in range(0, len(rngs), _TRIALS_PER_DRAW):
            part = slice(first, first + _TRIALS_PER_DRAW)
            outcomes[:, part] = self._draw_rewards(rngs[part], rounds)
        return outcomes

    def _draw_rewards(self, rngs: Sequence[Generator], rounds: int) -> FloatArray:
        """Draw all rewards of some trials, with one call of each bound function for all trials."""
        soft = self.delta > 0
        x, other_x = np.empty((2, len(rngs), rounds))
        uniform, share = np.empty((2, len(rngs), self._n_arms, rounds))
        for trial, rng in enumerate(rngs):
            x[trial] = self._draw_latent(rng, rounds)
            if soft:
                rng.random(out=uniform[trial])
                other_x[trial] = self._draw_latent(rng, rounds)
            if not self._deterministic:
                rng.random(out=share[trial])
        lower, upper = self._bounds_at(x)
        if soft:
            lower, upper = np.where(uniform < self.delta, self._bounds_at(other_x), (lower, upper))
        rewards = lower if self._deterministic else lower + share * (upper - lower)
        return self._clipped(rewards).transpose(2, 0, 1)

    def draw_arm(self, arm: int, rngs: Sequence[Generator], size: int) -> FloatArray:
        """Draw X and then the arm's reward: see `BanditModel.draw_arm`.

        Soft bounds make no difference: the reward depends on X or on another X of the same law.
        """
        x = np.stack([self._draw_latent(rng, size) for rng in rngs])
        self._check_range(x)
        lower = values_of(self.lower[arm : arm + 1], x.ravel(), arm).reshape(x.shape)
        if self._deterministic:
            return self._clipped(lower)
        upper = values_of(self.upper[arm : arm + 1], x.ravel(), arm).reshape(x.shape)
        share = np.stack([rng.random(size) for rng in rngs])
        return self._clipped(lower + share * (upper - lower))

    def _clipped(self, rewards: FloatArray) -> FloatArray:
        """Clip rewards in place: a peak inside a cell may exceed the bounds by 1e-6."""
        low, high = self.problem.reward_bounds
        np.minimum(np.maximum(rewards, low, out=rewards), high, out=rewards)
        return rewards

    def exact_expected_pseudo_rewards(self) -> FloatArray:
        """Return phi (K, K) of s_{l,k}(r) without bins: see `BanditModel`."""
        cells = self._cells()
        phi = np.empty((self.n_arms, self.n_arms))
        for k, points in enumerate(np.sort(self._grid(), axis=1)):
            phi[:, k] = cells.given_arm(k, points, points).mean(axis=1)
        phi = _soften(phi, self.problem.reward_bounds[1], self.delta)
        np.fill_diagonal(phi, self.means)
        return phi

    def source_rewards(self) -> FloatArray:
        """Return the bounds in 100 cells of X of equal size: see `BanditModel.source_rewards`."""
        cells = self._cells()
        shape = (self.n_arms, _SOURCE_CELLS, -1)
        low, high = cells.low.reshape(shape).min(axis=2), cells.high.reshape(shape).max(axis=2)
        return np.stack([low, high])

    def _cells(self) -> Cells:
        # Computed again and not kept: two numbers for each arm and cell are 10 MB for three arms.
        return Cells.over(self._x_range, self.lower, self.upper).within(self.problem.reward_bounds)

    def _mean_rewards(self) -> FloatArray:
        lower, upper = self._at(self._quantiles)
        means: FloatArray = (lower + upper).mean(axis=1) / 2
        return means

    def _bin_probabilities(self) -> FloatArray:
        index = self.problem.reward_index(np.clip(self._grid(), *self.problem.reward_bounds))
        n_rewards = self.problem.reward_support.size
        counts = np.stack([np.bincount(row, minlength=n_rewards) for row in index])
        probabilities: FloatArray = counts / index.shape[1]
        return probabilities

    @cached_property
    def _quantiles(self) -> FloatArray:
        if hasattr(self.latent, "ppf"):
            midpoints = (np.arange(_X_QUANTILES) + 0.5) / _X_QUANTILES
            return np.asarray(self.latent.ppf(midpoints), dtype=np.float64)
        x = self._draw_latent(default_rng(0), _SAMPLES)
        self._check_range(x)
        return x

    def _grid(self) -> FloatArray:
        """Return equally likely rewards of each arm within its bounds, float64 (K, n)."""
        lower, upper = self._at(self._quantiles[:_GRID_SAMPLES])
        if np.array_equal(lower, upper):
            return lower
        share = (np.arange(_REWARD_QUANTILES) + 0.5) / _REWARD_QUANTILES
        grid = lower[:, :, None] + share * (upper - lower)[:, :, None]
        return grid.reshape(len(lower), -1)

    def _at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower = values_of(self.lower, x)
        return lower, lower if self._deterministic else values_of(self.upper, x)

    def _draw_latent(self, rng: Generator, size: int) -> FloatArray:
        if hasattr(self.latent, "rvs"):
            x = np.asarray(self.latent.rvs(size=size, random_state=rng), dtype=np.float64)
        else:
            x = np.asarray(self.latent(rng, size), dtype=np.float64)
        if x.shape != (size,):
            raise ValueError(f"latent drew an array {x.shape}: expected ({size},)")
        return x

    def _bounds_at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of the rewards at drawn values of X (B, n), each (B, K, n)."""
        self._check_range(x)
        shape = (len(self.lower), *x.shape)
        lower, upper = self._at(x.ravel())
        return lower.reshape(shape).swapaxes(0, 1), upper.reshape(shape).swapaxes(0, 1)

    def _check_range(self, x: FloatArray) -> None:
        low, high = self._x_range
        if not (x.min() >= low and x.max() <= high):
            raise ValueError(
                f"latent drew values from {x.min():g} to {x.max():g}: expected inside "
                f"({low:g}, {high:g}); widen latent_range"
            )


def default_bins(n_arms: int) -> int:
    """Return the default number of bins: 2,000, but at least 100 whose table takes at most 4 MB.

    Examples:
        >>> [default_bins(n_arms) for n_arms in (2, 16, 50, 100)]
        [2000, 2000, 209, 100]
    """
    return min(_MOST_BINS, max(_FEWEST_BINS, _TABLE_BYTES // (8 * n_arms**2)))


def _range_of(latent: Any, latent_range: tuple[float, float] | None) -> tuple[float, float]:
    wrong = ValueError(
        f"latent={latent!r}: expected a frozen scipy.stats distribution, such as beta(2, 5), or a "
        "function of (generator, size)"
    )
    if not callable(latent) and not hasattr(latent, "rvs"):
        raise wrong
    if not hasattr(latent, "support"):
        if latent_range is None:
            raise ValueError("latent is a sampler: expected latent_range=(low, high) of its values")
        return checks.interval("latent_range", latent_range)
    try:
        low, high = (float(end) for end in latent.support())
    except TypeError:  # beta without its parameters
        raise wrong from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(
            f"the latent source ranges over ({low:g}, {high:g}): expected finite low < high; "
            "truncate the distribution, as scipy.stats.truncnorm does"
        )
    if latent_range is None:
        return low, high
    given = checks.interval("latent_range", latent_range)
    if not given[0] <= low < high <= given[1]:
        raise ValueError(
            f"latent_range={given}: expected to hold the distribution's ({low:g}, {high:g}); leave "
            "it out"
        )
    return given


def _soften(table: FloatArray, high: float, delta: float) -> FloatArray:
    """Weaken hard pseudo-rewards to bounds that hold with probability 1 - delta (Remark 4)."""
    both = (1 - delta) ** 2
    softened: FloatArray = both * table + (1 - both) * high
    return softened
