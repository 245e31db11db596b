"""Factors of a survey, against the model that they are learned from."""

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

import cmab_gym
from cmab_gym import BanditProblem
from cmab_gym.envs_data import Pooled, Ratings, Split, Survey, listed_arms, take_survey
from cmab_gym.envs_data.surveys.factors import (
    factor_sizes,
    learn_factors,
    segment_sums,
    user_factors,
)

STARS = np.arange(1.0, 6)


def pooled(n_users=600, seed=0, segments=None, share=0.5):
    """Users with one taste, who rated a random half of the arms; the first three arms have it."""
    rng = np.random.default_rng(seed)
    loadings = np.array([1.0, 0.8, -0.8, 0, 0, 0])
    stars = 3 + rng.normal(0, 1, (n_users, 1)) * loadings + rng.normal(0, 0.5, (n_users, 6))
    level = np.clip(np.rint(stars), 1, 5).astype(int) - 1
    user, arm = np.nonzero(rng.random(level.shape) < share)
    return Pooled(user, arm, level[user, arm], n_users, 6, STARS, segments), loadings


def test_the_taste_in_which_users_differ_is_found_from_incomplete_ratings():
    ratings, loadings = pooled()
    found = user_factors(ratings, 1)[:, 0]
    cosine = found @ loadings / np.linalg.norm(found) / np.linalg.norm(loadings)
    assert abs(cosine) > 0.99
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(loadings), rel=0.1)
    two = user_factors(ratings, 2)
    assert two[:, 0] @ two[:, 1] == pytest.approx(0, abs=1e-9)
    assert np.linalg.norm(two[:, 0]) > 3 * np.linalg.norm(two[:, 1])


def likelihood(loadings, sizes, own, counts, sums, variances):
    """The log-density of the differences of each group from the others, arm by arm."""
    rest, rest_sums = counts.sum(axis=0) - counts, sums.sum(axis=0) - sums
    total = 0.0
    for n, s, m, q in zip(counts, sums, rest, rest_sums, strict=True):
        seen = (n > 0) & (m > 0)
        v = loadings[seen]
        covariance = v * sizes @ v.T + np.diag(
            own + (variances * (1 / np.maximum(n, 1) + 1 / m))[seen]
        )
        total += multivariate_normal(cov=covariance).logpdf(s[seen] / n[seen] - q[seen] / m[seen])
    return total


def test_sizes_have_the_largest_likelihood():
    rng = np.random.default_rng(3)
    loadings, variances = rng.normal(0, 1, (12, 2)), np.full(12, 0.8)
    counts = rng.integers(20, 400, (10, 12)).astype(float)
    counts[0, 3] = counts[4, 7] = 0  # a group that did not rate an arm
    means = 3 + rng.normal(0, [0.3, 0.1], (10, 2)) @ loadings.T + rng.normal(0, 0.2, (10, 12))
    sums = counts * (means + rng.normal(0, 1, (10, 12)) * np.sqrt(0.8 / np.maximum(counts, 1)))
    sizes, own = factor_sizes(loadings, counts, sums, variances)
    best = likelihood(loadings, sizes, own, counts, sums, variances)
    for change in (0.8, 1.25):
        for each in ([change, 1], [1, change]):
            assert likelihood(loadings, sizes * each, own, counts, sums, variances) < best
        assert likelihood(loadings, sizes, own * change, counts, sums, variances) < best
    assert_allclose(np.sqrt([*sizes, own]), [0.3, 0.1, 0.2], rtol=0.5)


def test_the_noise_of_both_means_is_not_taken_for_a_deviation():
    """Of 2000 arms with 10 ratings by each of two segments; the estimate's error is about .007."""
    rng = np.random.default_rng(5)
    means = rng.normal(0, [0.05**0.5 / 2, 0.8**0.5 / 10**0.5, 0.8**0.5 / 10**0.5], (2000, 3))
    sums = 10 * (means[:, :1] * [1, -1] + means[:, 1:]).T
    counts = np.full((2, 2000), 10.0)
    _, own = factor_sizes(np.full((2000, 1), 1e-3), counts, sums, np.full(2000, 0.8))
    assert own == pytest.approx(0.05, abs=0.03)


