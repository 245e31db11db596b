"""`Pooled`: ratings of arm l, pooled over the users who gave arm k the reward r."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Pooled:
    """Ratings of arms by users, with statistics of arm l over the users who gave arm k reward r_j.

    All tables are float64 (K, K, R), indexed [l, k, j]. They are products of sparse matrices of
    users by arms, so the cost is the sum over users of the square of their number of ratings, and
    the memory grows with the ratings and with R K^2.

    Args:
        user: int64 (N,), from 0 to n_users - 1.
        arm: int64 (N,), from 0 to n_arms - 1.
        level: int64 (N,), the position of each rating in the support.
        n_users: U.
        n_arms: K.
        support: float64 (R,).

    Source: Section 5.1 of the paper.
    """

    user: IntArray
    arm: IntArray
    level: IntArray
    n_users: int
    n_arms: int
    support: FloatArray

    @cached_property
    def n_ratings(self) -> FloatArray:
        """The number of ratings of arm l by users who gave arm k the reward r_j."""
        return self._pool(self._of_arms(self._by_cell[2]))

    @cached_property
    def n_raters(self) -> FloatArray:
        """The number of these users who rated arm l."""
        rated = self._of_arms(self._by_cell[2]).copy()  # changed in place below
        rated.sum_duplicates()
        rated.data[:] = 1
        return self._pool(rated)

    @cached_property
    def mean(self) -> FloatArray:
        """The mean of these ratings; NaN where there are none."""
        _, stars, counts = self._by_cell
        return _ratio(self._pool(self._of_arms(counts * stars)), self.n_ratings)

    @cached_property
    def deviation(self) -> FloatArray:
        """The standard deviation of these ratings; NaN where there are none."""
        _, stars, counts = self._by_cell
        mean_square = _ratio(self._pool(self._of_arms(counts * stars**2)), self.n_ratings)
        deviation: FloatArray = np.sqrt(np.maximum(mean_square - self.mean**2, 0))
        return deviation

    def bootstrap_quantile(self, level: float, resamples: int, seed: int) -> FloatArray:
        """Return a quantile of the mean over resampled users.

        Resamples without a rating are left out; the result is NaN where these are more than half.

        Args:
            level: the level of the quantile, from 0 to 1.
            resamples: how many times users are drawn with replacement.
            seed: the seed of the draws.
        """
        rng = default_rng(seed)
        _, stars, counts = self._by_cell
        total, n_ratings = self._of_arms(counts * stars), self._of_arms(counts)
        means = np.empty((resamples, self.n_arms, self.n_arms, self.support.size))
        for each in means:
            weights = rng.multinomial(self.n_users, np.full(self.n_users, 1 / self.n_users))
            each[:] = _ratio(self._pool(total, weights), self._pool(n_ratings, weights))
        unknown = np.isnan(means).mean(axis=0) > 0.5
        means[:, unknown] = 0
        quantile: FloatArray = np.where(unknown, np.nan, np.nanquantile(means, level, axis=0))
        return quantile

    @cached_property
    def _cells(self) -> tuple[IntArray, IntArray]:
        """The triples (user, arm, level) that occur, as sorted integers, and their counts."""
        size = self.n_arms * self.support.size
        cells = self.user * size + self.arm * self.support.size + self.level
        return np.unique(cells, return_counts=True)

    @cached_property
    def _by_cell(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The arm, the reward and the number of ratings of each cell."""
        cells, counts = self._cells
        arm, level = np.divmod(cells % (self.n_arms * self.support.size), self.support.size)
        return arm, self.support[level], counts.astype(np.float64)

    @cached_property
    def _gave(self) -> Any:
        """Whether each user gave each arm each reward at least once: sparse 0/1 (U, K R)."""
        cells = self._cells[0]
        width = self.n_arms * self.support.size
        return self._sparse(np.ones(cells.size), cells % width, width)

    def _of_arms(self, values: FloatArray) -> Any:
        """Sum the values of cells by user and arm: sparse (U, K)."""
        return self._sparse(values, self._by_cell[0], self.n_arms)

    def _sparse(self, values: FloatArray, columns: IntArray, width: int) -> Any:
        """Put the value of each cell in the row of its user: sparse (U, width)."""
        from scipy.sparse import csr_array

        size = self.n_arms * self.support.size
        row_starts = np.searchsorted(self._cells[0], np.arange(self.n_users + 1) * size)
        return csr_array((values, columns, row_starts), shape=(self.n_users, width))

    def _pool(self, by_user: Any, weights: IntArray | None = None) -> FloatArray:
        gave = self._gave if weights is None else self._gave.multiply(weights[:, None]).tocsr()
        # Sums of whole and half stars are exact in floating point, in any order, so the tables are
        # the same to the bit on every machine.
        pooled: FloatArray = (gave.T @ by_user).toarray()
        shape = (self.n_arms, self.support.size, self.n_arms)
        return np.ascontiguousarray(pooled.reshape(shape).transpose(2, 0, 1))


def _ratio(total: FloatArray, count: FloatArray) -> FloatArray:
    result = np.full(total.shape, np.nan)
    np.divide(total, count, out=result, where=count > 0)
    return result
