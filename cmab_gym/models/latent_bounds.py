"""Bounds on the rewards of a `LatentModel`, computed over small cells of the range of X."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray

Bound: TypeAlias = Callable[[FloatArray], Any]

_CELLS = 200_000


@dataclass(frozen=True, eq=False)
class Cells:
    """Bounds on every arm's reward in each cell of the range of X.

    `low` and `high` are float64 (K, cells). They hold in the whole cell if each bound function has
    at most one kink or extremum in it: half the larger second difference at the cell's ends is an
    upper bound on how far such a function can rise above both ends.

    Args:
        extremes: the smallest and the largest reward at the ends of the cells.
        low: lower bounds.
        high: upper bounds.
    """

    extremes: tuple[float, float]
    low: FloatArray
    high: FloatArray

    @classmethod
    def over(
        cls, x_range: tuple[float, float], lower: Sequence[Bound], upper: Sequence[Bound]
    ) -> Cells:
        """Divide the range of X into cells, and bound the functions in each.

        Raises:
            ValueError: a lower bound is above its upper bound, or a function fails or returns a
                value that is not finite.
        """
        x = np.linspace(*x_range, _CELLS + 1)
        low, high = values_of(lower, x), values_of(upper, x)
        if np.any(low > high):
            arm, i = (int(indices[0]) for indices in np.nonzero(low > high))
            raise ValueError(
                f"at X = {x[i]:g} the lower bound {low[arm, i]:g} of arm {arm} is above its upper "
                f"bound {high[arm, i]:g}: expected lower <= upper; swap the functions"
            )
        extremes = (float(low.min()), float(high.max()))
        return cls(extremes, -_cell_maxima(-low), _cell_maxima(high))

    def within(self, bounds: tuple[float, float]) -> Cells:
        """Return the same cells with all bounds clipped to an interval that holds every reward.

        Raises:
            ValueError: the interval is a point, or does not hold every reward.
        """
        (low, high), (lowest, highest) = bounds, self.extremes
        if not low < high:
            raise ValueError(
                f"reward_bounds={bounds}: expected low < high; the rewards of a constant bandit "
                "are all equal and cannot be divided into bins"
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
        """Bound every arm's reward when the reward of arm k is in [starts[j], stops[j]].

        Where no X allows such a reward, the bound is the smaller of those at the nearest possible
        rewards. Any bound would be valid there; this one never grows when an interval shrinks.

        Args:
            k: the arm.
            starts: float64 (R,), sorted.
            stops: float64 (R,), sorted.

        Returns:
            float64 (K, R).
        """
        slack = 1e-12 * max(1.0, float(np.abs(self.high[k]).max()))
        first = np.searchsorted(stops, self.low[k] - slack, side="left")
        last = np.searchsorted(starts, self.high[k] + slack, side="right") - 1
        rows = [largest_over_intervals(first, last, row, starts.size) for row in self.high]
        return _fill_from_nearest(np.stack(rows))

    def pseudo_rewards(self, starts: FloatArray, stops: FloatArray) -> FloatArray:
        """Return the table (K, K, R) whose entries bound s_lk over each [starts[j], stops[j]]."""
        given = [self.given_arm(k, starts, stops) for k in range(len(self.low))]
        return np.stack(given, axis=1)


def values_of(functions: Sequence[Bound], x: FloatArray, first_arm: int = 0) -> FloatArray:
    """Evaluate the bound functions of some arms at x (n,), float64 (len(functions), n).

    Raises:
        ValueError: a function fails on an array, or returns a value that is not finite.
    """
    rows = np.empty((len(functions), x.size))
    for i, function in enumerate(functions):
        try:
            rows[i] = function(x)
        except Exception as error:
            raise ValueError(
                f"a bound of arm {first_arm + i} fails on an array of X "
                f"({type(error).__name__}: {error}): expected a vectorised function; "
                "np.vectorize(f) makes one from any f"
            ) from error
    if not np.isfinite(rows).all():
        i, j = (int(indices[0]) for indices in np.nonzero(~np.isfinite(rows)))
        raise ValueError(
            f"a bound of arm {first_arm + i} is {rows[i, j]} at X = {x[j]:g}: expected finite "
            "numbers over the whole range of X; narrow latent_range"
        )
    return rows


def largest_over_intervals(
    first: IntArray, last: IntArray, values: FloatArray, size: int
) -> FloatArray:
    """Return, for each position, the largest value of the intervals that cover it.

    Each interval is the union of two intervals of one power-of-two length, which are then halved
    step by step. So the cost is N + size * log(size), without a loop over intervals.

    Args:
        first: int64 (N,), the first position of each interval.
        last: int64 (N,), its last position; the interval is empty if last < first.
        values: float64 (N,), the value of each interval.
        size: the number of positions.

    Returns:
        float64 (size,); -inf where no interval covers the position.

    Examples:
        >>> first, last = np.array([0, 1]), np.array([1, 2])
        >>> largest_over_intervals(first, last, np.array([5.0, 7.0]), size=4)
        array([  5.,   7.,   7., -inf])
    """
    kept = last >= first
    first, last, values = first[kept], last[kept], values[kept]
    level = np.frexp((last - first + 1).astype(np.float64))[1] - 1
    best = np.full((int(level.max(initial=0)) + 1, size), -np.inf)
    flat = best.reshape(-1)  # NumPy is several times faster with one index than with two
    np.maximum.at(flat, level * size + first, values)
    np.maximum.at(flat, level * size + last - (1 << level) + 1, values)
    for step in range(len(best) - 1, 0, -1):
        half = 1 << (step - 1)
        np.maximum(best[step - 1], best[step], out=best[step - 1])
        np.maximum(best[step - 1, half:], best[step, :-half], out=best[step - 1, half:])
    covered: FloatArray = best[0]
    return covered


def _fill_from_nearest(table: FloatArray) -> FloatArray:
    """Replace columns of -inf by the smaller of the nearest other columns."""
    size = table.shape[1]
    possible = ~np.isneginf(table[0])
    columns = np.arange(size)
    left = np.maximum.accumulate(np.where(possible, columns, -1))
    right = np.minimum.accumulate(np.where(possible, columns, size)[::-1])[::-1]
    padded = np.pad(table, ((0, 0), (0, 1)), constant_values=np.inf)  # -1 and size are infinite
    nearest: FloatArray = np.minimum(padded[:, left], padded[:, right])
    return nearest


def _cell_maxima(values: FloatArray) -> FloatArray:
    second = np.abs(np.diff(values, n=2, axis=1))
    second = np.pad(second, ((0, 0), (1, 1)), mode="edge")
    ends = np.maximum(values[:, :-1], values[:, 1:])
    return ends + np.maximum(second[:, :-1], second[:, 1:]) / 2
