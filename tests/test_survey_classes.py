import pickle

import numpy as np
import pytest

from cmab_gym import BanditProblem
from cmab_gym.survey_classes import SurveyClasses

WEIGHTS, MEANS, SIGMAS = [0.25, 0.75], np.array([[0.1, 0.2], [0.3, 0.4]]), [1.0, 2.0]


def problem(classes, **changes):
    table = np.array([[[0, 1], [0.8, 0.5]], [[0.7, 0.4], [0, 1]]])
    survey = {"survey_means": [0.5, 0.25], "survey_counts": np.array([3, 4]), **changes}
    return BanditProblem(table, [0, 1], (0, 1), survey_classes=classes, **survey)


def test_a_problem_keeps_its_classes_and_nothing_can_write_to_them():
    classes = SurveyClasses(WEIGHTS, MEANS, SIGMAS)
    made = problem(classes)
    assert made.survey_classes is made.with_horizon(7).survey_classes is classes
    clone = pickle.loads(pickle.dumps(made)).survey_classes  # noqa: S301
    for each in (classes, clone):
        np.testing.assert_array_equal(each.means, MEANS)
        for array in (each.weights, each.means, each.sigmas):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.setflags(write=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((WEIGHTS, MEANS, [1]), r"shapes \(\(2,\), \(2, 2\), \(1,\)\): expected \(C,\), \(C, K\)"),
        (([1], MEANS, SIGMAS), r"shapes \(\(1,\), \(2, 2\), \(2,\)\): expected"),
        (([0.5, 0.6], MEANS, SIGMAS), "expected shares that sum to 1"),
        (([-0.5, 1.5], MEANS, SIGMAS), "expected shares that sum to 1"),
        ((WEIGHTS, MEANS, [1, 0]), "sigmas holds 0: expected standard deviations above 0"),
        ((WEIGHTS, MEANS * np.nan, SIGMAS), r"means\[0, 0\] is nan: expected finite numbers"),
    ],
)
def test_wrong_classes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SurveyClasses(*arguments)


def test_classes_of_other_arms_or_without_means_are_refused():
    with pytest.raises(ValueError, match="survey_classes of 1 arms: expected those of the 2 arms"):
        problem(SurveyClasses([1], [[1]], [1]))
    with pytest.raises(ValueError, match="in addition to survey_means"):
        problem(SurveyClasses(WEIGHTS, MEANS, SIGMAS), survey_means=None, survey_counts=None)
