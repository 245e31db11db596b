"""Pictures of results, a module each: regret, its distribution, pulls and competitive sets."""

from cmab_gym.evaluation.plots.competitive import plot_competitive
from cmab_gym.evaluation.plots.distribution import plot_distribution
from cmab_gym.evaluation.plots.pulls import plot_pulls
from cmab_gym.evaluation.plots.regret import plot_regret

__all__ = ["plot_competitive", "plot_distribution", "plot_pulls", "plot_regret"]
