"""What a survey has learned about its users in addition to means: factors and classes."""

from __future__ import annotations

from typing import TypeVar

from cmab_gym.problem import BanditProblem
from cmab_gym.survey_classes import SurveyClasses
from cmab_gym.survey_factors import SurveyFactors

Learned = TypeVar("Learned")


def factors_of(problem: BanditProblem) -> SurveyFactors:
    """Return the factors of the survey.

    Raises:
        ValueError: the problem has none.
    """
    return _required(problem.survey_factors, "factors", 4)


def classes_of(problem: BanditProblem) -> SurveyClasses:
    """Return the classes of the survey.

    Raises:
        ValueError: the problem has none.
    """
    return _required(problem.survey_classes, "classes", 8)


def _required(learned: Learned | None, name: str, example: int) -> Learned:
    if learned is None:
        raise ValueError(
            f"the problem has no survey_{name}: expected CMAB-Ratings-v0 with {name}={example}, "
            f"for example, and your ratings or data='ml-1m' (the bundled tables have no {name}); "
            "or use warm-ts, which needs only the means of the survey"
        )
    return learned
