"""Aggregates over tasks and trials: pure functions of normalised regret.

Source: R. Agarwal, M. Schwarzer, P. S. Castro, A. Courville and M. G. Bellemare, "Deep
reinforcement learning at the edge of the statistical precipice", NeurIPS 2021, with one difference:
trials are paired, so that a resample draws the same trials for all agents.

In all functions `regret` is float64 (agents, tasks, trials), without NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.comparison.statistics import interquartile_mean

_TAILS = (0.025, 0.975)  # of all intervals, whose level is 95 %


def iqm(regret: FloatArray) -> FloatArray:
    """Return the interquartile mean over all trials of all tasks, float64 (agents,)."""
    return interquartile_mean(regret.reshape(len(regret), -1))


def mean(regret: FloatArray) -> FloatArray:
    """Return the mean over all trials of all tasks, float64 (agents,)."""
    means: FloatArray = regret.mean(axis=(1, 2))
    return means


# What can decide the place.
STATISTICS: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"iqm": iqm, "mean": mean}
)


def resampled(
    regret: FloatArray, statistic: Callable[[FloatArray], FloatArray], n_resamples: int, seed: int
) -> FloatArray:
    """Return a statistic of stratified bootstrap resamples, stacked on a new first axis.

    A resample draws as many trials of each task as there are, with replacement, the same ones for
    all agents.

    Args:
        regret: of agents that played the same trials.
        statistic: a function of an array like `regret`.
        n_resamples: how many resamples, 1 or more.
        seed: decides the resamples.
    """
    _, tasks, trials = regret.shape
    rng = np.random.default_rng(seed)
    rows = np.arange(tasks)[:, np.newaxis]
    return np.stack(
        [
            statistic(regret[:, rows, rng.integers(trials, size=(tasks, trials))])
            for _ in range(n_resamples)
        ]
    )


def interval(samples: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the percentile interval over the first axis.

    The ends are samples themselves, so that those of places are places.
    """
    low, high = np.quantile(samples, _TAILS, axis=0, method="inverted_cdf")
    return low, high


def places(values: FloatArray) -> FloatArray:
    """Return the place of each value on the last axis: 1 for the least; equal ones share the best.

    Examples:
        >>> places(np.array([0.3, 0.1, 0.3, 0.5]))
        array([2., 1., 2., 4.])
    """
    from scipy.stats import rankdata

    place: FloatArray = rankdata(values, method="min", axis=-1).astype(np.float64)
    return place


def task_ranks(regret: FloatArray) -> FloatArray:
    """Return the rank of each agent on each task by its mean regret, float64 (agents, tasks).

    The least regret has rank 1. Agents with equal regret get the mean of their ranks.
    """
    from scipy.stats import rankdata

    ranks: FloatArray = rankdata(regret.mean(axis=2), method="average", axis=0)
    return ranks


def profile(regret: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the share of trials of all tasks with at most so much regret.

    Args:
        regret: of the agents.
        levels: float64 (L,).

    Returns:
        float64 (agents, L).
    """
    runs = np.sort(regret.reshape(len(regret), -1), axis=1)
    counts = [np.searchsorted(own, levels, side="right") for own in runs]
    share: FloatArray = np.array(counts) / runs.shape[1]
    return share


def wins(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return in which trials the first agent has less regret: 1, or 0.5 for a tie, else 0.

    Args:
        first: of an agent, of any shape.
        second: of the other, in the same shape; equal positions are the same trial.
    """
    better: FloatArray = (1 - np.sign(first - second)) / 2
    return better
