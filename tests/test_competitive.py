"""The C-Bandit rule by hand, and its laws."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym.competitive import (
    best_mean,
    competitive_arms,
    empirical_pseudo_rewards,
    least_bounds,
    required_bound,
    significant_arms,
    significant_pulls,
)

PULLS = np.array([[6, 3, 0]])
MEANS = np.array([[0.5, 0.75, 0.0]])
# [b, k, l]: arm 0 gave six rewards, arm 1 three.
SUMS = np.array([[[3.0, 5.1, 2.4], [2.7, 2.25, 2.1], [0.0, 0.0, 0.0]]])


def test_the_steps_of_algorithm_1_agree_with_those_computed_by_hand():
    significant = significant_arms(PULLS, 9)
    assert significant.tolist() == [[True, True, False]]  # 6 and 3 of 9 pulls of 3 arms; 0 is less
    assert best_mean(MEANS, significant).tolist() == [[0.75]]
    phi = empirical_pseudo_rewards(SUMS, PULLS)
    assert_allclose(phi[0], [[0.5, 0.9, np.inf], [0.85, 0.75, np.inf], [0.4, 0.7, np.inf]])
    bounds = least_bounds(phi, significant)
    assert_allclose(bounds, [[0.5, 0.75, 0.4]])
    leaders, unknown = np.array([[False, True, False]]), np.zeros(3, dtype=bool)
    assert competitive_arms(bounds, [[0.75]], leaders, unknown).tolist() == [[False, True, False]]
    # An arm about which nothing is known is never ruled out.
    unknown[2] = True
    assert competitive_arms(bounds, [[0.75]], leaders, unknown).tolist() == [[False, True, True]]


@given(st.integers(0, 10**6), st.integers(1, 1000), st.integers(0, 10**4))
def test_the_papers_rule_asks_for_a_share_of_the_pulls(t, n_arms, pulls):
    assert (pulls >= significant_pulls(t, n_arms)) == (pulls * n_arms >= t)


def test_a_logarithm_of_pulls_is_enough_on_request():
    t = np.array([0, 1, 10, 100, 1000])
    assert significant_pulls(t, 10, 2).tolist() == [0, 1, 1, 10, 14]
    assert significant_arms(np.array([[14, 13, 973]]), 1000, 2).tolist() == [[True, False, True]]


def test_an_insignificant_arm_bounds_nothing():
    significant = significant_arms(np.array([[8, 1, 0]]), 9)
    assert significant.tolist() == [[True, False, False]]
    phi = empirical_pseudo_rewards(SUMS, PULLS)
    assert_allclose(least_bounds(phi, significant), [[0.5, 0.85, 0.4]])


def test_lower_bounds_raise_what_is_required():
    significant = np.array([[True, True, False]])
    lower = np.array([[0.8, -np.inf, 0.9]])
    assert required_bound(np.array([[0.75]]), significant, lower).tolist() == [[0.8]]
    assert required_bound(np.array([[0.75]]), significant).tolist() == [[0.75]]


@given(arrays(np.int64, (4, 5), elements=st.integers(0, 50)))
def test_some_arm_is_always_significant(pulls):
    pulls[:, 0] += pulls.sum(axis=1).max() - pulls.sum(axis=1)  # t is the same in all trials
    assert significant_arms(pulls, int(pulls[0].sum())).any(axis=1).all()


@given(
    arrays(np.int64, (2, 4), elements=st.integers(1, 9)),
    arrays(np.float64, (2, 4, 4), elements=st.floats(0, 1)),
    st.permutations(range(4)),
)
def test_relabelling_the_arms_relabels_the_bounds(pulls, averages, order):
    sums, order = averages * pulls[:, :, None], list(order)
    significant = pulls >= pulls.mean(axis=1, keepdims=True)
    bounds = least_bounds(empirical_pseudo_rewards(sums, pulls), significant)
    relabelled = empirical_pseudo_rewards(sums[:, order][:, :, order], pulls[:, order])
    assert_array_equal(least_bounds(relabelled, significant[:, order]), bounds[:, order])
