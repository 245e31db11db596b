"""Latent Thompson sampling: its likelihood by hand, and its posterior against the exact one."""

import numpy as np
from numpy.testing import assert_allclose

from cmab_gym import make_agent
from cmab_gym.agents.told_more.hidden_source import HiddenSource
from cmab_gym.models import TabularModel
from cmab_gym.told_problem import ToldProblem

SOURCE = HiddenSource(
    np.array([[0.0, 1, 1], [0, 0, 2]]), np.array([[2.0, 1, 1.5], [0, 4, 3]]), tolerance=1e-9
)


def test_the_likelihood_is_the_density_between_the_lowest_and_the_highest_reward():
    # Arm 0, reward 1.5: 1/2 for x = 0 and 1/0.5 for x = 2. Arm 1, reward 2.5: 1/4 and 1.
    found = SOURCE.likelihood(np.array([0, 1]), np.array([1.5, 2.5]))
    assert_allclose(found, [[0.25, 0, 1], [0, 0.25, 1]])
    # A reward that x decides is infinitely likelier than one in an interval.
    assert_allclose(SOURCE.likelihood(np.array(0), np.array(1.0)), [0, 1, 0], atol=1e-8)
    # One that no x can give says nothing.
    assert_allclose(SOURCE.likelihood(np.array(1), np.array(9.0)), [1, 1, 1])


def test_draws_follow_the_exact_posterior_where_it_is_known():
    """5 of 8 rewards tell the value of the source. False alarm below 1e-6: 6 standard errors."""
    model = TabularModel([[0, 0], [1, 0]], [0.5, 0.5])  # arm 0 tells x, arm 1 does not
    agent = make_agent("latent-ts", weight=2, redraws=3)
    trials = 4000
    agent.reset(ToldProblem(model.problem, source=model.source_rewards()), trials, 0)
    for arm, reward in [(0, 1), (1, 0), (0, 1), (0, 1), (1, 0), (0, 0), (1, 0), (0, 1)]:
        agent.act()
        agent.update(np.full(trials, arm), np.full(trials, float(reward)))
    for _ in range(30):  # rewards that say nothing, so that the sampler goes on
        agent.act()
        agent.update(np.ones(trials, int), np.zeros(trials))
    agent.act()
    drawn = agent.history.memory["p"][:, 1]
    # Rewards that both values give cancel in the likelihood: the posterior is Beta(1 + 4, 1 + 1).
    mean, variance = 5 / 7, 5 * 2 / (49 * 8)
    assert abs(drawn.mean() - mean) < 6 * np.sqrt(variance / trials)
    assert abs(drawn.var() / variance - 1) < 6 * np.sqrt(3 / trials)
    counts = agent.history.memory["counts"]
    assert_allclose(counts.sum(axis=1), 38)


def test_the_values_drawn_can_have_given_the_rewards():
    rewards = np.array([[1, 2, 3, 3], [2, 2, 1, 3]])
    model = TabularModel(rewards.T, [0.25] * 4)
    agent = make_agent("latent-ts")
    agent.reset(ToldProblem(model.problem, source=model.source_rewards()), 5, 0)
    rng = np.random.default_rng(0)
    for _ in range(150):  # more rounds than the first arrays hold
        arms = agent.act()
        agent.update(arms, rewards[arms, rng.integers(0, 4, 5)].astype(float))
    memory, t = agent.history.memory, agent.history.t
    assert_allclose(rewards[memory["arms"], memory["values"]][:, :t], memory["rewards"][:, :t])
    counted = [np.bincount(row[:t], minlength=4) for row in memory["values"]]
    assert_allclose(memory["counts"], counted)
