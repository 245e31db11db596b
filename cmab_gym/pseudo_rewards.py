"""Mathematics of pseudo-reward tables: conditional means, validity, masks, pads, latent bounds."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import FloatArray, IntArray


def conditional_means(
    outcomes: FloatArray, probabilities: FloatArray, index: IntArray, size: int
) -> FloatArray:
    """Compute E[R_l | R_k = r_j] of a joint distribution.

    Args:
        outcomes: float64 (J, K), rewards of every arm under each joint outcome.
        probabilities: float64 (J,).
        index: int64 (J, K), the position j of each reward in the support.
        size: R, the size of the support.

    Returns:
        float64 (K, K, R), indexed [l, k, j]; NaN where arm k never gives r_j.

    Source: Definition 1 of the paper.
    """
    n_arms = outcomes.shape[1]
    table = np.full((n_arms, n_arms, size), np.nan)
    weighted = outcomes * probabilities[:, None]
    for k in range(n_arms):
        chance = np.bincount(index[:, k], probabilities, size)
        seen = chance > 0
        for l in range(n_arms):  # noqa: E741 (the paper's letter)
            total = np.bincount(index[:, k], weighted[:, l], size)
            table[l, k, seen] = total[seen] / chance[seen]
    return table


def first_violation(
    table: FloatArray, true: FloatArray, tolerance: float
) -> tuple[int, int, int] | None:
    """Find an entry of a pseudo-reward table that is below the conditional mean it should bound.

    Args:
        table: float64 (K, K, R), pseudo-rewards.
        true: float64 (K, K, R), conditional means; NaN bounds nothing.
        tolerance: by how much an entry may fall short, for rounding.

    Returns:
        The position [l, k, j] of the largest shortfall, or None.
    """
    shortfall = np.where(np.isnan(true), -np.inf, true - table)
    worst = int(shortfall.argmax())
    if not shortfall.flat[worst] > tolerance:
        return None
    l, k, j = np.unravel_index(worst, table.shape)  # noqa: E741
    return int(l), int(k), int(j)


def mask_and_pad(
    table: FloatArray,
    reward_support: FloatArray,
    high: float,
    mask: float = 0.0,
    pad: float = 0.0,
    rng: Generator | None = None,
) -> FloatArray:
    """Forget a share of the entries, then add a safety buffer to the rest.

    In each row (k, j) int(mask * K) random entries become `high`; then `pad` is added to all and
    the sum clipped at `high`; the entries s_kk(r) = r are restored last.

    Args:
        table: float64 (K, K, R), pseudo-rewards [l, k, j].
        reward_support: float64 (R,).
        high: the largest possible reward.
        mask: share of the entries to forget, from 0 to 1 (the paper's p).
        pad: buffer to add, 0 or more, in the reward's unit (the paper's q).
        rng: generator of the mask; needed where mask > 0.

    Returns:
        A new table.

    Raises:
        ValueError: mask or pad is out of range, or there is no generator for a mask.

    Source: Section 5.1 of the paper; the order of the steps from its published figures.
    """
    mask = checks.number_between("mask", mask, 0, 1, "it is a share of the entries")
    pad = checks.number_between("pad", pad, 0, np.inf, "it is added to every pseudo-reward")
    result: FloatArray = table.copy()
    n_arms = table.shape[0]
    n_masked = int(mask * n_arms)
    if n_masked:
        if rng is None:
            raise ValueError(f"mask={mask:g} needs a generator: expected rng; pass default_rng(0)")
        order = rng.random(table.shape).argsort(axis=0)
        result[order < n_masked] = high
    result = np.minimum(result + pad, high)
    arms = np.arange(n_arms)
    result[arms, arms] = reward_support
    return result


def largest_over_intervals(
    first: IntArray, last: IntArray, values: FloatArray, size: int
) -> FloatArray:
    """Take, at each position, the largest value of the intervals that cover it.

    Args:
        first: int64 (N,), the first position of each interval.
        last: int64 (N,), its last position; the interval is empty where last < first.
        values: float64 (N,), what each interval is worth.
        size: number of positions.

    Returns:
        float64 (size,); -inf where nothing covers.

    Each interval is the union of two of the same power-of-two length; those are pushed down to
    length one. So the cost is N + size * log(size), with no loop over intervals.
    """
    kept = last >= first
    first, last, values = first[kept], last[kept], values[kept]
    level = np.frexp((last - first + 1).astype(np.float64))[1] - 1
    best = np.full((int(level.max(initial=0)) + 1, size), -np.inf)
    np.maximum.at(best, (level, first), values)
    np.maximum.at(best, (level, last - (1 << level) + 1), values)
    for step in range(len(best) - 1, 0, -1):
        half = 1 << (step - 1)
        np.maximum(best[step - 1], best[step], out=best[step - 1])
        np.maximum(best[step - 1, half:], best[step, :-half], out=best[step - 1, half:])
    covered: FloatArray = best[0]
    return covered
