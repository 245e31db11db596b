"""Laws for the draws and look-ups of every model."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from scipy import stats

from cmab_gym.envs.independent import independent_model
from cmab_gym.envs.latent import latent_model
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.models import BanditModel, HistogramModel
from cmab_gym.models.presets import LATENT
from cmab_gym.problem import BanditProblem


def histogram_model():
    table = np.full((3, 3, 4), 3.0)
    table[np.arange(3), np.arange(3)] = [0, 1, 2, 3]
    problem = BanditProblem(table, np.arange(4.0), (0, 3))
    return HistogramModel(np.array([[1, 1, 1, 1], [0, 2, 0, 2], [4, 0, 0, 0]]), problem)


MODELS = {
    "tabular": tabular_model("three-armed"),
    "histogram": histogram_model(),
    "latent": latent_model("two-arm-b"),
    "soft": latent_model("three-arm-a", delta=0.3),
    "normal": independent_model(),
    "beta": independent_model("beta"),
    "finite": independent_model("finite"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_trial_has_the_same_draws_alone_and_among_others(name):
    model = MODELS[name]
    together = model.draw_trials([default_rng(seed) for seed in range(4)], 50)
    for seed in range(4):
        assert_array_equal(together[:, seed], model.draw(default_rng(seed), 50))


@pytest.mark.parametrize("name", MODELS)
def test_pull_one_returns_the_same_reward_as_pull(name):
    model = MODELS[name]
    outcomes = model.draw(default_rng(0), 100)
    if name == "histogram":
        outcomes[:5, 0] = [0, 0.25, 0.5, 0.75, np.nextafter(1, 0)]  # the thresholds themselves
    prepared = model.prepare(outcomes)
    rewards, index = model.pull(outcomes, np.arange(model.n_arms)[None, :])
    for row in range(100):
        for arm in range(model.n_arms):
            one = model.pull_one(prepared, row, arm)
            assert one == (rewards[row, arm], index[row, arm])
            assert one == BanditModel.pull_one(model, outcomes, row, arm)
            column = model.pull(outcomes[row : row + 1], np.array([[arm]]))
            assert one == (column[0][0, 0], column[1][0, 0])


@pytest.mark.parametrize("name", MODELS)
def test_the_index_is_the_position_of_the_reward(name):
    model = MODELS[name]
    rewards, index = model.pull(model.draw(default_rng(1), 500), np.arange(model.n_arms)[None, :])
    assert_array_equal(index, model.problem.reward_index(rewards))


def test_means_that_differ_by_rounding_are_both_best():
    assert independent_model(means=[0.1 + 0.2, 0.3, 0.2]).best_arms.tolist() == [True, True, False]


def test_latent_rewards_follow_from_x_and_a_uniform_share():
    model, rng = latent_model("two-arm-b"), default_rng(8)
    x = stats.beta(1.5, 5, scale=6).rvs(size=30, random_state=rng)
    share = rng.random((2, 30))
    by_hand = [2 * x - 1 + 2 * share[0], (3 - x) ** 2 - 1 + 2 * share[1]]
    np.testing.assert_allclose(model.draw(default_rng(8), 30), np.transpose(by_hand), rtol=1e-12)


@pytest.mark.parametrize("preset", LATENT.values())
def test_the_sources_of_the_presets_draw_as_scipy_does(preset):
    own = preset.latent
    scipys = stats.beta(own.a, own.b, scale=own.scale)
    same = stats.uniform(scale=own.scale) if own.a == own.b == 1 else scipys
    drawn = same.rvs(size=1000, random_state=default_rng(0))
    assert_array_equal(own.rvs(1000, default_rng(0)), drawn)
    q = np.linspace(0, 1, 101)
    assert_array_equal(own.ppf(q), scipys.ppf(q))
    assert own.support() == scipys.support()
