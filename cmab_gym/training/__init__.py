"""Training of agents beforehand, on a distribution of bandit problems (the extra `rl`)."""

from cmab_gym.training.problems import DISTRIBUTIONS, ProblemDistribution
from cmab_gym.training.train import train

__all__ = ["DISTRIBUTIONS", "ProblemDistribution", "train"]
