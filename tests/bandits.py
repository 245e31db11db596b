"""One environment of every family, comparisons of their infos, and a problem for every agent."""

import gymnasium as gym
import numpy as np

from cmab_gym import BanditProblem
from cmab_gym.envs.independent import REWARDS
from cmab_gym.envs.registration import ENVIRONMENTS
from cmab_gym.envs_data import Ratings
from cmab_gym.models.presets import LATENT, TABULAR
from cmab_gym.survey_classes import SurveyClasses
from cmab_gym.survey_factors import SurveyFactors
from cmab_gym.told_problem import ToldProblem

IDS = [entry.id for entry in ENVIRONMENTS]
_STARS = np.random.default_rng(0).integers(1, 6, (40, 3)).astype(float)
RATINGS = Ratings.from_columns(
    np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40), _STARS.ravel()
)
NEEDS = {"CMAB-Ratings-v0": {"data": RATINGS, "n_arms": 3}}
# Ids and keyword arguments of every preset, and of every kind of independent rewards.
PRESETS = [
    *(("CMAB-Tabular-v0", {"preset": name}) for name in TABULAR),
    *(("CMAB-Latent-v0", {"preset": name}) for name in LATENT),
    *(("CMAB-Independent-v0", {"rewards": kind}) for kind in REWARDS),
]
MODES = ["NextStep", "SameStep"] if hasattr(gym.vector, "AutoresetMode") else ["NextStep"]


def for_every_agent(problem, means, source=None):
    """Add all that some agent needs to a problem: a survey, the horizon, what it is told."""
    n_arms, (low, high) = problem.n_arms, problem.reward_bounds
    loadings = np.linspace(-0.3, 0.4, 2 * n_arms).reshape(n_arms, 2)
    class_means = np.linspace(low, high, 3 * n_arms).reshape(3, n_arms)
    return ToldProblem(
        BanditProblem(
            problem.rows,
            problem.reward_support,
            problem.reward_bounds,
            problem.reward_edges,
            problem.pseudo_lower_bounds,
            survey_means=np.linspace(low, high, n_arms + 2)[1:-1],
            survey_counts=np.arange(3, n_arms + 3),
            survey_factors=SurveyFactors(loadings, 0.3, np.linspace(1, 2, n_arms)),
            survey_classes=SurveyClasses([0.5, 0.2, 0.3], class_means[:, ::-1], np.ones(n_arms)),
            horizon=60,
        ),
        means,
        source,
    )


def sync(env_id, mode="NextStep", wrappers=(), **env_kwargs):
    """Make Gymnasium's own vector environment; that of 1.0 has only one autoreset mode."""
    return gym.make_vec(
        env_id,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode} if len(MODES) > 1 else {},
        wrappers=wrappers,
        **env_kwargs,
    )


def visible_entries(info):
    """Return the entries of a vector environment's info that are not masked for all."""
    entries = {}
    for key, value in info.items():
        if not key.startswith("_") and info[f"_{key}"].any():
            # Final observations are an array of objects, each an observation.
            entries[key] = (
                visible_entries(value) if isinstance(value, dict) else np.stack(list(value))
            )
            entries["_" + key] = info["_" + key]
    return entries


def assert_same_info(one, other):
    one, other = visible_entries(one), visible_entries(other)
    assert one.keys() == other.keys()
    for key, value in one.items():
        if isinstance(value, dict):
            assert_same_info(value, other[key])
        else:
            assert value.dtype == other[key].dtype, key
            np.testing.assert_array_equal(value, other[key])


def assert_same_step(one, other):
    """Check that observations, rewards, terminations, truncations and infos are the same."""
    for left, right in zip(one[:4], other[:4], strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    assert_same_info(one[4], other[4])
