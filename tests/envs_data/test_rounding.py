"""Ratings that are rounded to a few numbers, for decimal ratings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym.envs.ratings import ratings_model
from cmab_gym.envs_data import Ratings, SparseSurveyWarning

STARS = [1.0, 2.0, 3.0, 4.0, 5.0]


def ratings_of(stars, users=None, items=None):
    rows = np.arange(len(stars))
    users = rows if users is None else users
    return Ratings.from_columns(users, rows * 0 if items is None else items, np.array(stars))


def test_each_rating_becomes_the_nearest_number_the_larger_of_two():
    given = [0.5, 1.4, 1.5, 2.25, 2.5, 4.0, 5.5]
    assert_array_equal(ratings_of(given).rounded(STARS).stars, [1, 1, 2, 2, 3, 4, 5])
    uneven = ratings_of([-10.0, -4.0, -2.0, 0.9, 5.0, 10.0]).rounded([-10, 0, 2, 10])
    assert_array_equal(uneven.stars, [-10, 0, 0, 0, 2, 10])


def test_ratings_beyond_half_a_step_are_not_rounded():
    assert_array_equal(ratings_of([0.49, 5.51, 99.0]).rounded(STARS).stars, [0.49, 5.51, 99])


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ([3], r"round_to=\[3\]: expected 2 or more increasing numbers"),
        ([2, 1], "expected 2 or more increasing numbers, without repeats"),
        ([[1, 2]], "expected 2 or more increasing numbers"),
        (3, "round_to=3: expected 2 or more"),
        (["a", "b"], "round_to of type list: expected a table of numbers"),
        ([1, np.nan], "expected 2 or more increasing numbers"),
        ([1, np.inf], r"round_to\[1\] is inf: expected finite numbers"),
    ],
)
def test_wrong_numbers_are_refused(to, message):
    with pytest.raises(ValueError, match=message):
        ratings_of([1.0]).rounded(to)


@pytest.fixture
def decimals():
    """30 users who rated 4 items, and so are surveyed, and 200 who rated one."""
    rng = np.random.default_rng(3)
    users = np.concatenate([np.repeat(np.arange(30), 4), np.arange(30, 230)])
    items = np.concatenate([np.tile(np.arange(4), 30), np.arange(200) % 4])
    return ratings_of(rng.uniform(0.5, 5.5, users.size), users, items)


def test_the_table_is_exact_for_rounded_ratings(decimals):
    model = ratings_model(decimals, items=[0, 1, 2, 3], train_share=119 / 320, round_to=STARS)
    assert_array_equal(model.problem.reward_support, STARS)
    assert model.problem.reward_bounds == (1, 5)
    surveyed = np.floor(decimals.stars[:120] + 0.5).reshape(30, 4)  # [user, arm]
    for l, k, j in np.ndindex(4, 4, 5):  # noqa: E741
        own = surveyed[surveyed[:, k] == STARS[j], l]
        expected = STARS[j] if l == k else own.mean() if own.size else 5
        assert model.problem.pseudo_rewards[l, k, j] == pytest.approx(expected)


def test_rounding_moves_a_mean_by_at_most_half_a_step(decimals):
    model = ratings_model(decimals, items=[0, 1, 2, 3], train_share=119 / 320, round_to=STARS)
    stars = decimals.stars[120:].reshape(50, 4)
    assert_allclose(model.means, np.floor(stars + 0.5).mean(axis=0))
    assert (np.abs(model.means - stars.mean(axis=0)) <= 0.5).all()


def test_rounding_makes_a_survey_of_decimals_informative(decimals):
    with pytest.warns(SparseSurveyWarning):
        ratings_model(decimals, items=[0, 1])
    model = ratings_model(decimals, items=[0, 1], round_to=STARS)
    assert model.provenance["unknown_share"] < 0.2
    assert model.provenance["round_to"] == STARS


def test_ratings_off_the_scale_are_refused(decimals):
    with pytest.raises(ValueError, match=r"rating 2\.5\d*: expected one of \[1\. 2\.\];"):
        ratings_model(decimals, items=[0, 1], round_to=[1, 2])
    with pytest.raises(ValueError, match=r"\[1.0, 2.0\] and round_to=\[1.0, 3.0\]: expected one"):
        ratings_model(decimals, reward_support=[1, 2], round_to=[1, 3])


def test_ratings_in_float32_belong_to_a_support_in_float64():
    support = np.array([0.1, 0.2, 0.3, 1e6])
    stars = np.tile(support, 5).astype(np.float32).astype(np.float64)
    ratings = ratings_of(stars, np.repeat(np.arange(10), 2), np.tile([7, 8], 10))
    model = ratings_model(ratings, items=[7, 8], reward_support=support, min_support=1)
    assert_array_equal(model.problem.reward_support, support)
    with pytest.raises(ValueError, match=r"rating 0\.200000003: expected one of"):
        ratings_model(ratings, items=[7, 8], reward_support=[0.1, 0.2001, 0.3, 1e6])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.nan, r"stars\[1\] is nan: expected finite numbers; correct these ratings"),
        (-np.inf, r"stars\[1\] is -inf: expected finite numbers"),
        ("x", "stars of type ndarray: expected a table of numbers"),
        (1e308, r"stars\[1\] is 1e\+308: expected numbers of size up to 1e\+100; correct"),
    ],
)
def test_ratings_that_cannot_be_summed_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        ratings_of([1.0, wrong])
