"""The means of the survey as a prior."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem


def shrunk_means(problem: BanditProblem, shrinkage: float) -> FloatArray:
    """Shrink the means of the survey towards the mean of all its ratings.

    An arm with c ratings of mean m gets (c m + shrinkage M) / (c + shrinkage), where M is the mean
    of all ratings, as if it had `shrinkage` more ratings of mean M. So a few lucky ratings do not
    make an arm look like the best.

    Args:
        problem: a problem with `survey_means`.
        shrinkage: 0 or more.

    Returns:
        float64 (K,).

    Raises:
        ValueError: the problem has no survey.
    """
    means, counts = surveyed(problem)
    overall = (counts @ means) / counts.sum()
    weights = np.maximum(counts + shrinkage, 1e-300)  # without shrinkage, 0 ratings give 0 / 0
    shrunk: FloatArray = overall + (means - overall) * (counts / weights)
    return shrunk


def surveyed(problem: BanditProblem) -> tuple[FloatArray, IntArray]:
    """Return the means and the counts of the survey, both (K,).

    Raises:
        ValueError: the problem has no survey.
    """
    means, counts = problem.survey_means, problem.survey_counts
    if means is None or counts is None:
        raise ValueError(
            "the problem has no survey_means: expected one that comes from a survey of users, such "
            "as CMAB-MovieLens-v0, CMAB-Goodreads-v0 or CMAB-Ratings-v0; use an agent that needs "
            "no survey, such as ts"
        )
    return means, counts
