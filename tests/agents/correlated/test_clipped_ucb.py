"""Clipped UCB against its formula."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import paired_gain
from strategies import SEEDS, pull_histories, tabular_models

from cmab_gym import BanditProblem, evaluate, make_agent
from cmab_gym.agents import UCB
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.rows import ArmRows, LazyRows


def agent_after(problem, arms, rewards, B=None):
    """Return the agent after these pulls, (rounds, trials) each."""
    agent = make_agent("clipped-ucb", B=B)
    agent.reset(problem, np.shape(arms)[1], 0)
    for row in zip(arms, rewards, strict=True):
        agent.update(*row)
    return agent


def index_after(*arguments, **parameters):
    agent = agent_after(*arguments, **parameters)
    with np.errstate(all="ignore"):  # as `act` ignores a division by 0 pulls
        return agent.policy.index(agent.history, agent.rng)


def test_the_index_is_the_one_computed_by_hand():
    # Arm 0 gave 1, 1, 0 (mean 2/3, phi of arm 1 = .5), arm 1 gave 0 (phi of arm 0 = .8).
    problem = tabular_model("table1-a").problem
    width = np.sqrt(2 * np.log(4) / np.array([3, 1]))
    expected = [min(2 / 3 + width[0], 0.8 + width[1]), min(0 + width[1], 0.5 + width[0])]
    pulls = [[0], [1], [0], [0]], [[1], [0], [1], [0]]
    assert_allclose(index_after(problem, *pulls), [expected])
    # Half the interval: arm 0 keeps its own index, and arm 1 is clipped.
    widths = width / 2
    assert_allclose(index_after(problem, *pulls, B=0.5), [[2 / 3 + widths[0], widths[1]]])


def test_an_arm_without_a_pull_has_the_bound_given_the_others_as_its_index():
    problem = tabular_model("table1-a").problem
    assert np.isposinf(index_after(problem, np.empty((0, 2), int), np.empty((0, 2)))).all()
    width = np.sqrt(np.log(2))
    assert_allclose(index_after(problem, [[0], [0]], [[1], [0]]), [[0.5 + width, 0.55 + width]])


def by_definition(problem, arms, rewards):
    """The index of each arm in one trial."""
    support, high = problem.reward_support.tolist(), problem.reward_bounds[1]
    table, t = problem.pseudo_rewards, len(arms)
    terms = []
    for k in set(arms):
        own = [support.index(r) for a, r in zip(arms, rewards, strict=True) if a == k]
        phi = table[:, k, own].mean(axis=1)
        phi[phi >= high - 1e-9] = np.inf
        phi[k] = np.mean([support[j] for j in own])
        terms.append(phi + problem.reward_range * np.sqrt(2 * np.log(t) / len(own)))
    return np.min(terms, axis=0)


def on_demand(problem):
    """The same problem, whose rows are computed when an arm is first pulled."""
    table, high = problem.pseudo_rewards, problem.reward_bounds[1]

    def rows_of(arm):
        entries = ~(high <= table[:, arm].T)
        entries[:, arm] = False
        rewards, arms = np.nonzero(entries)
        return ArmRows(rewards, arms, table[arms, arm, rewards], unknown=False)

    rows = LazyRows(problem.n_arms, problem.reward_support, high, rows_of)
    return BanditProblem(rows, problem.reward_support, problem.reward_bounds)


@settings(max_examples=50)
@given(tabular_models(max_arms=4), SEEDS, st.data())
def test_the_index_is_the_least_upper_confidence_bound(model, seed, data):
    arms = data.draw(pull_histories(model))
    rng = np.random.default_rng(seed)
    rewards = np.stack([model.pull(model.draw(rng, 2), row[:, None])[0][:, 0] for row in arms])
    expected = [
        by_definition(model.problem, arms[:, i].tolist(), rewards[:, i].tolist()) for i in (0, 1)
    ]
    for problem in (model.problem, on_demand(model.problem)):
        assert_allclose(index_after(problem, arms, rewards), expected)


def test_where_no_arm_says_anything_about_another_the_index_is_that_of_ucb():
    problem = BanditProblem(np.full((3, 3, 2), 1.0), [0, 1], (0, 1))
    pulls = [[0], [1], [0], [1]], [[1], [1], [1], [0]]
    own = index_after(problem, *pulls)
    with np.errstate(divide="ignore"):
        ucb = UCB().index(agent_after(problem, *pulls).history, None)
    np.testing.assert_array_equal(own[:, :2], ucb[:, :2])
    assert np.isposinf(own[:, 2]).all()


def test_it_has_less_regret_than_ucb_where_pseudo_rewards_rule_the_other_arm_out():
    """The paired difference is 4 standard errors or more from 0."""
    names = ["ucb", "clipped-ucb"]
    results = evaluate("CMAB-Tabular-v0", names, 1000, 100, env_kwargs={"preset": "table1-a"})
    regret, gain, error = paired_gain(results, *names)
    assert gain > regret / 2
    assert gain > 4 * error
