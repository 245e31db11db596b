"""Robust means by hand and from their definitions, and the agent that uses them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from cmab_gym import evaluate
from cmab_gym.agents import IndexAgent
from cmab_gym.agents.heavy_tails.robust_means import catoni_mean, median_of_means, truncated_mean
from cmab_gym.agents.heavy_tails.robust_ucb import RobustUCB
from cmab_gym.agents.remembered import rounded_down
from cmab_gym.envs.independent import independent_model

ROWS = np.random.default_rng(0).standard_t(2.5, (3, 120))


def test_the_truncated_mean_is_as_computed_by_hand():
    # With sigma^2 = 4 and ln(1 / delta) = 2 the limits are sqrt(2 s): 1.41, 2, 2.45.
    means, widths = truncated_mean(np.array([[1.5, 2.0, -2.4, 9.0]]), np.array([3]), 2.0, 2.0)
    assert_allclose(means, [(2 - 2.4) / 3])
    assert_allclose(widths, [8 * np.sqrt(2 / 3)])


def test_the_median_of_means_is_as_computed_by_hand():
    # ln(1 / delta) = 0.25 allows floor(8 * 0.375) = 3 blocks, of 2 rewards; the last is left out.
    rewards = np.array([[0, 2, 100, 0, 4, 6, 7.0, 99]])
    means, widths = median_of_means(rewards, np.array([7]), 3.0, 0.25)
    assert_allclose(means, [5])
    assert_allclose(widths, [3 * np.sqrt(192 * 0.375 / 7)])
    assert median_of_means(rewards, np.array([1]), 3.0, 9.0)[0] == 0


def test_catonis_mean_solves_its_equation():
    n, sigma, log_term = np.array([120, 40, 11]), 2.0, 3.0
    means, widths = catoni_mean(ROWS, n, sigma, log_term)
    for row in (0, 1):
        x = ROWS[row, : n[row]]
        variance = sigma**2 * (1 + 2 * log_term / (n[row] - 2 * log_term))
        alpha = np.sqrt(2 * log_term / (n[row] * variance))

        def total(theta, x=x, alpha=alpha):
            y = alpha * (x - theta)
            return (np.sign(y) * np.log(1 + np.abs(y) + y**2 / 2)).sum()

        assert means[row] == pytest.approx(brentq(total, -9, 9, xtol=1e-14), abs=1e-10)
        assert widths[row] == pytest.approx(2 * sigma * np.sqrt(log_term / n[row]))
    assert widths[2] == np.inf  # 11 rewards are fewer than 4 * 3


def test_counts_are_rounded_down_by_at_most_5_percent():
    pulls = np.arange(5000)
    rounded = rounded_down(pulls)
    assert (rounded[:21] == pulls[:21]).all()
    assert (rounded <= pulls).all()
    assert (rounded >= np.floor(pulls / 1.05)).all()
    assert (np.diff(rounded) >= 0).all()
    assert np.unique(rounded).size < 150


@pytest.mark.parametrize(
    ("name", "estimate"),
    [("catoni", catoni_mean), ("truncated", truncated_mean), ("median-of-means", median_of_means)],
)
def test_the_index_is_the_estimate_of_the_first_rewards_and_its_width(name, estimate):
    agent = IndexAgent(RobustUCB(name, sigma=1.5))
    problem = independent_model("student", means=[0, 1]).problem
    agent.reset(problem, 3, 0)
    arms = np.random.default_rng(1).integers(0, 2, (3, 120))
    for t in range(120):
        agent.update(arms[:, t], ROWS[:, t])
        index = agent.policy.index(agent.history, agent.rng)
    middle = sum(problem.reward_bounds) / 2
    for trial in range(3):
        for arm in (0, 1):
            own = ROWS[trial, arms[trial] == arm]
            n = rounded_down(np.array([own.size]))
            mean, width = estimate(own[None] - middle, n, 1.5, 2 * np.log(128))
            assert index[trial, arm] == pytest.approx(mean[0] + width[0] + middle)


@pytest.mark.parametrize(
    ("name", "rewards", "sigma"),
    [("catoni", "normal", 2), ("truncated", "normal", 16), ("median-of-means", "beta", 0.5)],
)
def test_without_sigma_the_problem_says_how_random_rewards_are(name, rewards, sigma):
    kwargs = {"sigma": 2} if rewards == "normal" else {}
    problem = independent_model(rewards, n_arms=2, **kwargs).problem
    indices = []
    for policy in (RobustUCB(name), RobustUCB(name, sigma=sigma)):
        agent = IndexAgent(policy)
        agent.reset(problem, 1, 0)
        for t in range(40):
            agent.update([t % 2], [0.3 + 0.01 * t])
        indices.append(agent.policy.index(agent.history, agent.rng))
    assert_allclose(*indices)


def test_plain_ucb_fails_on_heavy_tails_and_robust_ucb_does_not():
    """UCB must take B from the bounds, and pulls all arms alike: a regret of 320 in 800 rounds."""
    kwargs = {"rewards": "student", "means": [1, 0.5, 0.5, 0.5, 0.5]}
    agents = ["ucb", "robust-ucb(sigma=1)"]
    results = evaluate("CMAB-Independent-v0", agents, 800, 3, env_kwargs=kwargs)
    plain, robust = (results.regret(name)[:, -1] for name in agents)
    assert (plain > 315).all()
    assert (robust < 250).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": "mean"}, "unknown estimator 'mean'"),
        ({"sigma": 0}, "sigma=0: expected a number above 0"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RobustUCB(**arguments)
