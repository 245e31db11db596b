"""Behaviour of every index agent, correlated or not."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cmab_gym import BanditProblem, make_agent
from cmab_gym.agents import (
    TS,
    UCB,
    CBandit,
    IndexAgent,
    SurveyGreedy,
    TightenedCBandit,
    WarmTS,
)
from cmab_gym.envs.tabular import tabular_model

TWO_ARMS = tabular_model("table1-a").problem
THREE_ARMS = tabular_model("three-armed").problem


@pytest.fixture(params=[IndexAgent, CBandit])
def kind(request):
    return request.param


def first_arms(agent, problem, rounds):
    """The arms that 20 trials pull first, int64 (20, rounds)."""
    agent.reset(problem, 20, 0)
    chosen = []
    for _ in range(rounds):
        chosen.append(agent.act())
        agent.update(chosen[-1], np.zeros(20))
    return np.array(chosen).T


@pytest.mark.parametrize("agent", [IndexAgent(UCB()), CBandit(TS(), first_pulls="all")], ids=repr)
def test_every_arm_is_pulled_once_first_in_random_order(agent):
    arms = first_arms(agent, BanditProblem(np.zeros((6, 6, 1)), [0.0], (0, 1)), 6)
    assert_array_equal(np.sort(arms, axis=1), np.tile(np.arange(6), (20, 1)))
    assert len({tuple(row) for row in arms.tolist()}) > 10


@pytest.mark.parametrize("kind", [IndexAgent, CBandit])
def test_a_policy_that_ranks_unpulled_arms_need_not_try_them_first(kind):
    table = np.broadcast_to([0.0, 1.0], (3, 3, 2))
    of_survey = {"survey_means": [0.2, 0.9, 0.5], "survey_counts": np.array([9, 9, 9])}
    problem = BanditProblem(table, [0, 1], (0, 1), **of_survey)
    assert_array_equal(first_arms(kind(SurveyGreedy()), problem, 4), np.ones((20, 4)))
    tried = first_arms(kind(WarmTS(weight=1e6)), problem, 4)
    assert_array_equal(tried, np.ones((20, 4)))


@pytest.mark.parametrize("agent", [CBandit(UCB(B=0.3)), TightenedCBandit(UCB(B=0.3))], ids=repr)
def test_an_arm_that_is_not_competitive_is_never_tried(agent):
    """Arm 0 gives .5, so that arm 1 gives .4 at most and arm 2 up to 1; arm 2 gives 0."""
    table = np.ones((3, 3, 2))
    table[:, 0] = [[0, 0.5], [0, 0.4], [1, 1]]
    table[[1, 2], [1, 2]] = [0, 0.5]
    problem = BanditProblem(table, [0, 0.5], (0, 1))
    agent.reset(problem, 20, 0)
    for t in range(30):
        arms = np.zeros(20, int) if t == 0 else agent.act()
        agent.update(arms, np.where(arms == 0, 0.5, 0))
    assert agent.history.pulls[:, 1].max() == 0
    assert agent.history.pulls[:, 2].min() > 0


@pytest.mark.parametrize("first_pulls", ["competitive", "all"])
def test_an_index_of_minus_infinity_brings_no_ruled_out_arm_back(first_pulls):
    class Nothing:
        def index(self, history, rng):
            return np.full(history.pulls.shape, -np.inf)

    agent = CBandit(Nothing(), first_pulls=first_pulls)
    agent.reset(tabular_model("three-armed").problem, 20, 0)
    for _ in range(60):
        arms = agent.act()
        if agent.history.pulls.min() > 0:
            assert agent.history.competitive[np.arange(20), arms].all()
        agent.update(arms, np.zeros(20))


def test_all_arms_are_pulled_whatever_was_pulled_before():
    agent = CBandit(UCB(), first_pulls="all")
    agent.reset(tabular_model("three-armed").problem, 4, 0)
    for _ in range(5):
        agent.update(np.zeros(4, int), np.zeros(4))
    for _ in range(2):
        agent.update(agent.act(), np.zeros(4))
    assert agent.history.pulls.tolist() == [[5, 1, 1]] * 4


def test_first_pulls_is_a_parameter_of_an_agents_name():
    agent = make_agent("c-ucb(first_pulls='all', B=2)")
    assert repr(agent) == "CBandit(UCB(B=2), first_pulls='all')"
    with pytest.raises(ValueError, match=r"unknown first_pulls 'none'.*competitive, all"):
        make_agent("c-ucb(first_pulls='none')")


class Policy:
    """The index is a function of the history."""

    def __init__(self, function):
        self.function = function

    def index(self, history, rng):
        return self.function(history)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda history: history.means * np.nan, r"the index of arm 0 is nan: expected numbers"),
        (lambda history: history.means.T, r"returned the shape \(2, 3\): expected \(3, 2\)"),
        (lambda history: history.means[:, :1], r"the shape \(3, 1\): expected \(3, 2\)"),
        (lambda history: None, r"returned the shape \(\): expected \(3, 2\)"),
        (lambda history: history.means.__iadd__(1), r"read-only"),
        (lambda history: history.pulls.__iadd__(1), r"read-only"),
    ],
)
def test_an_invalid_index_is_refused(kind, function, message):
    agent = kind(Policy(function))
    agent.reset(TWO_ARMS, 3, 0)
    for arms in ([0, 1, 0], [1, 0, 1]):
        agent.update(np.array(arms), np.ones(3))
    with pytest.raises(ValueError, match=message):
        agent.act()


def test_a_policy_may_return_the_means_themselves(kind):
    agent = kind(Policy(lambda history: history.means))
    agent.reset(TWO_ARMS, 2, 0)
    for arms in ([0, 1], [1, 0], [0, 0]):
        agent.update(np.array(arms), np.ones(2))
    agent.act()
    assert_array_equal(agent.history.means, 1)


def test_reset_forgets_the_last_run(kind):
    agent = kind(TS())

    def choices():
        agent.reset(TWO_ARMS, 2, 5)
        chosen = []
        for t in range(30):
            chosen.append(agent.act().tolist())
            agent.update(np.array(chosen[-1]), np.array([t % 2, 1.0]))
        return chosen

    assert choices() == choices()


@pytest.mark.parametrize("form", [list, np.int32, np.uint8, lambda arms: arms[::-1][::-1]])
def test_arms_and_rewards_may_have_any_form(form):
    chosen = []
    for convert in (form, np.asarray):
        agent = make_agent("c-ucb")
        agent.reset(THREE_ARMS, 4, 0)
        rng = np.random.default_rng(1)
        for _ in range(50):
            chosen.append(agent.act())
            agent.update(convert(chosen[-1]), rng.choice(THREE_ARMS.reward_support, 4).tolist())
    assert_array_equal(chosen[:50], chosen[50:])


def pickled(agent):
    return pickle.loads(pickle.dumps(agent))  # noqa: S301


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
@pytest.mark.parametrize("name", ["ts", "c-ts", "tc-ucb"])
def test_a_copy_made_in_mid_trial_continues_in_the_same_way(name, copied):
    agent = make_agent(name)
    agent.reset(THREE_ARMS, 5, 0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        agent.update(agent.act(), rng.choice(THREE_ARMS.reward_support, 5))
    other = copied(agent)
    for _ in range(40):
        arms, rewards = agent.act(), rng.choice(THREE_ARMS.reward_support, 5)
        assert_array_equal(other.act(), arms)
        agent.update(arms, rewards)
        other.update(arms, rewards)


INVALID_PULLS = [
    ([0, 3], [0, 0]),
    ([0, -1], [0, 0]),
    ([0], [0]),
    ([0, 1], [0]),
    ([0.0, 1.0], [0, 0]),
]


@pytest.mark.parametrize(
    ("name", "pull"),
    [(name, pull) for name in ("ucb", "c-ucb") for pull in INVALID_PULLS]
    + [("c-ucb", ([0, 1], [0, np.nan]))],
)
def test_an_invalid_pull_changes_nothing(name, pull):
    agent = make_agent(name)
    agent.reset(THREE_ARMS, 2, 0)
    with pytest.raises(ValueError, match="expected"):
        agent.update(*map(np.array, pull))
    assert agent.history.pulls.sum() == agent.history.t == 0


@pytest.mark.parametrize("shape", [(1, 3), (3,)])
def test_a_subclass_may_allow_the_same_arms_in_all_trials(shape):
    class Second(IndexAgent):
        def allowed_arms(self):
            return np.array([False, True, False]).reshape(shape)

    agent = Second(UCB())
    agent.reset(THREE_ARMS, 40, 0)
    for _ in range(3):
        agent.update(agent.act(), np.zeros(40))
    assert agent.act().tolist() == [1] * 40


def test_an_agent_prints_as_the_call_that_makes_it():
    assert repr(CBandit(UCB(B=5))) == "CBandit(UCB(B=5))"
    assert repr(IndexAgent(TS())) == "IndexAgent(TS(B=None, beta=1.0))"
