"""`Pooled`: ratings of arm l, pooled over the users who gave arm k the reward r."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym.arrays import AnyArray, FloatArray, IntArray


class Statistics(ABC):
    """Statistics of some entries [l, k, j] of a table of pseudo-rewards, arrays of one shape.

    They are those of the ratings of arm l by users who gave arm k the reward r_j.
    """

    @abstractmethod
    def resampled(self, resamples: int, seed: int) -> IntArray:
        """Return how often each user is drawn in each resample, int64 (resamples, U)."""

    @abstractmethod
    def _pool(self, name: str, weights: IntArray | None = None) -> AnyArray:
        """Sum `Pooled.of_users(name)` over the users behind each entry.

        Args:
            name: as for `Pooled.of_users`.
            weights: int64 (U,), how often each user counts; None counts each once.
        """

    @cached_property
    def n_ratings(self) -> FloatArray:
        """The number of ratings."""
        return self._sums.imag

    @cached_property
    def n_raters(self) -> FloatArray:
        """The number of users who gave them."""
        return self._pool("raters")

    @cached_property
    def mean(self) -> FloatArray:
        """The mean of the ratings; NaN without ratings."""
        return _ratio(self._sums.real, self.n_ratings)

    @cached_property
    def deviation(self) -> FloatArray:
        """The standard deviation of the ratings; NaN without ratings."""
        variance = _ratio(self._pool("squares"), self.n_ratings) - self.mean**2
        deviation: FloatArray = np.sqrt(np.maximum(variance, 0))
        return deviation

    def bootstrap_quantile(self, level: float, resamples: int, seed: int) -> FloatArray:
        """Return a quantile of the mean over resampled users.

        Resamples without a rating are left out; the result is NaN where these are more than half.

        Args:
            level: the level of the quantile, from 0 to 1.
            resamples: how many times users are drawn with replacement.
            seed: the seed of the draws.
        """
        means = np.empty((resamples, *self.n_ratings.shape))
        for each, weights in zip(means, self.resampled(resamples, seed), strict=True):
            sums = self._pool("ratings", weights)
            each[:] = _ratio(sums.real, sums.imag)
        unknown = np.isnan(means).mean(axis=0) > 0.5
        means[:, unknown] = 0
        quantile: FloatArray = np.where(unknown, np.nan, np.nanquantile(means, level, axis=0))
        return quantile

    @cached_property
    def _sums(self) -> AnyArray:
        return self._pool("ratings")


@dataclass(frozen=True, eq=False)
class Pooled(Statistics):
    """Ratings of arms by users, with the statistics of all entries.

    The statistics are float64 (K, K, R), indexed [l, k, j]. They are products of sparse matrices of
    users by arms, so the cost is the sum over users of the square of their number of ratings, and
    the memory grows with the ratings and with R K^2.

    Args:
        user: int64 (N,), from 0 to n_users - 1.
        arm: int64 (N,), from 0 to n_arms - 1.
        level: int64 (N,), the position of each rating in the support.
        n_users: U.
        n_arms: K.
        support: float64 (R,).
        segments: (U,), the name of each user's segment; None where it is unknown.

    Source: Section 6.1 of the paper.
    """

    user: IntArray
    arm: IntArray
    level: IntArray
    n_users: int
    n_arms: int
    support: FloatArray
    segments: AnyArray | None = None

    def resampled(self, resamples: int, seed: int) -> IntArray:
        """Return how often each user is drawn in each resample, int64 (resamples, U)."""
        key = (resamples, seed)
        if key not in self._resampled:
            even = np.full(self.n_users, 1 / self.n_users)
            drawn = default_rng(seed).multinomial(self.n_users, even, size=resamples)
            self._resampled[key] = drawn.astype(np.int64, copy=False)
        return self._resampled[key]

    def of_users(self, name: str) -> Any:
        """Return what is pooled, by user and arm: sparse (U, K).

        Args:
            name: "ratings", complex, the sum of ratings and their count as the imaginary part, to
                pool both in one product; the sum of their "squares"; or "raters", 1 where a user
                rated an arm.
        """
        if name not in self._of_users:
            arm, level, counts = self._by_cell
            ones = np.ones(self.support.size)
            table = {"ratings": self.support + 1j, "squares": self.support**2}.get(name, ones)
            values = table[level]
            if (counts != 1).any():
                values *= counts
            by_user = self._sparse(values, arm, self.n_arms)
            if name == "raters":
                by_user.sum_duplicates()
                by_user.data[:] = 1
            self._of_users[name] = by_user
        return self._of_users[name]

    def gave_by_cell(self, cells: slice | IntArray) -> Any:
        """Return which users gave arm k the reward r_j, sparse 0/1 (E, U).

        Args:
            cells: the rows k R + j.
        """
        return self._gave_by_cell[cells]

    def column(self, arm: int) -> dict[str, AnyArray]:
        """Return the column of an arm of each of the matrices `of_users`, (U,)."""
        size = self.support.size
        gave = self._counts_by_cell[arm * size : (arm + 1) * size]
        stars = np.repeat(self.support, np.diff(gave.indptr))

        def summed(values: FloatArray) -> FloatArray:
            return np.bincount(gave.indices, values, self.n_users).astype(np.float64, copy=False)

        counts = summed(gave.data)
        return {
            "ratings": summed(gave.data * stars) + 1j * counts,
            "squares": summed(gave.data * stars**2),
            "raters": (counts > 0).astype(np.float64),
        }

    def raters(self, arm: int) -> IntArray:
        """Return the users who rated an arm, those who gave the smallest rewards first."""
        size = self.support.size
        first, stop = self._counts_by_cell.indptr[[arm * size, (arm + 1) * size]]
        users: IntArray = self._counts_by_cell.indices[first:stop]
        return users

    def smallest_reward(self, arm: int) -> float:
        """Return the smallest reward that a user gave an arm; infinity without any."""
        size = self.support.size
        starts = self._counts_by_cell.indptr[arm * size : (arm + 1) * size + 1]
        given = np.flatnonzero(np.diff(starts))
        return float(self.support[given[0]]) if given.size else np.inf

    def arms_of(self, user: int) -> IntArray:
        """Return the arms that a user rated, one or more times each."""
        by_user = self.of_users("ratings")
        arms: IntArray = by_user.indices[by_user.indptr[user] : by_user.indptr[user + 1]]
        return arms

    @cached_property
    def _of_users(self) -> dict[str, Any]:
        return {}

    @cached_property
    def _resampled(self) -> dict[tuple[int, int], IntArray]:
        return {}

    @cached_property
    def _cells(self) -> tuple[IntArray, IntArray]:
        """The triples (user, arm, level) that occur, as sorted integers, and their counts."""
        size = self.n_arms * self.support.size
        cells = self.user.astype(np.int64) * size
        cells += self.arm.astype(np.int64) * self.support.size + self.level
        return np.unique(cells, return_counts=True)

    @property
    def _by_cell(self) -> tuple[AnyArray, AnyArray, IntArray]:
        """The arm, the level and the number of ratings of each cell, in small types."""
        size, (cells, counts) = self.support.size, self._cells
        rest = cells % (self.n_arms * size)
        level = (rest % size).astype(np.min_scalar_type(size))
        rest //= size
        return rest.astype(np.int32), level, counts

    @cached_property
    def _counts_by_cell(self) -> Any:
        """How often each user gave each arm each reward: sparse (K R, U)."""
        cells, counts = self._cells
        width = self.n_arms * self.support.size
        by_user = self._sparse(counts.astype(np.float64), cells % width, width)
        return by_user.T.tocsr()

    @cached_property
    def _gave_by_cell(self) -> Any:
        """Whether each user gave each arm each reward at least once: sparse 0/1 (K R, U)."""
        gave = self._counts_by_cell
        if (gave.data != 1).any():
            gave = gave.copy()
            gave.data[:] = 1
        return gave

    def _sparse(self, values: AnyArray, columns: AnyArray, width: int) -> Any:
        """Put the value of each cell in the row of its user: sparse (U, width)."""
        from scipy.sparse import csr_array

        size = self.n_arms * self.support.size
        row_starts = np.searchsorted(self._cells[0], np.arange(self.n_users + 1) * size)
        return csr_array((values, columns, row_starts), shape=(self.n_users, width))

    def _pool(self, name: str, weights: IntArray | None = None) -> AnyArray:
        gave = self._gave_by_cell
        if weights is not None:
            gave = gave.multiply(weights[None, :]).tocsr()
        # Sums of whole and half stars are exact in floating point, in any order, so the tables are
        # the same to the bit on every machine.
        pooled: AnyArray = (gave @ self.of_users(name)).toarray()
        shape = (self.n_arms, self.support.size, self.n_arms)
        return np.ascontiguousarray(pooled.reshape(shape).transpose(2, 0, 1))


def _ratio(total: FloatArray, count: FloatArray) -> FloatArray:
    """Divide, with NaN where the count is 0."""
    result = np.full(total.shape, np.nan)
    np.divide(total, count, out=result, where=count > 0)
    return result
