"""UCB-N: what it counts, by hand, and that it needs joint outcomes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import paired_gain

from cmab_gym import BanditProblem, evaluate, make_agent
from cmab_gym.agents.told_more.ucb_n import neighbours
from cmab_gym.evaluation import EvaluationError

TABLE = np.ones((3, 3, 2))
TABLE[np.arange(3), np.arange(3)] = [0, 1]
TABLE[1, 0, 1] = 0.5  # a pull of arm 0 says something about arm 1
PROBLEM = BanditProblem(TABLE, [0, 1], (0, 1))


def test_an_arm_is_a_neighbour_if_its_pseudo_rewards_say_something():
    assert neighbours(PROBLEM).tolist() == [
        [True, True, False],
        [False, True, False],
        [False, False, True],
    ]


def test_it_counts_the_rewards_of_neighbours():
    agent = make_agent("ucb-n(B=2)")
    agent.reset(PROBLEM, 2, 0)
    agent.update([0, 1], [1, 0], np.array([[1.0, 0, 1], [1, 0, 1]]))
    agent.update([0, 2], [0, 1], np.array([[0.0, 1, 1], [1, 1, 1]]))
    assert agent.observed.tolist() == [[2, 2, 0], [0, 1, 1]]
    width = 2 * np.sqrt(2 * np.log(2) / np.array([2, 1]))
    expected = [[0.5 + width[0], 0.5 + width[0], np.inf], [np.inf, width[1], 1 + width[1]]]
    assert_allclose(agent.indices(), expected)
    assert agent.act().tolist() == [2, 0]


def test_without_the_rewards_of_others_it_is_ucb():
    arms, rewards = [], np.random.default_rng(0).choice([0.0, 1.0], (40, 3))
    for name in ("ucb-n", "ucb"):
        agent = make_agent(name)
        agent.reset(PROBLEM, 1, 0)
        for row in rewards:
            arms.append(agent.act())
            agent.update(arms[-1], row[arms[-1]])
    assert_array_equal(arms[:40], arms[40:])


def test_an_evaluation_by_rounds_tells_it_the_rewards_of_all_arms():
    """The paired difference is 4 standard errors or more from 0."""
    by_rounds = {"preset": "table1-b", "draws": "rounds"}
    names = ["c-ucb", "ucb-n"]
    results = evaluate("CMAB-Tabular-v0", names, 500, 50, env_kwargs=by_rounds)
    regret, gain, error = paired_gain(results, *names)
    assert gain > regret / 2
    assert gain > 4 * error
    assert results.manifest["told_more"] == {"ucb-n": "the rewards of all arms in every round"}
    late = evaluate("CMAB-Tabular-v0", ["ucb-n"], 50, 5, env_kwargs=by_rounds, delay=3)
    assert late.regret("ucb-n").shape[0] == 5


def test_an_evaluation_by_pulls_refuses_it_and_names_the_remedy():
    with pytest.raises(EvaluationError, match=r"no joint outcome: expected draws='rounds'"):
        evaluate("CMAB-Tabular-v0", ["ucb-n"], 5, 2)
