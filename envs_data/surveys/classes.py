"""Learn from a survey which kinds of users there are: `SurveyClasses`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym.arrays import AnyArray, FloatArray
from cmab_gym.envs_data.surveys.moments import SHRINKAGE, counts_and_sums, least_variance
from cmab_gym.envs_data.surveys.pooled import Pooled
from cmab_gym.survey_classes import SurveyClasses

_STEPS = 100  # of the EM algorithm; it stops before that if no user changes class any more


def learn_classes(training: Pooled, n_classes: int) -> SurveyClasses:
    """Divide users into classes by expectation and maximisation.

    A user belongs to one class, and gives arm k a rating that is normal around the mean of the
    class, with a standard deviation that all classes share. Ratings that are missing say nothing.

    Args:
        training: the ratings of the training users.
        n_classes: C, 1 or more; at most the number of users are used.

    Source: Dempster, Laird and Rubin (1977), Section 4.3, finite mixtures.
    """
    n_classes = min(n_classes, training.n_users)
    counts, sums = counts_and_sums(training)
    squares = training.of_users("squares")
    totals = np.maximum(_sum(counts), 1e-300)
    centre = _sum(sums) / totals
    overall = _sum(sums).sum() / totals.sum()
    centre = np.where(totals >= 1, centre, overall)
    least = least_variance(training.support)
    spread = _sum(squares).sum() / totals.sum() - overall**2
    # Users start in random classes, in equal numbers.
    start = default_rng(0).permutation(training.n_users) % n_classes
    shares = np.eye(n_classes)[start]
    for _ in range(_STEPS):
        n = counts.T @ shares  # (K, C)
        means = ((sums.T @ shares) + SHRINKAGE * centre[:, None]) / (n + SHRINKAGE)
        errors = _sum(squares) - 2 * ((sums.T @ shares) * means).sum(1) + (n * means**2).sum(1)
        variances = np.maximum((errors + SHRINKAGE * spread) / (totals + SHRINKAGE), least)
        weights = shares.mean(axis=0)
        fit = sums @ (means / variances[:, None])
        fit -= counts @ (means**2 / (2 * variances[:, None]))
        fit += np.log(np.maximum(weights, 1e-300))
        fit -= fit.max(axis=1, keepdims=True)
        new = np.exp(fit)
        new /= new.sum(axis=1, keepdims=True)
        change, shares = np.abs(new - shares).max(), new
        if change < 1e-6:
            break
    low, high = training.support[0], training.support[-1]
    return SurveyClasses(weights, np.clip(means.T, low, high), np.sqrt(variances))


def _sum(table: Any) -> FloatArray:
    """Sum a sparse (U, K) over the users, float64 (K,)."""
    total: AnyArray = np.asarray(table.sum(axis=0)).ravel()
    return total
