"""A primal-dual interior-point method for likelihoods over cones, on many programs at once."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray

_STEPS = 60  # of Newton's method; about 15 are needed
_CENTRING = 0.1  # the gap aimed at, as a share of the present one
_TO_BOUNDARY = 0.98  # share of the way to the boundary that a step may go
_START = 0.1  # of slacks and prices
_ROUNDING = 1e-15  # added to a singular matrix, as a share of its largest entry


def likeliest(
    observed: FloatArray, weights: FloatArray, limits: FloatArray, gap: FloatArray
) -> FloatArray:
    """Minimise sum(q) - weights . ln(observed @ q) over q >= 0 with limits @ q <= 0.

    All constraints are homogeneous, so that the solution sums to sum(weights). A program's result
    does not depend on the others.

    Args:
        observed: float64 (M, N), 0 or more.
        weights: float64 (n, M), 0 or more, one row for each program.
        limits: float64 (n, L, N).
        gap: float64 (n,), the accepted distance from the minimum.

    Returns:
        float64 (n, N), the points q; where the method did not converge, its last ones.

    Source: Boyd and Vandenberghe (2004), Section 11.7.
    """
    n_programs, n_outcomes = len(weights), observed.shape[1]
    result = np.empty((n_programs, n_outcomes))
    left, diagonal = np.arange(n_programs), np.arange(n_outcomes)
    q = np.full(result.shape, 1 / n_outcomes)
    s = np.maximum(-_times(limits, q), _START)  # slacks: limits @ q + s = 0
    z, y = np.full_like(q, _START), np.full_like(s, _START)  # prices of q >= 0 and s >= 0
    for _ in range(_STEPS):
        seen = _times(observed, q)
        ratio = weights / seen
        transposed = limits.swapaxes(1, 2)
        primal = _times(limits, q) + s
        dual = 1 - _times(observed.T, ratio) + _times(transposed, y) - z
        distance = (q * z).sum(axis=1) + (s * y).sum(axis=1)
        error = np.maximum(np.abs(primal).max(axis=1, initial=0), np.abs(dual).max(axis=1))
        going = (distance > gap) | (error > gap)
        result[left] = q
        if not going.any():
            break
        left, weights, limits, gap, q, s, z, y, seen, ratio, transposed, primal, dual, distance = (
            each[going]
            for each in (
                *(left, weights, limits, gap, q, s, z, y),
                *(seen, ratio, transposed, primal, dual, distance),
            )
        )
        centre = _CENTRING * distance[:, None] / (q.shape[1] + s.shape[1])
        matrix = observed.T @ ((ratio / seen)[:, :, None] * observed)
        matrix += transposed @ ((y / s)[:, :, None] * limits)
        matrix[:, diagonal, diagonal] += z / q
        largest = matrix[:, diagonal, diagonal].max(axis=1, keepdims=True)
        matrix[:, diagonal, diagonal] += _ROUNDING * largest
        push = (centre + y * primal) / s - y
        right = centre / q - z - dual - _times(transposed, push)
        dq = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
        change = _times(limits, dq)
        ds, dy, dz = -primal - change, push + y * change / s, (centre - z * dq) / q - z
        steps = [_largest_step(*pair) for pair in ((q, dq), (s, ds), (z, dz), (y, dy))]
        step = np.min(steps, axis=0)
        q, s, z, y = q + step * dq, s + step * ds, z + step * dz, y + step * dy
    else:
        result[left] = q
    return result


def _times(matrix: FloatArray, vectors: FloatArray) -> FloatArray:
    """Multiply a vector (n, N) of each program by a matrix, (M, N) or (n, M, N)."""
    product: FloatArray = (matrix @ vectors[:, :, None])[:, :, 0]
    return product


def _largest_step(values: FloatArray, change: FloatArray) -> FloatArray:
    """Return the share of a change that keeps values above 0, at most 1, (n, 1)."""
    ratio = np.full(values.shape, np.inf)
    np.divide(-values, change, out=ratio, where=change < 0)
    step: FloatArray = np.minimum(_TO_BOUNDARY * ratio.min(axis=1, initial=np.inf), 1.0)[:, None]
    return step
