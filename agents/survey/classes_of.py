"""The classes of the survey, for `ClassTS` and `ClassUCB`."""

from __future__ import annotations

from cmab_gym.problem import BanditProblem
from cmab_gym.survey_classes import SurveyClasses


def classes_of(problem: BanditProblem) -> SurveyClasses:
    """Return the classes of the survey.

    Raises:
        ValueError: the problem has none.
    """
    classes = problem.survey_classes
    if classes is None:
        raise ValueError(
            "the problem has no survey_classes: expected CMAB-Ratings-v0 with classes=8, for "
            "example, and your ratings or data='ml-1m' (the bundled tables have no classes); or "
            "use warm-ts, which needs only the means of the survey"
        )
    return classes
