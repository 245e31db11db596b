"""Aggregates: by hand, against other formulas, and the coverage of the intervals."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from cmab_gym.leaderboard import scores

# 2 agents, 2 tasks, 4 trials
REGRET = np.array(
    [[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 9.0]], [[0.1, 0.3, 0.2, 0.4], [1.0, 1.0, 1.0, 1.0]]]
)


def test_the_interquartile_mean_leaves_out_a_quarter_of_all_trials_at_each_end():
    # Of 0.1 ... 0.7, 9.0 the middle four are 0.3 ... 0.6.
    assert_allclose(scores.iqm(REGRET), [0.45, (0.3 + 0.4 + 1 + 1) / 4])
    random = np.random.default_rng(0).random((3, 5, 7))
    trimmed = stats.trim_mean(random.reshape(3, -1), 0.25, axis=1)
    assert_allclose(scores.iqm(random), trimmed)


def test_the_profile_counts_trials_up_to_a_level():
    levels = np.array([0.0, 0.1, 0.35, 1.0, 10.0])
    assert_array_equal(scores.profile(REGRET, levels) * 8, [[0, 1, 3, 7, 8], [0, 1, 3, 8, 8]])


def test_ranks_on_a_task_share_ties_and_follow_the_mean():
    assert_array_equal(scores.task_ranks(REGRET), [[1.5, 2], [1.5, 1]])
    three = np.array([[[1.0]], [[1.0]], [[0.0]]])
    assert_array_equal(scores.task_ranks(three)[:, 0], [2.5, 2.5, 1])
    assert_array_equal(
        scores.places(np.array([[2.0, 1, 2, 3], [1, 1, 1, 1]])), [[2, 1, 2, 4], [1] * 4]
    )


def test_an_interval_leaves_out_a_fortieth_of_the_samples_at_each_end():
    samples = np.random.default_rng(0).permutation(np.arange(1, 1001.0))
    assert_array_equal(scores.interval(samples), [25, 975])


def test_wins_pair_trials_and_count_a_tie_as_one_half():
    assert_array_equal(scores.wins(*REGRET), [[0.5, 1, 0, 0.5], [1, 1, 1, 0]])


def test_a_resample_draws_the_same_trials_for_all_agents_within_each_task():
    tasks, trials = 3, 6
    marks = np.arange(tasks * trials, dtype=float).reshape(1, tasks, trials)
    drawn = scores.resampled(np.concatenate([marks, marks + 100]), lambda own: own, 50, seed=1)
    assert_array_equal(drawn[:, 0], drawn[:, 1] - 100)
    assert_array_equal(drawn[:, 0] // trials, np.broadcast_to([[0], [1], [2]], (50, tasks, trials)))
    assert len({tuple(own.ravel()) for own in drawn[:, 0]}) == 50


def test_pairing_makes_the_place_of_a_small_but_steady_difference_certain():
    rng = np.random.default_rng(2)
    noise = rng.exponential(size=(1, 4, 20))
    regret = np.concatenate([noise + 0.01, noise])
    samples = scores.resampled(regret, scores.iqm, 200, seed=0)
    low, high = scores.interval(scores.places(samples))
    assert_array_equal([low, high], [[2, 1], [2, 1]])
    wide = scores.interval(samples)
    assert wide[0][0] < wide[1][1]  # though the intervals of the two overlap


def test_intervals_hold_the_true_value_as_often_as_they_say():
    """At a coverage of 93 %, fewer than 126 of 150 happen once in 10,000 seeds."""
    scale = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 1.0])[:, np.newaxis]

    def draw(rng, trials):
        return scale * rng.gamma(4, 0.25, size=(1, 6, trials))

    (truth,) = scores.iqm(draw(np.random.default_rng(0), 50_000))
    held = 0
    for seed in range(150):
        regret = draw(np.random.default_rng(seed + 1), 20)
        low, high = scores.interval(scores.resampled(regret, scores.iqm, 150, seed))
        held += low[0] <= truth <= high[0]
    assert 126 <= held < 150
