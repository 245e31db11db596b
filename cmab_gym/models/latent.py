"""`LatentModel`: rewards that depend on a hidden random source X, known up to bounds."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator, default_rng

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray, read_only
from cmab_gym.models.base import BanditModel, Lookup, Pull, flat, numbered
from cmab_gym.problem import BanditProblem
from cmab_gym.pseudo_rewards import largest_over_intervals

Bound: TypeAlias = Callable[[FloatArray], Any]
Sampler: TypeAlias = Callable[[Generator, int], FloatArray]

_CELLS = 200_000  # pieces of the range of X over which the bounds are taken as known
_X_QUANTILES, _REWARD_QUANTILES = 20_000, 16  # midpoints for expectations over X, and given X
_SAMPLES, _GRID_SAMPLES = 1_000_000, 20_000  # draws instead, for a sampler, which has no quantiles
# A trial's rewards that are drawn at once, of all arms, to share the cost of a call; and how many
# trials together, lest what is only needed for a moment fill the memory.
_REWARDS_PER_DRAW, _TRIALS_PER_DRAW = 8192, 32


@dataclass(frozen=True)
class ScaledBeta:
    """X = scale * Beta(a, b): `scipy.stats.beta(a, b, scale=scale)`, number for number.

    It draws without SciPy's checks of every call, which take longer than the numbers; and
    Beta(1, 1), which is uniform, without NumPy's rejections, so that its numbers are others.
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
        from scipy.stats import beta  # takes half a second: only where it is needed

        return np.asarray(beta.ppf(q, self.a, self.b, scale=self.scale))

    def support(self) -> tuple[float, float]:
        """Return the range of X."""
        return 0.0, self.scale