def test_sums_of_segments_are_those_counted_by_hand():
    users = np.array([0, 0, 0, 1, 2, 2, 3])
    ratings = Pooled(users, np.array([0, 0, 1, 0, 1, 1, 0]), np.arange(7) % 5, 4, 2, STARS)
    counts, sums = segment_sums(ratings, np.array([0, 1, 1, 0]))
    assert_array_equal(counts, [[3, 1], [1, 2]])  # users 0 and 3 gave arm 0 the stars 1, 2 and 2
    assert_array_equal(sums, [[5, 3], [4, 6]])


def test_without_segments_populations_differ_in_proportion_to_users_and_ratings():
    for unknown in (None, np.full(600, "all")):
        ratings, _ = pooled(segments=unknown)
        learned, tastes = learn_factors(ratings, 2), user_factors(ratings, 2)
        assert_allclose(learned.loadings, 0.2 * tastes)
        assert learned.deviation**2 == pytest.approx(0.015 * (learned.sigmas**2).mean())


def test_segments_that_do_not_differ_have_small_factors():
    ratings, _ = pooled(segments=np.tile(["a", "b", "c", "d"], 150))
    alike = learn_factors(ratings, 2)
    segment = np.repeat([0, 1, 2, 3], 150)
    shifted = ratings.level + (segment[ratings.user] % 2) * (ratings.arm < 2) * (ratings.level < 4)
    apart = Pooled(
        ratings.user, ratings.arm, shifted, 600, 6, STARS, np.array(list("abcd"))[segment]
    )  # fmt: skip
    differ = learn_factors(apart, 2)
    size = [(each.loadings**2).mean() + each.deviation**2 for each in (alike, differ)]
    assert size[0] < 0.01 < 0.04 < size[1]
    assert_allclose(alike.sigmas, ratings.support.std() * np.ones(6), atol=0.9)


def survey(factors):
    ratings, _ = pooled(n_users=40, share=0.8)
    stars = STARS[ratings.level]
    segments = np.array(["old", "new", "mid", "late"])[np.arange(40) % 4]
    made = Ratings.from_columns(ratings.user, ratings.arm, stars, segments=segments)
    return take_survey(made, listed_arms(made, range(6)), Split(segment="new"), factors=factors)


def test_factors_reach_the_player_and_a_saved_survey_keeps_them(tmp_path):
    made = survey(factors=2)
    made.save(tmp_path / "s.npz")
    read = Survey.load(tmp_path / "s.npz")
    env = gym.make("CMAB-Ratings-v0", data=read)
    _, info = env.reset(seed=0)
    problem = BanditProblem.from_info(info)
    for factors in (read.factors, env.unwrapped.problem.survey_factors, problem.survey_factors):
        assert_array_equal(factors.loadings, made.factors.loadings)
        assert_array_equal(factors.sigmas, made.factors.sigmas)
        assert factors.deviation == made.factors.deviation
    envs = gym.make_vec("CMAB-Ratings-v0", num_envs=2, data=read)
    assert envs.reset(seed=0)[1]["survey_loadings"].shape == (2, 6, 2)
    agents = ["factor-ts", "v-ids(draws=10)", "min-ucb"]
    found = cmab_gym.evaluate("CMAB-Ratings-v0", agents, 20, 3, env_kwargs={"data": read})
    assert found.regret("factor-ts").shape[0] == 3


def test_without_factors_a_survey_has_none():
    made = survey(factors=0)
    assert made.factors is None
    assert "survey_loadings" not in gym.make("CMAB-Ratings-v0", data=made).reset(seed=0)[1]
    with pytest.raises(ValueError, match="factors=-1: expected an integer of at least 0"):
        survey(factors=-1)
