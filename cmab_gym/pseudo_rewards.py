"""Mathematics of pseudo-reward tables: conditional means, validity, masks and pads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, FloatArray, IntArray


def conditional_means(
    outcomes: FloatArray, probabilities: FloatArray, index: IntArray, size: int
) -> FloatArray:
    """Compute E[R_l | R_k = r_j] of a joint distribution.

    Args:
        outcomes: float64 (J, K), rewards of every arm under each joint outcome.
        probabilities: float64 (J,), the probability of each joint outcome.
        index: int64 (J, K), the position j of each reward in the support.
        size: R, the size of the support.

    Returns:
        float64 (K, K, R), indexed [l, k, j]; NaN where arm k never gives r_j.

    Source: Definition 1 of the paper.

    Examples:
        When arm 0 gives 1, arm 1 gives 1 with probability 0.125 / 0.5.

        >>> outcomes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> probabilities = np.array([0.25, 0.25, 0.375, 0.125])
        >>> conditional_means(outcomes, probabilities, outcomes, 2)[1, 0]
        array([0.5 , 0.25])
    """
    n_arms = outcomes.shape[1]
    table = np.full((n_arms, n_arms, size), np.nan)
    weighted = outcomes * probabilities[:, None]
    for k in range(n_arms):
        pmf = np.bincount(index[:, k], probabilities, size)
        possible = pmf > 0
        for l in range(n_arms):  # noqa: E741 (the paper's letter)
            total = np.bincount(index[:, k], weighted[:, l], size)
            table[l, k, possible] = total[possible] / pmf[possible]
    return table


def first_violation(
    table: FloatArray, true: FloatArray, tolerance: float
) -> tuple[int, int, int] | None:
    """Find an entry of a pseudo-reward table that is below the conditional mean it should bound.

    Args:
        table: float64 (K, K, R), pseudo-rewards.
        true: float64 (K, K, R), conditional means; an entry that is NaN is not compared.
        tolerance: the shortfall that is allowed, for rounding.

    Returns:
        The indices [l, k, j] of the largest shortfall, or None.
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
    """Mask a share of the entries, then add a safety buffer to the others.

    For each (k, j), int(mask * K) random entries are replaced by `high`. Then `pad` is added to all
    entries, and the sum is clipped at `high`. Last, the entries s_kk(r) = r are restored.

    Args:
        table: float64 (K, K, R), pseudo-rewards [l, k, j].
        reward_support: float64 (R,).
        high: the largest possible reward.
        mask: share of the entries to mask, from 0 to 1 (the paper's p). It is rounded down to whole
            entries of a row: 0.25 masks 4 of 18 arms (22.2 %), and 0.7 masks 12 (66.7 %).
        pad: buffer to add, 0 or more, in the reward's unit (the paper's q).
        rng: generator of the mask; needed if mask > 0.

    Returns:
        A new table.

    Raises:
        ValueError: mask or pad is out of range, or a mask is given without a generator.

    Source: Section 6.1 of the paper; the order of the steps from its published figures.

    Examples:
        >>> table = np.array([[[0.0, 1.0], [0.75, 0.5]], [[0.5, 0.25], [0.0, 1.0]]])
        >>> mask_and_pad(table, np.array([0.0, 1.0]), high=1.0, pad=0.25)[1, 0]
        array([0.75, 0.5 ])
    """
    mask, pad = check_mask_and_pad(mask, pad)
    result: FloatArray = table.copy()
    n_arms = table.shape[0]
    n_masked = int(mask * n_arms)
    if n_masked:
        if rng is None:
            raise ValueError(
                f"mask={mask:g} without rng: expected a generator; pass default_rng(0)"
            )
        order = rng.random(table.shape).argsort(axis=0)
        result[order < n_masked] = high
    result = np.minimum(result + pad, high)
    set_own_rewards(result, reward_support)
    return result


def check_mask_and_pad(mask: float, pad: float) -> tuple[float, float]:
    """Check the arguments of `mask_and_pad`.

    Raises:
        ValueError: mask or pad is out of range.
    """
    return (
        checks.number_between("mask", mask, 0, 1, "it is a share of the entries"),
        checks.number_between("pad", pad, 0, np.inf, "it is added to every pseudo-reward"),
    )


def masked_given(arm: int, n_arms: int, n_rewards: int, n_masked: int, seed: Any) -> BoolArray:
    """Return the mask that `mask_and_pad` draws for the entries given one arm, bool (K, R).

    Args:
        arm: k.
        n_arms: K.
        n_rewards: R.
        n_masked: count of masked entries for each (k, j).
        seed: the seed of the generator of `mask_and_pad`, `default_rng(seed)`.
    """
    rng = np.random.default_rng(seed)
    bits: Any = rng.bit_generator
    bits.advance(arm * n_rewards)
    drawn = np.empty((n_arms, n_rewards))
    for own in drawn:  # mask_and_pad draws them K R numbers apart
        rng.random(out=own)
        bits.advance((n_arms - 1) * n_rewards)
    masked: BoolArray = drawn.argsort(axis=0) < n_masked
    return masked


def set_own_rewards(table: FloatArray, rewards: FloatArray) -> None:
    """Set s_kk(r_j) = r_j, in place, in a table of pseudo-rewards [l, k, j]."""
    arms = np.arange(len(table))
    table[arms, arms] = rewards
