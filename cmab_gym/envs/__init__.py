"""The Gymnasium environments, one file per family."""

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.goodreads import GoodreadsEnv, GoodreadsVectorEnv
from cmab_gym.envs.independent import IndependentEnv, IndependentVectorEnv
from cmab_gym.envs.latent import LatentEnv, LatentVectorEnv
from cmab_gym.envs.movielens import MovieLensEnv, MovieLensVectorEnv
from cmab_gym.envs.ratings import RatingsEnv, RatingsVectorEnv
from cmab_gym.envs.tabular import TabularEnv, TabularVectorEnv
from cmab_gym.envs.vector import BanditVectorEnv

__all__ = [
    "BanditEnv",
    "BanditVectorEnv",
    "GoodreadsEnv",
    "GoodreadsVectorEnv",
    "IndependentEnv",
    "IndependentVectorEnv",
    "LatentEnv",
    "LatentVectorEnv",
    "MovieLensEnv",
    "MovieLensVectorEnv",
    "RatingsEnv",
    "RatingsVectorEnv",
    "TabularEnv",
    "TabularVectorEnv",
]
