"""The share of a survey's unknown pseudo-rewards, its note and its warning."""

import numpy as np
import pytest

from cmab_gym.envs_data import (
    Method,
    Ratings,
    SparseSurveyWarning,
    Split,
    bundled_survey,
    listed_arms,
    take_survey,
)
from cmab_gym.envs_data.bundle import SurveySpec
from cmab_gym.envs_data.surveys.unknown import unknown_note

# Users 1 to 4 are surveyed, and they hold 8 ratings. Users 5 to 10 are the new population.
TRAINING = [(1, 7, 5), (1, 8, 1), (2, 7, 5), (2, 8, 2), (3, 7, 4), (3, 8, 2), (4, 7, 4), (4, 8, 1)]
TEST = [(5, 7, 5), (6, 7, 4), (7, 7, 3), (8, 8, 1), (9, 8, 2), (10, 8, 5)]


def survey_of(rows, training_ratings=8, **method):
    users, items, stars = (np.array(column) for column in zip(*rows, strict=True))
    ratings = Ratings.from_columns(users, items, stars.astype(float))
    arms = listed_arms(ratings, np.unique(items).tolist())
    split = Split((training_ratings - 0.5) / len(rows))
    return take_survey(ratings, arms, split, Method(**method))


def share(survey):
    return survey.provenance["unknown_share"]


def test_the_share_counts_the_entries_that_a_pull_can_show():
    # Pulls show 7 with 3, 4 or 5 and 8 with 1, 2 or 5; nobody surveyed gave 7 a 3, or 8 a 5.
    assert share(survey_of([*TRAINING, *TEST])) == 2 / 6
    # Without the test ratings of 3 and 5 stars, those entries do not count.
    seldom = [row for row in TEST if row[:2] not in ((7, 7), (10, 8))]
    assert share(survey_of([*TRAINING, *seldom])) == 0


def test_entries_with_too_few_ratings_are_unknown():
    survey = survey_of([*TRAINING, *TEST, (11, 7, 5)], min_support=2)
    assert share(survey) == 2 / 6
    with pytest.warns(SparseSurveyWarning, match=r"100.0 % .* \(based on fewer than 3 ratings\)"):
        survey = survey_of([*TRAINING, *TEST], min_support=3)
    assert share(survey) == 1


def test_arms_without_common_users_are_all_unknown():
    rows = [(user, 7 + user % 2, 1 + user % 5) for user in range(40)]
    with pytest.warns(SparseSurveyWarning, match=r"100.0 % of the pseudo-rewards are unknown \("):
        survey = survey_of(rows, 20)
    assert (survey.pseudo_rewards[[0, 1], [1, 0]] == 5).all()


def test_decimal_ratings_are_nearly_all_unknown():
    rng = np.random.default_rng(0)
    rows = [(user, item, rng.uniform(1, 5)) for user in range(60) for item in (7, 8, 9)]
    with pytest.warns(SparseSurveyWarning, match=r"\(based on no rating\).*\(round_to=\["):
        assert share(survey_of(rows, 90)) == 1


def test_half_unknown_entries_give_a_note_but_no_warning():
    survey = survey_of([*TRAINING, *TEST, (11, 7, 1), (12, 8, 3)])
    assert share(survey) == 4 / 8
    note = unknown_note(survey.provenance)
    assert note == "50.0 % of the pseudo-rewards are unknown (based on no rating)"
    with pytest.warns(SparseSurveyWarning, match=r"^55\.6 % .*, so correlated agents gain little"):
        survey_of([*TRAINING, *TEST, (11, 7, 1), (12, 8, 3), (13, 8, 4)])


def test_there_is_no_note_without_unknown_entries_or_without_a_survey():
    assert unknown_note({"unknown_share": 0.0, "method": {"min_support": 1}}) == ""
    assert unknown_note({}) == ""


def test_a_single_arm_has_no_unknown_entries():
    assert share(survey_of([(user, 7, 1 + user % 5) for user in range(9)], 5)) == 0


@pytest.mark.parametrize(("task", "expected"), [("genre", 0), ("movie", 0.0064), ("book", 0.21)])
def test_bundled_surveys_record_their_unknown_share(task, expected):
    source = "goodreads" if task == "book" else "movielens"
    survey = bundled_survey(SurveySpec(source, task, 0.5))
    assert share(survey) == pytest.approx(expected, rel=0.1)
    # An unknown entry is the largest reward, so at least as many entries are.
    others = ~np.eye(len(survey.arm_names), dtype=bool)
    assert share(survey) <= (survey.pseudo_rewards[others] == 5).mean()
