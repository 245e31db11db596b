"""Statistics of final regrets that are paired by trial, as pure functions of arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray

POWER = 0.8
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ROUNDING = 1e-10  # relative: sums of the same numbers in another order count as equal
_BLOCK = 4_000_000  # numbers that are resampled at once: 32 MB

Statistic = Callable[..., FloatArray]


@dataclass(frozen=True)
class Paired:
    """Comparisons of two final regrets, one in each row; arrays are float64 (rows,).

    Args:
        difference: mean of the first minus mean of the second.
        low, high: interval of the difference at the corrected level; NaN for one trial.
        p: p value of the sign-flip test, not corrected.
        win_rate: share of trials in which the first has less regret; ties count one half.
        ratio: mean of the first over mean of the second; NaN if the second is 0.
        ratio_low, ratio_high: its interval at the corrected level; NaN if it is not finite.
        detectable: the smallest difference that these trials can show; see `detectable`.
    """

    difference: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray
    win_rate: FloatArray
    ratio: FloatArray
    ratio_low: FloatArray
    ratio_high: FloatArray
    detectable: FloatArray


def compare_paired(
    first: FloatArray, second: FloatArray, error: float, n_resamples: int, seed: int
) -> Paired:
    """Compare two final regrets in each row.

    Args:
        first: float64 (rows, trials), 0 or more.
        second: like `first`; column i is the same trial in both.
        error: the probability of error of each row, such as 0.05 divided by the number of pairs.
        n_resamples: resamples of the bootstrap and sign flips of the test.
        seed: decides the resamples and the flips.
    """
    differences, below = first - second, second.mean(axis=1)
    undefined = np.full_like(below, np.nan)
    low, high = bca_interval(_mean_difference, first, second, error, n_resamples, seed)
    ratio_low, ratio_high = bca_interval(_log_ratio, first, second, error, n_resamples, seed)
    return Paired(
        difference=differences.mean(axis=1),
        low=low,
        high=high,
        p=sign_flip_p(differences, n_resamples, seed),
        win_rate=(1 - np.sign(differences)).mean(axis=1) / 2,
        ratio=np.divide(first.mean(axis=1), below, out=undefined, where=below > 0),
        ratio_low=np.exp(ratio_low),
        ratio_high=np.exp(ratio_high),
        detectable=detectable(differences, error),
    )


def bca_interval(
    statistic: Statistic,
    first: FloatArray,
    second: FloatArray,
    error: float,
    n_resamples: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of bias-corrected and accelerated bootstrap intervals over trials.

    Args:
        statistic: a function of two arrays and an axis.
        first: float64 (rows, trials).
        second: like `first`.
        error: one minus the level of the interval.
        n_resamples: number of resamples.
        seed: decides the resamples.

    Returns:
        Two arrays, float64 (rows,). They are the statistic itself where every resample gives the
        same value, and NaN for one trial or where the statistic of a resample is not finite.

    Source: B. Efron, "Better bootstrap confidence intervals", JASA 82, 1987.
    """
    rows, trials = first.shape
    if trials < 2:
        return np.full(rows, np.nan), np.full(rows, np.nan)
    from scipy import stats

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # its NaN is replaced below
        value = statistic(first, second, axis=-1)
        found = stats.bootstrap(
            (first, second),
            statistic,
            n_resamples=n_resamples,
            batch=max(1, _BLOCK // first.size),
            vectorized=True,
            paired=True,
            axis=-1,
            confidence_level=1 - error,
            method="BCa",
            random_state=np.random.default_rng(seed),
        ).confidence_interval
        left_out = np.stack(
            [
                statistic(np.delete(first, i, axis=1), np.delete(second, i, axis=1), axis=-1)
                for i in range(trials)
            ]
        )
        constant = np.ptp(left_out, axis=0) <= _ROUNDING * np.abs(value)
    low, high = (np.where(constant, value, end) for end in (found.low, found.high))
    finite = np.isfinite(low) & np.isfinite(high)
    return np.where(finite, low, np.nan), np.where(finite, high, np.nan)


def sign_flip_p(differences: FloatArray, n_resamples: int, seed: int) -> FloatArray:
    """Return two-sided p values of the mean of paired differences, float64 (rows,).

    If both agents have one law, each difference is as likely as its negative. The p value is the
    share of flipped signs whose mean is at least as far from 0: of all of them if they are at most
    `n_resamples`, else of as many random ones and the signs seen.

    Args:
        differences: float64 (rows, trials).
        n_resamples: the most flips of all signs.
        seed: decides the random flips.

    Examples:
        >>> sign_flip_p(np.array([[1.0, 2.0, 3.0]]), 100, 0)
        array([0.25])
    """
    trials = differences.shape[1]
    exact = trials <= n_resamples.bit_length() - 1  # 2**trials <= n_resamples
    if exact:
        bits = (np.arange(2**trials)[:, np.newaxis] >> np.arange(trials)) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (n_resamples, trials))
    sums = np.abs((2.0 * bits - 1) @ differences.T)
    seen = np.abs(differences.sum(axis=1))
    # Rounding errors have the size of the terms, not of their sum.
    far = (sums >= seen - _ROUNDING * np.abs(differences).sum(axis=1)).sum(axis=0)
    p: FloatArray = far / len(sums) if exact else (far + 1) / (len(sums) + 1)
    return p


