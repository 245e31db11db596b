"""Theory of a model: competitive arms, and bounds on pulls and regret."""

from cmab_gym.theory.analysis import (
    Analysis,
    analyse,
    analyse_means,
    analyse_without_bins,
    count_competitive,
)
from cmab_gym.theory.conditions import NoBoundError
from cmab_gym.theory.graves_lai import graves_lai_bound
from cmab_gym.theory.lower_bounds import LowerBound, lai_robbins_bound, latent_bound
from cmab_gym.theory.upper_bounds import UpperBound, c_ucb_bound

__all__ = [
    "Analysis",
    "LowerBound",
    "NoBoundError",
    "UpperBound",
    "analyse",
    "analyse_means",
    "analyse_without_bins",
    "c_ucb_bound",
    "count_competitive",
    "graves_lai_bound",
    "lai_robbins_bound",
    "latent_bound",
]
