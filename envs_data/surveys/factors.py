"""Learn from a survey how a new population may differ from its means: `SurveyFactors`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.envs_data.surveys.moments import SHRINKAGE, counts_and_sums, least_variance
from cmab_gym.envs_data.surveys.pooled import Pooled
from cmab_gym.survey_factors import SurveyFactors

# What variance populations have, as a share of that of users along a factor, and of single ratings.
# They are those of MovieLens 1M, with 50 to 2,000 films, for surveys whose segments are unknown.
_ALONG_FACTORS, _OF_ONE_ARM = 0.04, 0.015
# Steps of the two EM algorithms; ten times as many change loadings by up to 0.01.
_TASTE_STEPS, _SIZE_STEPS = 30, 300
_NO_RATING = 1e12  # the variance of the mean of no rating


def learn_factors(training: Pooled, n_factors: int) -> SurveyFactors:
    """Learn factors from the tastes of users, and their sizes from segments of users.

    The directions are those in which users differ: a factor analysis of their ratings, without the
    ratings that are missing. The sizes, and the deviation of single arms, are those with which the
    means of a segment of users differ from the means of all others. If fewer than two segments are
    known, they are taken to be those of MovieLens 1M, in proportion to how users and ratings vary.

    Args:
        training: the ratings of the training users.
        n_factors: r, 1 or more; at most the number of arms are used.
    """
    variances = _variances(training)
    tastes = user_factors(training, min(n_factors, training.n_arms))
    names, segment = np.unique(
        () if training.segments is None else training.segments, return_inverse=True
    )
    if names.size > 1:
        sizes, own = factor_sizes(tastes, *segment_sums(training, segment), variances)
    else:
        sizes, own = np.full(tastes.shape[1], _ALONG_FACTORS), _OF_ONE_ARM * variances.mean()
    return SurveyFactors(tastes * np.sqrt(sizes), own**0.5, np.sqrt(variances))


def user_factors(training: Pooled, n_factors: int) -> FloatArray:
    """Find the directions in which the tastes of users differ.

    The rating that user u gives arm k is modelled as m_k + v_k . z_u + noise, with z_u standard
    normal in r dimensions; v is found by expectation and maximisation. A ridge, the ratio of the
    noise to the size of v, keeps arms with few ratings near 0.

    Args:
        training: the ratings of U users.
        n_factors: r.

    Returns:
        float64 (K, r), orthogonal columns in decreasing order of size.

    Source: Rubin and Thayer (1982), EM algorithms for ML factor analysis.
    """
    counts, residuals = counts_and_sums(training)
    residuals.data = residuals.data - counts.data * _arm_means(training)[counts.indices]
    total, squares = counts.sum(), float(_squares(training).sum())
    v = default_rng(0).normal(0, 0.1, (training.n_arms, n_factors)) * np.ptp(training.support)
    noise = max(squares / total, 1e-12)
    for _ in range(_TASTE_STEPS):
        z, zz = _tastes(v, noise, counts, residuals)
        moments = (counts.T @ zz.reshape(len(zz), -1)).reshape(-1, n_factors, n_factors)
        products = residuals.T @ z
        ridge = noise / max(float(np.mean(v**2)), 1e-12)
        v = np.linalg.solve(moments + ridge * np.eye(n_factors), products[:, :, None])[:, :, 0]
        explained = 2 * (v * products).sum() - np.einsum("kij,ki,kj->", moments, v, v)
        noise = max((squares - explained) / total, 1e-12)
    left, size, _ = np.linalg.svd(v, full_matrices=False)
    directions: FloatArray = left * size
    return directions


def factor_sizes(
    loadings: FloatArray, counts: FloatArray, sums: FloatArray, variances: FloatArray
) -> tuple[FloatArray, float]:
    """Find how much segments of users differ along each factor, and how much in single arms.

    The mean of arm k in segment g less that of all others is modelled as
    sum_i loadings[k, i] x_gi + e_gk + noise, where x_gi and e_gk are normal, and the noise is that
    of the two means. Expectation and maximisation finds the variances.

    Args:
        loadings: float64 (K, r).
        counts: float64 (G, K), how many ratings each segment gave each arm.
        sums: float64 (G, K), the sums of these ratings.
        variances: float64 (K,), of the ratings of an arm.

    Returns:
        The variances of x_g1 to x_gr, float64 (r,), and the variance of e_gk.
    """
    others = counts.sum(axis=0) - counts
    seen = (counts > 0) & (others > 0)
    n, rest = np.where(seen, counts, 1), np.where(seen, others, 1)
    differ = np.where(seen, sums / n - (sums.sum(axis=0) - sums) / rest, 0)
    noise = np.where(seen, variances * (1 / n + 1 / rest), _NO_RATING)
    own = max(float(np.mean(differ[seen] ** 2)), 1e-12) / 2 if seen.any() else 0.0
    sizes = np.full(loadings.shape[1], own / max(float(np.mean(loadings**2)), 1e-12))
    for _ in range(_SIZE_STEPS):
        precision = np.einsum("gk,ki,kj->gij", 1 / (noise + own), loadings, loadings)
        covariance = np.linalg.inv(precision + np.diag(1 / np.maximum(sizes, 1e-12)))
        x = np.einsum("gij,gj->gi", covariance, (differ / (noise + own)) @ loadings)
        share = own / (noise + own)
        spread = np.einsum("ki,gij,kj->gk", loadings, covariance, loadings, optimize=True)
        e_squared = share**2 * ((differ - x @ loadings.T) ** 2 + spread) + own * (1 - share)
        sizes = (x**2 + np.einsum("gii->gi", covariance)).mean(axis=0)
        own = float(e_squared[seen].mean()) if seen.any() else 0.0
    return sizes, own


def segment_sums(training: Pooled, segment: IntArray) -> tuple[FloatArray, FloatArray]:
    """Count and sum the ratings of each arm by each segment of users, both float64 (G, K).

    Args:
        training: the ratings of U users.
        segment: int64 (U,), the segment of each user, from 0 to G - 1.
    """
    shape = (int(segment.max()) + 1, training.n_arms)
    cell = segment[training.user] * training.n_arms + training.arm
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).astype(np.float64)
    sums = np.bincount(cell, training.support[training.level], shape[0] * shape[1])
    return counts.reshape(shape), sums.astype(np.float64, copy=False).reshape(shape)


def _tastes(v: FloatArray, noise: float, counts: Any, residuals: Any) -> tuple[Any, Any]:
    """Return the means of z_u, (U, r), and of z_u z_u', (U, r, r), given the ratings of user u."""
    r = v.shape[1]
    products = (v[:, :, None] * v[:, None, :]).reshape(-1, r * r)
    precision = (counts @ products).reshape(-1, r, r) / noise + np.eye(r)
    covariance = np.linalg.inv(precision)
    z = (covariance @ (residuals @ v / noise)[:, :, None])[:, :, 0]
    return z, covariance + z[:, :, None] * z[:, None, :]


def _arm_means(training: Pooled) -> FloatArray:
    counts, sums = segment_sums(training, np.zeros(training.n_users, np.int64))
    means: FloatArray = sums[0] / np.maximum(counts[0], 1)
    return means


def _squares(training: Pooled) -> AnyArray:
    """Return the squared difference of each rating from the mean of its arm, float64 (N,)."""
    means = _arm_means(training)
    squares: AnyArray = (training.support[training.level] - means[training.arm]) ** 2
    return squares


def _variances(training: Pooled) -> FloatArray:
    """Return the variance of the ratings of each arm, shrunk to that of all, float64 (K,)."""
    squares = _squares(training)
    counts = np.bincount(training.arm, minlength=training.n_arms)
    sums = np.bincount(training.arm, squares, training.n_arms)
    variances = (sums + SHRINKAGE * squares.mean()) / (counts + SHRINKAGE)
    floored: FloatArray = np.maximum(variances, least_variance(training.support))
    return floored
