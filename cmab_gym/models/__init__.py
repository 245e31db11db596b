"""Models of correlated bandits: tabular, latent-source, independent and histogram models."""

from cmab_gym.models.base import BanditModel
from cmab_gym.models.histogram import HistogramModel
from cmab_gym.models.independent import IndependentModel
from cmab_gym.models.latent import LatentModel
from cmab_gym.models.tabular import TabularModel

__all__ = ["BanditModel", "HistogramModel", "IndependentModel", "LatentModel", "TabularModel"]
