"""Surveys, compared with tables computed by hand."""

import gc
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym.envs_data import (
    Method,
    Ratings,
    Split,
    Survey,
    listed_arms,
    split_ratings,
    take_survey,
)
from cmab_gym.envs_data.surveys import survey as survey_module

# Of these few ratings most pseudo-rewards are unknown.
pytestmark = pytest.mark.filterwarnings("ignore::cmab_gym.envs_data.SparseSurveyWarning")

# Users 100 to 103, items 7 and 8; ids of users and items do not overlap.
ROWS = [
    # user, item, stars
    (100, 7, 5), (100, 8, 1), (100, 8, 3),
    (101, 7, 5), (101, 8, 2),
    (102, 7, 1), (102, 8, 4),
    (103, 7, 2), (104, 8, 5),
]  # fmt: skip
STARS = (1, 2, 3, 4, 5)


def ratings(rows=ROWS, **changes):
    users, items, stars = (np.array(column) for column in zip(*rows, strict=True))
    return Ratings.from_columns(users, items, stars.astype(float), **changes)


def survey_of(rows=ROWS, share=0.6, support=STARS, method=Method(), **rest):  # noqa: B008
    given = ratings(rows)
    return take_survey(given, listed_arms(given, (7, 8)), Split(share), method, support, **rest)


def test_pseudo_rewards_are_the_pooled_conditional_means():
    # 9 ratings; heavy users first: 100 (3), then 101 and 102 (2 each). These three hold 7 ratings,
    # more than 60 % (5.4).
    survey = survey_of()
    table = survey.pseudo_rewards
    # Users who rated item 7 with 5: 100 and 101; their ratings of 8: 1, 3, 2.
    assert table[1, 0, 4] == 2
    assert table[1, 0, 0] == 4  # user 102
    assert_array_equal(table[1, 0, 1:4], 5)  # unknown: the largest reward
    # Only user 100 rated item 8 with 1 or 3, and gave item 7 a 5.
    assert_array_equal(table[0, 1], [5, 5, 5, 1, 5])
    assert_array_equal(table[0, 0], [1, 2, 3, 4, 5])
    assert_array_equal(survey.test_counts, [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]])
    assert survey.provenance["training_users"] == 3
    assert survey.provenance["training_ratings"] == 7


def test_a_user_with_many_ratings_weighs_more():
    rows = [(1, 7, 4), *[(1, 8, 1)] * 3, (2, 7, 4), (2, 8, 5), (3, 7, 1), (4, 8, 1)]
    survey = survey_of(rows)
    assert survey.pseudo_rewards[1, 0, 3] == (3 * 1 + 5) / 4


def test_entries_with_few_ratings_are_unknown():
    survey = survey_of(method=Method(min_support=3))
    assert survey.pseudo_rewards[1, 0, 4] == 2  # three ratings
    assert survey.pseudo_rewards[1, 0, 0] == 5  # one rating, of 4 stars


def test_user_ids_and_item_ids_may_overlap():
    shifted = [(user - 93, item, stars) for user, item, stars in ROWS]  # users 7 to 11
    first, second = survey_of(), survey_of(shifted)
    assert_array_equal(first.pseudo_rewards, second.pseudo_rewards)


def test_items_without_an_arm_do_not_count():
    extra = [*ROWS, *[(104, 99, 1)] * 20, (105, 99, 5)]
    first, second = survey_of(), survey_of(extra)
    assert_array_equal(first.pseudo_rewards, second.pseudo_rewards)
    assert first.provenance == second.provenance


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"share": 1.0}, "leaves none of 5 users for the test"),
        (
            {"min_test": 3},
            "none of 2 arms has 3 test ratings at train_share=0.6: expected .* lower min_test",
        ),
        ({"min_test": 0}, "min_test=0: expected an integer of at least 1"),
        ({"support": [1, 2, 3]}, r"rating 4: expected one of \[1. 2. 3.\]"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        survey_of(**arguments)


def test_parts_of_ratings_need_an_increasing_support():
    for wrong in ([5, 4, 3, 2, 1], None):
        with pytest.raises(ValueError, match="reward_support"):
            split_ratings(ratings(), listed_arms(ratings(), (7, 8)), Split(0.6), wrong)


def test_arms_with_too_few_test_ratings_are_left_out_and_counted():
    rows = [*ROWS, (105, 8, 2), (106, 8, 3), (107, 7, 3)]
    everything, some = survey_of(rows), survey_of(rows, min_test=3)
    assert everything.arm_names == ("item 7", "item 8")
    assert everything.provenance["left_out"] == {}
    assert some.arm_names == ("item 8",)
    assert some.provenance["left_out"] == {"arms with fewer than 3 test ratings": 1}
    assert_array_equal(some.test_counts, everything.test_counts[1:])
    assert_array_equal(some.training_counts, everything.training_counts[1:])
    assert_array_equal(some.pseudo_rewards, everything.pseudo_rewards[1:, 1:])
    assert survey_of(share=0.8).provenance["left_out"] == {"arms without a test rating": 1}


def test_a_survey_that_rated_no_arm_is_refused():
    rows = [*[(1, 7, 5)] * 3, (2, 8, 4)]
    with pytest.raises(ValueError, match="no surveyed user rated any of the 1 arms with 1 test"):
        survey_of(rows)


def test_the_support_comes_from_the_data_unless_it_is_given():
    half_stars = [(user, item, stars / 2) for user, item, stars in ROWS]
    assert_array_equal(survey_of(half_stars, support=None).reward_support, [0.5, 1, 1.5, 2, 2.5])
    given = survey_of(half_stars, support=np.arange(0.5, 5.5, 0.5))
    assert given.reward_bounds == (0.5, 5)
    with pytest.raises(ValueError, match=r"rating 0.5: expected one of \[1. 2. 3. 4. 5.\]"):
        survey_of(half_stars)


def test_a_survey_records_how_many_entries_its_test_users_violate():
    rows = [(4, 7, 5), (4, 8, 1), (3, 7, 5), (3, 8, 2), (2, 7, 5), (2, 8, 4), (1, 7, 1), (1, 8, 1)]
    survey = survey_of(rows, share=0.3)  # users 4 and 3 train, 2 and 1 test
    # s_87(5) = 1.5, but user 2 gives 4; s_78(4) unknown, 5; s_87(1) and s_78(1): user 1.
    assert survey.provenance["test_half"] == {
        "entries": 4,
        "violated": 1,
        "mean_excess": 2.5,
        "largest_excess": 2.5,
    }
    assert survey.provenance["method"]["name"] == "mean"
    assert survey.provenance["split"]["order"] == "heavy-users"


def test_a_saved_survey_is_read_unchanged(tmp_path):
    survey = survey_of(provenance={"licence": "ours"})
    survey.save(tmp_path / "s.npz")
    read = Survey.load(tmp_path / "s.npz")
    assert_array_equal(read.pseudo_rewards, survey.pseudo_rewards)
    assert_array_equal(read.training_counts, survey.training_counts)
    assert_array_equal(read.test_counts, survey.test_counts)
    assert read.arm_names == survey.arm_names
    assert read.provenance == survey.provenance
    assert [path.name for path in tmp_path.iterdir()] == ["s.npz"]
    survey.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "s.npz").read_bytes()


