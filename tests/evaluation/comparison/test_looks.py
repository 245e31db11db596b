"""Looking at results several times: when, how wide, and how often that errs."""

import numpy as np
import pytest
from scipy import stats

from cmab_gym.evaluation.comparison.looks import looks_at, widest_half_width
from cmab_gym.evaluation.comparison.statistics import compare_paired

SIMULATED, LIMIT = 500, 160


@pytest.mark.parametrize(("limit", "looks"), [(1, (1,)), (20, (20,)), (21, (20, 21))])
def test_the_limit_is_the_last_look(limit, looks):
    assert looks_at(limit) == looks


def test_the_widest_interval_is_that_of_the_differences_that_vary_most():
    regret = np.random.default_rng(0).normal(0, [[1], [1], [9]], (3, 30))
    error = 0.05 / 3
    intervals = [
        stats.ttest_1samp(regret[i] - regret[j], 0).confidence_interval(1 - error)
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    widest = max((interval.high - interval.low) / 2 for interval in intervals)
    assert widest_half_width(regret, 0.05) == pytest.approx(widest)
    assert widest_half_width(regret[:, :1], 0.05) == np.inf
    assert widest_half_width(regret[:1], 0.05) == 0


@pytest.mark.parametrize("skewed", [False, True])
def test_agents_of_one_law_differ_at_most_as_often_as_stated(skewed):
    """Three agents whose regrets have a part in common. 40 of 500 false alarms where 25 are allowed
    would have a probability of 0.002, so such a count fails."""
    rng = np.random.default_rng(0)
    draw = rng.exponential if skewed else rng.normal
    regret = draw(size=(SIMULATED, 1, LIMIT)) + draw(size=(SIMULATED, 3, LIMIT))
    looks = looks_at(LIMIT)
    stops = np.array([_stop(own, looks) for own in regret])
    assert set(stops) >= {40, 80}  # so that looking matters
    error, wrong = 0.05 / len(looks), 0
    for stop in set(stops):
        own = regret[stops == stop, :, :stop]
        first, second = own[:, (0, 0, 1)], own[:, (1, 2, 2)]
        shape = (-1, stop)
        found = compare_paired(first.reshape(shape), second.reshape(shape), error / 3, 999, 0)
        wrong += ((found.low > 0) | (found.high < 0)).reshape(-1, 3).any(axis=1).sum()
    assert wrong < 40


def _stop(regret, looks):
    error = 0.05 / len(looks)
    narrow = (n for n in looks if widest_half_width(regret[:, :n], error) <= 0.75)
    return next(narrow, looks[-1])
