"""Bands: correct agents are inside, others outside."""

import numpy as np
import pytest
from numpy.random import default_rng
from submissions import TS, UCB

from cmab_gym.grading.band import band


def test_equal_regrets_are_inside_and_much_larger_or_smaller_ones_outside():
    reference = default_rng(0).exponential(size=200)
    assert band(reference[:20], reference, 1e-4, both_sides=True).inside
    assert not band(np.full(20, 3.0), reference, 1e-4, both_sides=True).inside
    assert not band(np.full(20, 0.1), reference, 1e-4, both_sides=True).inside
    assert band(np.full(20, 0.1), reference, 1e-4, both_sides=False).inside
    assert band(np.full(20, 7.0), np.full(200, 7.0), 1e-4, both_sides=True).inside


def test_false_alarms_are_as_rare_as_stated():
    # 2,000 correct submissions with skewed regret, at a share of 2 %: 40 expected, and at most 63
    # with probability 0.9998.
    rng, alarms = default_rng(1), 0
    for _ in range(2000):
        regret = rng.pareto(2.5, size=60)
        alarms += not band(regret[:10], regret[10:], 0.02, True, groups=999).inside
    assert 15 <= alarms <= 63


def test_a_share_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="use fewer tests"):
        band(np.ones(5), np.ones(5), 1e-6, both_sides=True)


@pytest.fixture
def numpy_loops(monkeypatch):
    monkeypatch.setenv("CMAB_GYM_COMPILED", "0")  # compiling takes seconds


@pytest.mark.usefixtures("numpy_loops")
def test_thompson_sampling_is_inside_and_wrong_ones_are_outside(grade):
    given = {"reference": "ts", "kind": "band", "rounds": 100, "trials": 10}
    assert grade(TS, **given).score == 10
    wide = TS.replace("np.sqrt(self.B / (self.n + 1))", "3 * self.B")
    (outcome,) = grade(wide, **given).outcomes
    assert outcome.points == 0
    assert "is too large: expected from" in outcome.feedback
    (outcome,) = grade(UCB, **{**given, "reference": "random"}).outcomes
    assert "is too small" in outcome.feedback
    assert grade(UCB, **{**given, "reference": "random", "kind": "at-most"}).score == 10
