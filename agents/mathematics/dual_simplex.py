"""The dual simplex method on many linear programs of one shape at once."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray

# Smaller numbers are rounding errors, in programs whose numbers are about 1.
_ZERO, _ZERO_PIVOT = 1e-11, 1e-9
_PIVOTS_PER_ROW = 20  # ten times what is needed


def maximise(tableaus: FloatArray, basis: IntArray) -> None:
    """Pivot until each program has its largest value, or for too long.

    A stopped program still has a dual feasible basis, that is, an upper bound on its value.

    Args:
        tableaus: float64 (n, rows + 1, columns + 1), changed in place: the coefficients of each
            row in terms of the basis, and its right-hand side; last the reduced costs, at most 0.
        basis: int64 (n, rows), the basic column of each row; changed in place.
    """
    n_rows = basis.shape[1]
    left = np.arange(len(tableaus))
    active, own = tableaus, basis
    for _ in range(_PIVOTS_PER_ROW * n_rows):
        row = active[:, :-1, -1].argmin(axis=1)
        every = np.arange(left.size)
        pivots = active[every, row, :-1]
        ratios = np.full(pivots.shape, np.inf)
        np.divide(active[:, -1, :-1], pivots, out=ratios, where=pivots < -_ZERO_PIVOT)
        column = ratios.argmin(axis=1)
        done = active[every, row, -1] >= -_ZERO
        done |= np.isinf(ratios[every, column])
        if done.any():
            tableaus[left[done]], basis[left[done]] = active[done], own[done]
            going = ~done
            left, active, own, row, column = (
                each[going] for each in (left, active, own, row, column)
            )
            every = every[: left.size]
        if not left.size:
            return
        scaled = active[every, row] / active[every, row, column][:, None]
        factors = active[every, :, column]
        factors[every, row] = 0
        active -= factors[:, :, None] * scaled[:, None, :]
        active[every, row] = scaled
        own[every, row] = column
    tableaus[left], basis[left] = active, own