def holm(p: FloatArray) -> FloatArray:
    """Return p values corrected for the number of tests on the last axis.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", 1979.

    Examples:
        >>> holm(np.array([0.01, 0.04, 0.03]))
        array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, axis=-1)
    factors = np.arange(p.shape[-1], 0, -1)
    sorted_p = np.maximum.accumulate(np.take_along_axis(p, order, -1) * factors, axis=-1)
    corrected = np.empty_like(p)
    np.put_along_axis(corrected, order, np.minimum(sorted_p, 1), -1)
    return corrected


def detectable(differences: FloatArray, error: float, power: float = POWER) -> FloatArray:
    """Return the smallest mean difference that as many trials show with the given power.

    It is (t(1 - error / 2) + t(power)) sd / sqrt(n), with quantiles t of Student's distribution
    and the standard deviation sd of the differences. It is infinite if no sign-flip test of so few
    trials can have a p value of `error`.

    Args:
        differences: float64 (rows, trials).
        error: probability that a test shows a difference where there is none.
        power: probability that a difference of this size is shown.
    """
    trials = differences.shape[1]
    if trials < fewest_trials(error):
        return np.full(len(differences), np.inf)
    from scipy.special import stdtrit

    quantiles = stdtrit(trials - 1, 1 - error / 2) + stdtrit(trials - 1, power)
    smallest: FloatArray = quantiles * differences.std(axis=1, ddof=1) / np.sqrt(trials)
    return smallest


def fewest_trials(error: float) -> int:
    """Return the fewest trials whose sign-flip test can have a p value of `error`.

    Examples:
        >>> fewest_trials(0.05)
        6
    """
    return 1 + int(np.ceil(-np.log2(error)))


def describe(regret: FloatArray) -> dict[str, float]:
    """Describe the final regret of one agent.

    Args:
        regret: float64 (trials,).

    Returns:
        "mean"; "iqm", the interquartile mean, without the lowest and the highest quarter of the
        trials; "5 %", "25 %", "50 %", "75 %" and "95 %", quantiles; "worst_tenth", the mean of the
        worst tenth of the trials (at least one).
    """
    ordered, worst = np.sort(regret), -(-len(regret) // 10)
    quantiles = zip(QUANTILES, np.quantile(regret, QUANTILES), strict=True)
    return {
        "mean": float(regret.mean()),
        "iqm": float(interquartile_mean(regret)),
        **{f"{100 * share:.0f} %": float(value) for share, value in quantiles},
        "worst_tenth": float(ordered[-worst:].mean()),
    }


def all_pairs(n: int) -> IntArray:
    """Return the positions of the first and the second of all pairs of n things, int64 (2, pairs).

    Examples:
        >>> all_pairs(3).tolist()
        [[0, 0, 1], [1, 2, 2]]
    """
    return np.stack(np.triu_indices(n, 1))


def interquartile_mean(values: FloatArray) -> FloatArray:
    """Return the mean over the last axis without the lowest and the highest quarter.

    A quarter of n values is n // 4 of them.

    Examples:
        >>> float(interquartile_mean(np.array([100.0, 1, 2, 3, 4, 0])))
        2.5
    """
    count = values.shape[-1]
    middle: FloatArray = np.sort(values, axis=-1)[..., count // 4 : count - count // 4]
    return middle.mean(axis=-1)  # type: ignore[no-any-return]


def _mean_difference(first: FloatArray, second: FloatArray, axis: int) -> FloatArray:
    difference: FloatArray = (first - second).mean(axis=axis)
    return difference


def _log_ratio(first: FloatArray, second: FloatArray, axis: int) -> FloatArray:
    """Return the logarithm of the ratio of means, so that swapping the two negates it."""
    ratio: FloatArray = np.log(first.mean(axis=axis)) - np.log(second.mean(axis=axis))
    return ratio
