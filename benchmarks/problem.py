"""The problem of the benchmarks: any number of Bernoulli arms, with exact pseudo-rewards.

Importing the module registers the environment `CMAB-Bernoulli-v0`.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.models.histogram import HistogramModel
from cmab_gym.problem import BanditProblem

ENV_ID = "CMAB-Bernoulli-v0"


def bernoulli_model(arms: int = 50) -> HistogramModel:
    """Return K arms of means 0.1 to 0.9, whose rewards one uniform number decides.

    The pseudo-rewards are the exact conditional means: an arm that gives 1 says that every better
    arm does.
    """
    means = np.linspace(0.1, 0.9, arms)
    of, given = means[:, None], means[None, :]
    table = np.stack(
        [np.maximum((of - given) / (1 - given), 0), np.minimum(of / given, 1)], axis=-1
    )
    problem = BanditProblem(table, np.array([0.0, 1.0]), (0.0, 1.0))
    return HistogramModel(np.stack([1 - means, means], axis=1), problem)


class BernoulliEnv(BanditEnv):
    """K Bernoulli arms."""

    build_model = staticmethod(bernoulli_model)


class BernoulliVectorEnv(BanditVectorEnv):
    """Many trials of `BernoulliEnv` in lockstep."""

    compiled_loop = True
    build_model = staticmethod(bernoulli_model)


if ENV_ID not in gym.registry:
    gym.register(ENV_ID, entry_point=BernoulliEnv, vector_entry_point=BernoulliVectorEnv)
