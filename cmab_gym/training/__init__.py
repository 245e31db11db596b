"""Training of agents on a distribution of bandit problems, before they play (the extra `rl`)."""

from cmab_gym.training.problems import DISTRIBUTIONS, ProblemDistribution
from cmab_gym.training.train import train

__all__ = ["DISTRIBUTIONS", "ProblemDistribution", "train"]