@dataclass(frozen=True, eq=False, repr=False)
class LatentModel(BanditModel):
    """Each round draws X; arm k's reward is uniform between lower_k(X) and upper_k(X).

    The player knows the bound functions and the range of X, not its distribution.

    Args:
        latent: the distribution of X: a frozen `scipy.stats` distribution, or a function of
            (generator, size) that returns float64 (size,).
        lower, upper: K functions each, vectorised, of X; the same twice is a deterministic reward.
        latent_range: (low, high) of X; None takes the support of the scipy distribution.
        reward_bounds: (low, high) of the rewards; None takes the extremes of the bound functions.
        bins: into how many bins of equal size the player's table divides the rewards.
        delta: chance, from 0 to 1, that a reward has nothing to do with X (soft bounds): it then
            belongs to another, independent X. So the bounds hold with chance 1 - delta whatever
            the reward, as the paper's formula needs, and the means do not depend on delta.
        arm_names: K names; empty numbers them.

    Raises:
        ValueError: an unbounded range of X, a lower bound above its upper bound, a value that is
            not finite, or a number of functions that does not fit.

    Source: Section 2.3 of the paper; soft bounds from its Remark 3.
    """

    latent: Any
    lower: Sequence[Bound]
    upper: Sequence[Bound]
    latent_range: tuple[float, float] | None = None
    reward_bounds: tuple[float, float] | None = None
    bins: int = 100
    delta: float = 0.0
    arm_names: tuple[str, ...] = ()
    reward_unit: str = field(init=False, default="reward")
    problem: BanditProblem = field(init=False)
    means: FloatArray = field(init=False)
    reward_pmf: FloatArray = field(init=False)
    _cells: _Cells = field(init=False)
    _cuts: FloatArray = field(init=False)  # between the bins
    _starts: FloatArray = field(init=False)  # of the bins: all is in the first, nothing past them
    _n_arms: int = field(init=False)
    _decided: bool = field(init=False)  # X decides the rewards

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
        bins = checks.whole_number("bins", self.bins, 1)
        delta = checks.number_between("delta", self.delta, 0, 1, "it is a probability")
        cells = _Cells.over(_range_of(self.latent, self.latent_range), self.lower, self.upper)
        bounds = cells.extremes
        if self.reward_bounds is not None:
            bounds = checks.interval("reward_bounds", self.reward_bounds)
        cells = cells.within(bounds)
        edges = np.linspace(*bounds, bins + 1)
        table = _soften(cells.pseudo_rewards(edges[:-1], edges[1:]), bounds[1], delta)
        arms = np.arange(len(self.lower))
        table[arms, arms] = edges[1:]
        store = object.__setattr__
        store(self, "rounds_per_draw", max(1, _REWARDS_PER_DRAW // len(self.lower)))
        store(self, "_n_arms", len(self.lower))
        store(self, "_decided", tuple(self.lower) == tuple(self.upper))
        store(self, "_cells", cells)
        store(self, "_cuts", edges[1:-1])
        store(self, "_starts", np.array([-np.inf, *edges[1:-1], np.inf]))
        store(self, "problem", BanditProblem(table, (edges[:-1] + edges[1:]) / 2, bounds, edges))
        store(self, "arm_names", tuple(self.arm_names) or numbered("arm", len(self.lower)))
        store(self, "means", read_only(self._mean_rewards()))
        store(self, "reward_pmf", read_only(self._bin_chances()))

    def draw(self, rng: Generator, rounds: int) -> AnyArray:
        """Draw X and then, unless X decides it, each arm's reward, float64 (rounds, K)."""
        return self.draw_trials([rng], rounds)[:, 0]

    def draw_trials(self, rngs: Sequence[Generator], rounds: int) -> AnyArray:
        """Draw rounds of several trials: see `BanditModel.draw_trials`."""
        outcomes = np.empty((rounds, len(rngs), self._n_arms))
        for first in range(0, len(rngs), _TRIALS_PER_DRAW):
            some = slice(first, first + _TRIALS_PER_DRAW)
            outcomes[:, some] = self._draw_some(rngs[some], rounds)
        return outcomes

    def _draw_some(self, rngs: Sequence[Generator], rounds: int) -> FloatArray:
        # The bound functions are called once for all these trials.
        soft = self.delta > 0
        x, others = np.empty((2, len(rngs), rounds))
        apart, share = np.empty((2, len(rngs), self._n_arms, rounds))
        for trial, rng in enumerate(rngs):
            x[trial] = self._draw_latent(rng, rounds)
            if soft:
                rng.random(out=apart[trial])
                others[trial] = self._draw_latent(rng, rounds)
            if not self._decided:
                rng.random(out=share[trial])
        lower, upper = self._bounds_at(x)
        if soft:
            lower, upper = np.where(apart < self.delta, self._bounds_at(others), (lower, upper))
        rewards = lower if self._decided else lower + share * (upper - lower)
        # A peak between two of the grid's points may pass the bounds by about 1e-6 of their size.
        low, high = self.problem.reward_bounds
        np.minimum(np.maximum(rewards, low, out=rewards), high, out=rewards)
        return rewards.transpose(2, 0, 1)

    def pull(self, outcomes: AnyArray, arms: IntArray) -> Pull:
        """Look up rewards: see `BanditModel.pull`."""
        n_arms = outcomes.shape[1]
        rewards = outcomes.take(arms + np.arange(0, outcomes.size, n_arms)[:, None])
        # `draw` keeps rewards within the bounds, so that `problem.reward_index` need not look.
        return rewards, self._cuts.searchsorted(rewards, side="right")

    def prepare(self, outcomes: AnyArray) -> tuple[array[Any], array[Any]]:
        """Find the bins of all rewards: see `BanditModel.prepare`."""
        # The bins are of equal size, so that they can be computed, and corrected where rounding
        # passed an end. To search for so many would take seven times as long.
        low, high = self.problem.reward_bounds
        index = ((outcomes - low) / (high - low) * self.bins).astype(np.int64)
        index -= outcomes < self._starts.take(index)
        index += outcomes >= self._starts.take(index + 1)
        return flat(outcomes), flat(index)

    def pull_one(
        self, prepared: tuple[array[Any], array[Any]], row: int, arm: int
    ) -> tuple[float, int]:
        """Look up one reward: see `BanditModel.pull_one`."""
        rewards, index = prepared
        place = row * self._n_arms + arm
        return rewards[place], index[place]

    def lookup(self) -> Lookup:
        """See `BanditModel.lookup`."""
        return Lookup(self.problem.reward_support, cuts=self._cuts)

    def expected_pseudo_rewards(self) -> FloatArray:
        """Return phi (K, K) of the exact pseudo-rewards s_{l,k}(r), not of the binned table.

        The table's own phi is a little larger: it takes the largest pseudo-reward in each bin.
        """
        phi = np.empty((self.n_arms, self.n_arms))
        for k, points in enumerate(np.sort(self._grid, axis=1)):
            phi[:, k] = self._cells.given_arm(k, points, points).mean(axis=1)
        phi = _soften(phi, self.problem.reward_bounds[1], self.delta)
        np.fill_diagonal(phi, self.means)
        return phi

    def _mean_rewards(self) -> FloatArray:
        lower, upper = self._at(self._quantiles)
        means: FloatArray = (lower + upper).mean(axis=1) / 2
        return means

    def _bin_chances(self) -> FloatArray:
        index = self.problem.reward_index(np.clip(self._grid, *self.problem.reward_bounds))
        counts = np.stack([np.bincount(row, minlength=self.bins) for row in index])
        chances: FloatArray = counts / index.shape[1]
        return chances

    @cached_property
    def _quantiles(self) -> FloatArray:
        if hasattr(self.latent, "ppf"):
            midpoints = (np.arange(_X_QUANTILES) + 0.5) / _X_QUANTILES
            return np.asarray(self.latent.ppf(midpoints), dtype=np.float64)
        x = self._draw_latent(default_rng(0), _SAMPLES)
        self._check_range(x)
        return x

    @cached_property
    def _grid(self) -> FloatArray:
        """Equally likely rewards of each arm within its bounds, (K, number)."""
        lower, upper = self._at(self._quantiles[:_GRID_SAMPLES])
        if np.array_equal(lower, upper):
            return lower
        share = (np.arange(_REWARD_QUANTILES) + 0.5) / _REWARD_QUANTILES
        grid = lower[:, :, None] + share * (upper - lower)[:, :, None]
        return grid.reshape(len(lower), -1)

    def _at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower = _values(self.lower, x)
        return lower, lower if self._decided else _values(self.upper, x)

    def _draw_latent(self, rng: Generator, size: int) -> FloatArray:
        if hasattr(self.latent, "rvs"):
            x = np.asarray(self.latent.rvs(size=size, random_state=rng), dtype=np.float64)
        else:
            x = np.asarray(self.latent(rng, size), dtype=np.float64)
        if x.shape != (size,):
            raise ValueError(f"latent drew an array {x.shape}: expected ({size},)")
        return x

    def _bounds_at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of the rewards under values of X drawn, (B, n) to (B, K, n) each."""
        self._check_range(x)
        shape = (len(self.lower), *x.shape)
        lower, upper = self._at(x.ravel())
        return lower.reshape(shape).swapaxes(0, 1), upper.reshape(shape).swapaxes(0, 1)

    def _check_range(self, x: FloatArray) -> None:
        low, high = self._cells.x_range
        if not (x.min() >= low and x.max() <= high):
            raise ValueError(
                f"latent drew values from {x.min():g} to {x.max():g}: expected inside "
                f"({low:g}, {high:g}); widen latent_range"
            )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The range of X in small cells, with bounds on every arm's reward over each.

    `low` and `high` are float64 (K, cells). They hold for the whole cell if each function has at
    most one kink or extremum in it: the larger second difference of its ends, halved, is at least
    what such a function can rise above both ends.
    """

    x_range: tuple[float, float]
    extremes: tuple[float, float]  # the smallest and largest reward at the grid's points
    low: FloatArray
    high: FloatArray

    @classmethod
    def over(
        cls, x_range: tuple[float, float], lower: Sequence[Bound], upper: Sequence[Bound]
    ) -> _Cells:
        x = np.linspace(*x_range, _CELLS + 1)
        low, high = _values(lower, x), _values(upper, x)
        if np.any(low > high):
            arm, i = (int(place[0]) for place in np.nonzero(low > high))
            raise ValueError(
                f"at X = {x[i]:g} the lower bound {low[arm, i]:g} of arm {arm} is above its upper "
                f"bound {high[arm, i]:g}: expected lower <= upper; swap the functions"
            )
        extremes = (float(low.min()), float(high.max()))
        return cls(x_range, extremes, -_cell_maxima(-low), _cell_maxima(high))

    def within(self, bounds: tuple[float, float]) -> _Cells:
        """Return the same cells with every bound inside the rewards' interval."""
        (low, high), (lowest, highest) = bounds, self.extremes
        if not low < high:
            raise ValueError(
                f"reward_bounds={bounds}: expected low < high; all rewards of a constant bandit "
                "are equal, and no bins divide them"
            )
        slack = 1e-9 * (high - low)
        if lowest < low - slack or highest > high + slack:
            raise ValueError(
                f"reward_bounds={bounds}: expected to hold all rewards, from {lowest:g} to "
                f"{highest:g}; widen them"
            )
        inside = np.clip([self.low, self.high], *bounds)
        return replace(self, low=inside[0], high=inside[1])

    def given_arm(self, k: int, starts: FloatArray, stops: FloatArray) -> FloatArray:
        """Bound every arm's reward when arm k's reward lies in [starts[j], stops[j]].

        Both are sorted. Returns float64 (K, len(starts)). Where no X allows such a reward of arm
        k, the bound is the smaller one of the nearest rewards that are possible: any would be
        true, and with this one narrower intervals never have larger bounds.
        """
        slack = 1e-12 * max(1.0, float(np.abs(self.high[k]).max()))
        first = np.searchsorted(stops, self.low[k] - slack, side="left")
        last = np.searchsorted(starts, self.high[k] + slack, side="right") - 1
        rows = [largest_over_intervals(first, last, row, starts.size) for row in self.high]
        return _from_nearest(np.stack(rows))

    def pseudo_rewards(self, starts: FloatArray, stops: FloatArray) -> FloatArray:
        """Return the table (K, K, R) whose entries bound s_lk over each [starts[j], stops[j]]."""
        given = [self.given_arm(k, starts, stops) for k in range(len(self.low))]
        return np.stack(given, axis=1)


def _from_nearest(table: FloatArray) -> FloatArray:
    """Replace columns of -inf by the smaller one of the nearest other columns."""
    size = table.shape[1]
    possible = ~np.isneginf(table[0])
    place = np.arange(size)
    left = np.maximum.accumulate(np.where(possible, place, -1))
    right = np.minimum.accumulate(np.where(possible, place, size)[::-1])[::-1]
    padded = np.pad(table, ((0, 0), (0, 1)), constant_values=np.inf)  # -1 and size are infinite
    nearest: FloatArray = np.minimum(padded[:, left], padded[:, right])
    return nearest


def _cell_maxima(values: FloatArray) -> FloatArray:
    second = np.abs(np.diff(values, n=2, axis=1))
    second = np.pad(second, ((0, 0), (1, 1)), mode="edge")
    ends = np.maximum(values[:, :-1], values[:, 1:])
    return ends + np.maximum(second[:, :-1], second[:, 1:]) / 2


def _values(functions: Sequence[Bound], x: FloatArray) -> FloatArray:
    rows = np.empty((len(functions), x.size))
    for arm, function in enumerate(functions):
        try:
            rows[arm] = function(x)
        except Exception as error:
            raise ValueError(
                f"a bound of arm {arm} fails on an array of X ({type(error).__name__}: {error}): "
                "expected a vectorised function; np.vectorize(f) makes one of any f"
            ) from error
    if not np.isfinite(rows).all():
        arm, i = (int(place[0]) for place in np.nonzero(~np.isfinite(rows)))
        raise ValueError(
            f"a bound of arm {arm} is {rows[arm, i]} at X = {x[i]:g}: expected finite numbers over "
            "the whole range of X; narrow latent_range"
        )
    return rows


def _range_of(latent: Any, latent_range: tuple[float, float] | None) -> tuple[float, float]:
    if not callable(latent) and not hasattr(latent, "rvs"):
        raise ValueError(
            f"latent={latent!r}: expected a frozen scipy.stats distribution, such as beta(2, 5), "
            "or a function of (generator, size)"
        )
    if not hasattr(latent, "support"):
        if latent_range is None:
            raise ValueError("latent is a sampler: expected latent_range=(low, high) of its values")
        return checks.interval("latent_range", latent_range)
    low, high = (float(end) for end in latent.support())
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
    """Weaken hard pseudo-rewards to bounds that hold with probability 1 - delta (Remark 3)."""
    both = (1 - delta) ** 2
    softened: FloatArray = both * table + (1 - both) * high
    return softened
