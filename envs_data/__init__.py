"""Ratings, surveys of them, and the bundled aggregate tables."""

from cmab_gym.data.bundle import bundled_survey, bundled_tables
from cmab_gym.data.ratings import Ratings
from cmab_gym.data.readers import read_goodbooks, read_movielens
from cmab_gym.data.survey import Arms, Survey, assign_arms, genre_arms, most_rated_arms, take_survey

__all__ = [
    "Arms",
    "Ratings",
    "Survey",
    "assign_arms",
    "bundled_survey",
    "bundled_tables",
    "genre_arms",
    "most_rated_arms",
    "read_goodbooks",
    "read_movielens",
    "take_survey",
]
