"""Agents played by hand: the rounds that every agent refuses."""

import numpy as np
import pytest
from bandits import for_every_agent

from cmab_gym import BanditProblem, make_agent
from cmab_gym.agents import CBandit, IndexAgent, registry
from cmab_gym.agents.api import unchecked_update
from cmab_gym.agents.correlated.graves_lai import GravesLai
from cmab_gym.agents.one_trial import Copies
from cmab_gym.envs.latent import latent_model

TABLE = np.full((2, 2, 3), 5.0)
TABLE[[0, 1], [0, 1]] = [1, 2, 5]
TOLD = [2, 3], [[[1, 5], [2, 1]], [[2, 5], [5, 5]]]
STARS = for_every_agent(BanditProblem(TABLE, [1, 2, 5], (1, 5)), *TOLD)
BINS = for_every_agent(latent_model("two-arm-b").problem, *TOLD)


class Plain:
    def reset(self, problem, rng):
        self.rewards = []

    def act(self):
        return 0

    def update(self, arm, reward):
        self.rewards.append(reward)


def every_agent():
    learning = {"ppo", "a2c", "dqn"}  # they need an extra; they are `Copies` too
    named = [make_agent(name) for name in registry.agent_names() if name not in learning]
    return [*named, Copies(Plain)]


@pytest.mark.parametrize("agent", every_agent(), ids=repr)
def test_a_round_that_the_problem_cannot_give_is_refused(agent):
    agent.reset(STARS, 2, 0)
    for wrong in (np.inf, -np.inf, np.nan, 10.0, 0.25, 3.0):
        with pytest.raises(
            ValueError, match=rf"reward {wrong}: expected one of \[1. 2. 5.\]; pass"
        ):
            agent.update(agent.act(), np.array([2.0, wrong]))
    for arms, rewards, message in (
        ([0, 1], [2.0], r"rewards have shape \(1,\): expected \(2,\)"),
        ([0, 1], ["a", "b"], "rewards of type list: expected a table of numbers"),
        ([0], [2.0, 2.0], r"arms of shape \(1,\): expected \(2,\)"),
        ([0, 2], [2.0, 2.0], r"arms\[1\] is 2: expected integer arms from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            agent.update(arms, rewards)
    history = getattr(agent, "history", None)
    assert history is None or history.t == 0
    agent.update([0, 1], [5, 1])
    agent.act()


FOR_CONTINUOUS_REWARDS = [agent for agent in every_agent() if not isinstance(agent, GravesLai)]


@pytest.mark.parametrize("agent", FOR_CONTINUOUS_REWARDS, ids=repr)
def test_a_continuous_reward_outside_the_bounds_is_refused(agent):
    agent.reset(BINS, 1, 0)
    low, high = BINS.reward_bounds
    for wrong in (low - 1, high + 1, np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"reward {wrong}: expected a number inside"):
            agent.update(np.array([0]), np.array([wrong]))


@pytest.mark.parametrize("agent", every_agent(), ids=repr)
def test_an_agent_used_before_its_reset_raises_an_error(agent):
    for call in (agent.act, lambda: agent.update(np.array([0]), np.array([1.0]))):
        with pytest.raises(ValueError, match=r"before its first reset: call reset\(problem, tri"):
            call()
    assert not hasattr(agent, "history")


def test_an_evaluation_calls_the_update_without_checks():
    agent = make_agent("ucb")
    agent.reset(STARS, 1, 0)
    unchecked_update(agent)(np.array([1]), np.array([5.0]))
    assert agent.history.sums.tolist() == [[0, 5]]

    class Own(IndexAgent):
        def update(self, arms, rewards):
            self.seen = rewards

    own = Own(agent.policy)
    unchecked_update(own)(np.array([1]), np.array([5.0]))
    assert own.seen == [5.0]


class Reads:
    """A policy whose index needs every statistic."""

    def index(self, history, rng):
        self.seen = history.counts.tolist(), history.variances.tolist()
        return history.means


@pytest.mark.parametrize("kind", [IndexAgent, CBandit])
@pytest.mark.parametrize("acts_first", [True, False])
def test_a_policy_may_read_every_statistic_after_pulls_that_it_did_not_choose(kind, acts_first):
    policy = Reads()
    agent = kind(policy)
    agent.reset(STARS, 1, 0)
    if acts_first:
        agent.act()
    for arm, reward in ((0, 1), (0, 5), (0, 5), (1, 2)):
        agent.update([arm], [reward])
    agent.act()
    assert policy.seen == ([[[1, 0, 2], [0, 1, 0]]], [[pytest.approx(32 / 9), 0]])