def test_an_arm_that_no_surveyed_user_rated_has_the_mean_of_all_their_ratings():
    problem = survey_of([(1, 7, 5), (1, 7, 2), (2, 8, 1), (3, 7, 1)], share=0.4).model().problem
    assert_array_equal(problem.survey_counts, [2, 0])
    assert_array_equal(problem.survey_means, [3.5, 3.5])


def test_a_file_that_is_not_a_survey_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a survey"):
        Survey.load(tmp_path / "none.npz")
    text = tmp_path / "text.npz"
    text.write_text("no zip")
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, meta=np.array({"a": object}, dtype=object))
    other = tmp_path / "other.npz"
    np.savez(other, pseudo_rewards=np.ones(3))
    for path in (text, pickled, other):
        with pytest.raises(ValueError, match="expected a survey"):
            Survey.load(path)
    future = tmp_path / "future.npz"
    np.savez(future, meta=np.array('{"format": 99}'), checksum=np.array(""))
    with pytest.raises(ValueError, match=r"has format 99\): expected a survey of format 2"):
        Survey.load(future)


def test_a_changed_table_is_detected(tmp_path):
    path = tmp_path / "s.npz"
    survey_of().save(path)
    with np.load(path) as arrays:
        content = dict(arrays)
    for name, change in (("pseudo_rewards", 0.5), ("training_counts", 1), ("test_counts", 1)):
        np.savez(path, **{**content, name: content[name] + change})
        with pytest.raises(ValueError, match="its checksum is wrong"):
            Survey.load(path)
    np.savez(path, **{**content, "meta": np.array(str(content["meta"]).replace("stars", "moons"))})
    with pytest.raises(ValueError, match="its checksum is wrong"):
        Survey.load(path)
    np.savez(path, **content)
    assert Survey.load(path).reward_unit == "stars"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("reward_support", [-1e308, 0, 1, 2, 1e308], "expected numbers of size up to 1e\\+100"),
        ("training_counts", -1.0, r"training_counts holds -1 to -1: expected counts"),
        ("test_counts", np.inf, "test_counts holds inf to inf: expected counts"),
        ("test_counts", 1e95, "test_counts holds 1e\\+95 to 1e\\+95: expected counts"),
        ("training_counts", 0.0, "training_counts holds only 0"),
        ("test_counts", 1j, "test_counts is of type complex128"),
        ("arm_names", True, "arm_names is of type bool"),
    ],
)
def test_wrong_content_with_the_right_checksum_is_refused(name, value, message, tmp_path):
    path = tmp_path / "s.npz"
    survey_of().save(path)
    with np.load(path) as arrays:
        content = {each: arrays[each] for each in arrays.files if each != "checksum"}
    content[name] = np.broadcast_to(np.array(value), content[name].shape)
    content["checksum"] = np.array(survey_module._checksum(content))
    np.savez(path, **content)
    with pytest.raises(ValueError, match=rf"s\.npz cannot be read .*{message}"):
        Survey.load(path)


def test_a_damaged_header_is_refused_without_a_warning(tmp_path):
    path = tmp_path / "s.npz"
    survey_of().save(path)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in members.items():
            # Python 2 wrote long integers so; NumPy warns of them.
            new.writestr(name, content.replace(b"'shape': (2, ", b"'shape':(2L, "))
    assert Survey.load(path).test_counts.shape == (2, 5)  # pytest makes warnings errors


def test_a_survey_makes_a_bandit():
    survey = survey_of()
    model = survey.model(pad=0.5)
    assert_allclose(model.means, [2, 5])
    # Users 100 to 102 gave item 7 the ratings 5, 5, 1 and item 8 the ratings 1, 3, 2, 4.
    assert_allclose(model.problem.survey_means, [11 / 3, 10 / 4])
    assert_array_equal(model.problem.survey_counts, [3, 4])
    assert model.problem.pseudo_rewards[1, 0, 4] == 2.5
    with pytest.raises(ValueError, match="mask_seed=-1"):
        survey.model(mask_seed=-1)


def test_a_damaged_survey_is_closed(tmp_path):
    path = tmp_path / "s.npz"
    survey_of().save(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match="cannot be read"):
        Survey.load(path)
    gc.collect()  # pytest would report a file that was left open
