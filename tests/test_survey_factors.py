import pickle

import numpy as np
import pytest

from cmab_gym import BanditProblem
from cmab_gym.survey_factors import SurveyFactors

LOADINGS, SIGMAS = np.array([[0.1, 0.2], [0.3, -0.4]]), [1.0, 2.0]


def problem(factors, **changes):
    table = np.array([[[0, 1], [0.8, 0.5]], [[0.7, 0.4], [0, 1]]])
    survey = {"survey_means": [0.5, 0.25], "survey_counts": np.array([3, 4]), **changes}
    return BanditProblem(table, [0, 1], (0, 1), survey_factors=factors, **survey)


@pytest.mark.parametrize("clone", [lambda f: f, lambda f: pickle.loads(pickle.dumps(f))])  # noqa: S301
def test_factors_are_read_only_copies_and_stay_so(clone):
    given = LOADINGS.copy()
    made = clone(SurveyFactors(given, 0.5, SIGMAS))
    given[:] = 9
    np.testing.assert_array_equal(made.loadings, LOADINGS)
    np.testing.assert_array_equal(made.sigmas, SIGMAS)
    assert made.deviation == 0.5
    for array in (made.loadings, made.sigmas):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.setflags(write=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LOADINGS, 1, [1]), r"shapes \(\(2, 2\), \(1,\)\): expected \(K, r\) and \(K,\)"),
        (([0.1, 0.2], 1, SIGMAS), r"shapes \(\(2,\), \(2,\)\): expected"),
        ((LOADINGS, -1, SIGMAS), "deviation=-1: expected a number from 0"),
        ((LOADINGS, 1, [1, 0]), "sigmas holds 0: expected standard deviations above 0"),
        ((LOADINGS * np.nan, 1, SIGMAS), r"loadings\[0, 0\] is nan: expected finite numbers"),
    ],
)
def test_wrong_factors_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SurveyFactors(*arguments)


def test_a_problem_keeps_its_factors():
    factors = SurveyFactors(LOADINGS, 0.5, SIGMAS)
    made = problem(factors)
    assert made.survey_factors is made.with_horizon(7).survey_factors is factors
    clone = pickle.loads(pickle.dumps(made)).survey_factors  # noqa: S301
    np.testing.assert_array_equal(clone.loadings, LOADINGS)


def test_factors_of_other_arms_or_without_means_are_refused():
    with pytest.raises(ValueError, match="survey_factors of 1 arms: expected those of the 2 arms"):
        problem(SurveyFactors([[1]], 1, [1]))
    with pytest.raises(ValueError, match="in addition to survey_means"):
        problem(SurveyFactors(LOADINGS, 1, SIGMAS), survey_means=None, survey_counts=None)
