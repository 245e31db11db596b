"""UCUCB: its estimate of the source by hand, and the instances of its authors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import paired_gain

from cmab_gym import evaluate, make_agent
from cmab_gym.models import TabularModel
from cmab_gym.told_problem import ToldProblem

THREE_ARMS = [[4, 4, 3, 2, 1], [2, 3, 4, 3, 2], [1, 2, 3, 4, 4]]
P = [0.8, 0.1, 0.04, 0.03, 0.03]


def ucucb_after(rewards, probabilities, arms, seen, **parameters):
    """Return UCUCB after one trial; `rewards` are (K, X)."""
    model = TabularModel(np.transpose(rewards), probabilities)
    agent = make_agent("ucucb", **parameters)
    agent.reset(ToldProblem(model.problem, source=model.source_rewards()), 1, 0)
    for arm, reward in zip(arms, seen, strict=True):
        agent.update([arm], [reward])
    return agent


def index_of(agent):
    with np.errstate(all="ignore"):  # as `act` ignores a division by 0 pulls
        return agent.policy.index(agent.history, agent.rng)


def test_a_reward_is_shared_by_the_values_that_can_give_it():
    # Arm 0 gives 4 for x = 0, 1: D = (1/5 + 1/2, 1/5 + 1/2, 1/5, 1/5, 1/5) / 2. Arm 1 gives 2 for
    # x = 0, 4, and arm 2 gives 1 for x = 0 alone.
    agent = ucucb_after(THREE_ARMS, P, [0, 1, 2], [4, 2, 1])
    expected = np.array([0.2 + 0.5 + 0.5 + 1, 0.2 + 0.5, 0.2, 0.2, 0.2 + 0.5]) / 4
    assert_allclose(agent.history.memory["belief"], [expected])


def test_arms_that_another_beats_for_all_likely_values_are_ruled_out():
    # After 40 rounds of arm 2 with the reward 1, D = (40.2, .2, .2, .2, .2) / 41: x = 0 has the
    # mass .98, and there arm 0 beats arm 1 (4 > 2) and arm 1 beats arm 2.
    agent = ucucb_after(THREE_ARMS, P, [2] * 40, [1] * 40)
    assert np.isposinf(index_of(agent)).tolist() == [[True, False, False]]
    assert np.isneginf(index_of(agent)).tolist() == [[False, True, True]]
    # With all of the mass, arm 2 is the best for x = 3.
    agent = ucucb_after(THREE_ARMS, P, [2] * 40, [1] * 40, epsilon=0)
    assert not np.isneginf(index_of(agent)).any()


def test_before_the_first_round_all_arms_are_equal():
    assert np.isposinf(index_of(ucucb_after(THREE_ARMS, P, [], []))).all()


def test_the_index_of_arms_that_are_left_is_that_of_ucb():
    agent = ucucb_after(THREE_ARMS, P, [0, 1, 2, 0], [4, 2, 1, 4], epsilon=0, B=3)
    widths = 3 * np.sqrt(2 * np.log(4) / np.array([2, 1, 1]))
    assert_allclose(index_of(agent), [np.array([4, 2, 1]) + widths])


def test_the_estimate_is_biased_on_the_authors_counterexample():
    """Arm 0 is the best, 3.2 against 2.8, but after pulls of arm 1 alone D says 2.3 against 2.8."""
    rewards, probabilities = [[2, 4, 1, 1], [2, 3, 3, 2]], [0.1, 0.7, 0.1, 0.1]
    assert_allclose(np.array(rewards) @ probabilities, [3.2, 2.8])
    seen = [3, 3, 3, 3, 2] * 400  # arm 1 gives 3 with the probability .8, for x = 1, 2
    agent = ucucb_after(rewards, probabilities, [1] * len(seen), seen)
    belief = agent.history.memory["belief"][0]
    assert_allclose(belief, [0.1, 0.4, 0.4, 0.1], atol=1e-3)
    assert_allclose(np.array(rewards) @ belief, [2.3, 2.8], atol=2e-3)


def test_a_reward_that_no_value_can_give_is_shared_by_all():
    agent = ucucb_after([[0, 1, 2], [1, 2, 0]], [0.5, 0.25, 0.25], [], [])
    told = ToldProblem(agent.history.problem, source=np.zeros((2, 2, 3)))
    agent.reset(told, 2, 0)
    agent.update([0, 0], [1.0, 0.0])
    assert_allclose(agent.history.memory["belief"], np.full((2, 3), 1 / 3))


@pytest.mark.parametrize("agent", ["ucucb(epsilon=0.2)", "latent-ts"])
def test_to_know_the_source_is_worth_something_on_the_authors_first_instance(agent):
    """The paired difference is 4 standard errors or more from 0."""
    instance = {"outcomes": np.transpose(THREE_ARMS), "probabilities": P}
    names = ["ucb", agent]
    pmf = joint_table(instance)
    results = evaluate("CMAB-Tabular-v0", names, 400, 50, env_kwargs=pmf)
    regret, gain, error = paired_gain(results, *names)
    assert gain > regret / 2
    assert gain > 4 * error


def joint_table(instance):
    """The same distribution as the keyword arguments of the environment."""
    pmf = np.zeros((4, 4, 4))
    np.add.at(pmf, tuple(np.transpose(instance["outcomes"]) - 1), instance["probabilities"])
    return {"pmf": pmf, "supports": [[1, 2, 3, 4]] * 3}


def test_without_the_source_the_error_names_the_remedy():
    model = TabularModel(np.transpose(THREE_ARMS), P)
    for name in ("ucucb", "latent-ts"):
        agent = make_agent(name)
        agent.reset(model.problem, 1, 0)
        with pytest.raises(ValueError, match=r"does not tell .* hidden source: expected a ToldPro"):
            agent.act()
    assert_array_equal(model.source_rewards()[0], THREE_ARMS)
