"""The survey against hand-worked tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym.data import Arms, Ratings, Survey, genre_arms, most_rated_arms, take_survey
from cmab_gym.data.survey import training_users

# Users 100 to 103, items 7 and 8; ids of users and items do not overlap.
ROWS = [
    # user, item, stars
    (100, 7, 5), (100, 8, 1), (100, 8, 3),
    (101, 7, 5), (101, 8, 2),
    (102, 7, 1), (102, 8, 4),
    (103, 7, 2), (104, 8, 5),
]  # fmt: skip
ARMS = Arms(("seven", "eight"), {7: 0, 8: 1})


def ratings(rows=ROWS, **changes):
    columns = np.array(rows)
    return Ratings(
        columns[:, 0], columns[:, 1], columns[:, 2].astype(float), {7: "Seven"}, **changes
    )


def test_pooled_conditional_means_by_hand():
    # 9 ratings; heavy users first: 100 (3), then 101 and 102 (2 each). More than 60 % (5.4) is
    # held by 100, 101 and 102 (7).
    survey = take_survey(ratings(), ARMS, train_share=0.6)
    table = survey.pseudo_rewards
    # Users who rated item 7 with 5: 100 and 101; their ratings of 8: 1, 3, 2.
    assert table[1, 0, 4] == 2
    assert table[1, 0, 0] == 4  # user 102
    assert_array_equal(table[1, 0, 1:4], 5)  # nobody: the largest reward
    # Users who rated item 8 with 1 or with 3: user 100 alone, who gave item 7 a 5.
    assert_array_equal(table[0, 1], [5, 5, 5, 1, 5])
    assert_array_equal(table[0, 0], [1, 2, 3, 4, 5])
    assert_array_equal(survey.test_counts, [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]])
    assert survey.provenance["training_users"] == 3
    assert survey.provenance["training_ratings"] == 7


def test_a_user_with_many_ratings_weighs_more():
    rows = [(1, 7, 4), *[(1, 8, 1)] * 3, (2, 7, 4), (2, 8, 5), (3, 7, 1), (4, 8, 1)]
    survey = take_survey(ratings(rows), ARMS, train_share=0.6)
    assert survey.pseudo_rewards[1, 0, 3] == (3 * 1 + 5) / 4


def test_entries_that_rest_on_few_ratings_are_unknown():
    survey = take_survey(ratings(), ARMS, train_share=0.6, min_support=3)
    assert survey.pseudo_rewards[1, 0, 4] == 2  # three ratings
    assert survey.pseudo_rewards[1, 0, 0] == 5  # one rating, of 4 stars


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, [0]), (0.29, [0]), (0.3, [0, 2]), (0.5, [0, 2]), (0.6, [0, 2, 1])],
)
def test_the_training_half_is_the_shortest_prefix_that_holds_more(share, expected):
    # 3, 1, 3, 2, 1 ratings of 10; ties by position: users 0, 2, 3, 1, 4.
    counts = np.array([3, 2, 3, 1, 1])
    assert_array_equal(np.flatnonzero(training_users(counts, share)), sorted(expected))


@given(st.lists(st.integers(1, 50), min_size=3, max_size=40), st.floats(0.01, 0.6))
def test_any_split_holds_more_than_the_share_and_not_one_user_too_many(counts, share):
    counts = np.array(counts)
    try:
        trains = training_users(counts, share)
    except ValueError:
        return  # one user holds too much
    held = counts[trains].sum()
    assert held > share * counts.sum()
    assert held - counts[trains].min() <= share * counts.sum()
    assert counts[trains].min() >= counts[~trains].max()


def test_user_and_item_numbers_may_overlap():
    shifted = [(user - 93, item, stars) for user, item, stars in ROWS]  # users 7 to 11
    first, second = take_survey(ratings(), ARMS, 0.6), take_survey(ratings(shifted), ARMS, 0.6)
    assert_array_equal(first.pseudo_rewards, second.pseudo_rewards)


def test_items_without_an_arm_do_not_count():
    extra = [*ROWS, *[(104, 99, 1)] * 20, (105, 99, 5)]
    first, second = take_survey(ratings(), ARMS, 0.6), take_survey(ratings(extra), ARMS, 0.6)
    assert_array_equal(first.pseudo_rewards, second.pseudo_rewards)
    assert first.provenance == second.provenance


def test_the_most_rated_items_ties_by_number():
    arms = most_rated_arms(ratings(), 2)
    assert arms.of_item == {8: 0, 7: 1}
    assert arms.names == ("item 8", "Seven")
    with pytest.raises(ValueError, match="n_arms=3: expected at most 2"):
        most_rated_arms(ratings(), 3)


def test_genres_are_drawn_evenly_and_reproducibly():
    genres = {item: ("A", "B", "C") if item % 2 else ("B",) for item in range(3000)}
    rated = ratings(genres=genres)
    arms = genre_arms(rated, 4)
    assert arms.names == ("A", "B", "C")
    assert genre_arms(rated, 4).of_item == arms.of_item != genre_arms(rated, 5).of_item
    drawn = np.bincount([arms.of_item[item] for item in range(1, 3000, 2)])
    assert {arms.of_item[item] for item in range(0, 3000, 2)} == {1}
    # 1500 draws of 3: within 5 standard errors of 500.
    assert np.abs(drawn - 500).max() < 5 * np.sqrt(1500 * 2 / 9)
    with pytest.raises(ValueError, match="has no genres"):
        genre_arms(ratings(), 0)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"train_share": 1.0}, "leaves none of 5 users for the test"),
        ({"train_share": -1}, "train_share=-1: expected a number from 0 to 1"),
        ({"train_share": 0.8}, r"arm 0 \(seven\) has no test rating at train_share=0.8"),
        ({"reward_support": [1, 2, 3]}, r"rating 5: expected one of \[1. 2. 3.\]"),
        ({"min_support": 0}, "min_support=0"),
    ],
)
def test_wrong_settings(keywords, message):
    with pytest.raises(ValueError, match=message):
        take_survey(ratings(), ARMS, **keywords)


def test_wrong_ratings():
    with pytest.raises(ValueError, match="three of one length"):
        Ratings(np.arange(2), np.arange(3), np.ones(3), {})
    with pytest.raises(ValueError, match=r"stars\[0\] is nan"):
        Ratings(np.arange(1), np.arange(1), np.array([np.nan]), {})
    with pytest.raises(ValueError, match="none of <Ratings"):
        take_survey(ratings(), Arms(("none",), {1: 0}))


def test_a_saved_survey_is_the_same(tmp_path):
    survey = take_survey(ratings(), ARMS, 0.6, provenance={"licence": "ours"})
    survey.save(tmp_path / "s.npz")
    read = Survey.load(tmp_path / "s.npz")
    assert_array_equal(read.pseudo_rewards, survey.pseudo_rewards)
    assert_array_equal(read.test_counts, survey.test_counts)
    assert read.arm_names == survey.arm_names
    assert read.provenance == survey.provenance
    assert [path.name for path in tmp_path.iterdir()] == ["s.npz"]
    survey.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "s.npz").read_bytes()


def test_what_is_no_survey_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a survey"):
        Survey.load(tmp_path / "none.npz")
    text = tmp_path / "text.npz"
    text.write_text("no zip")
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, meta=np.array({"a": object}, dtype=object))
    other = tmp_path / "other.npz"
    np.savez(other, pseudo_rewards=np.ones(3))
    for path in (text, pickled, other):
        with pytest.raises(ValueError, match="is not a survey"):
            Survey.load(path)
    future = tmp_path / "future.npz"
    np.savez(future, meta=np.array('{"format": 99}'))
    with pytest.raises(ValueError, match="format 99: expected 1; rebuild it"):
        Survey.load(future)


def test_a_survey_makes_a_bandit():
    survey = take_survey(ratings(), ARMS, 0.6)
    model = survey.model(pad=0.5)
    assert_allclose(model.means, [2, 5])
    assert model.problem.pseudo_rewards[1, 0, 4] == 2.5
    with pytest.raises(ValueError, match="mask_seed=-1"):
        survey.model(mask_seed=-1)
