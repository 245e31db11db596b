"""Ratings, surveys of them, and the bundled aggregate tables."""

from cmab_gym.envs_data.bundle import SurveySpec, bundled_specs, bundled_survey
from cmab_gym.envs_data.ratings import Ratings
from cmab_gym.envs_data.readers.options import ReadOptions
from cmab_gym.envs_data.readers.reader import read_ratings
from cmab_gym.envs_data.surveys.arms import Arms, genre_arms, listed_arms, most_rated_arms
from cmab_gym.envs_data.surveys.methods import Method, Validation, validate
from cmab_gym.envs_data.surveys.pooled import Pooled
from cmab_gym.envs_data.surveys.split import Split
from cmab_gym.envs_data.surveys.survey import Survey
from cmab_gym.envs_data.surveys.taking import split_ratings, take_survey
from cmab_gym.envs_data.surveys.unknown import SparseSurveyWarning

__all__ = [
    "Arms",
    "Method",
    "Pooled",
    "Ratings",
    "ReadOptions",
    "SparseSurveyWarning",
    "Split",
    "Survey",
    "SurveySpec",
    "Validation",
    "bundled_specs",
    "bundled_survey",
    "genre_arms",
    "listed_arms",
    "most_rated_arms",
    "read_ratings",
    "split_ratings",
    "take_survey",
    "validate",
]
