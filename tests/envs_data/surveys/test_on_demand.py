"""Rows computed on demand equal those of the whole table, to the bit."""

from unittest.mock import patch

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cmab_gym import BanditProblem, from_ratings, make_agent
from cmab_gym.agents import UCB, CBandit
from cmab_gym.envs_data import Ratings, take_survey
from cmab_gym.envs_data.surveys.arms import listed_arms
from cmab_gym.envs_data.surveys.methods import METHODS, Method
from cmab_gym.envs_data.surveys.split import Split
from cmab_gym.envs_data.surveys.unknown import without_survey_warnings
from cmab_gym.models.base import BanditModel
from cmab_gym.theory import analyse


def survey(ratings, on_demand, **kwargs):
    arms = listed_arms(ratings, ratings.item_ids.tolist())
    with without_survey_warnings(), patch("cmab_gym.rows.LARGEST_TABLE", 0 if on_demand else 2**20):
        return take_survey(ratings, arms, Split(0.6), **kwargs)


def random_ratings(seed, n_users=14, n_items=6, share=0.6):
    """Ratings of some pairs, with items that are rated alike or hardly at all."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < share * rng.random(n_items))
    stars = rng.choice([0, 1, 2.5, 5], users.size) + 0.0
    stars[items == 0] = 5
    return Ratings.from_columns(users, items, stars) if users.size else random_ratings(seed + 1)


def both(seed, **kwargs):
    """The same survey whole and on demand; None if it cannot be taken or made a problem."""
    ratings = random_ratings(seed)
    try:
        made = [survey(ratings, on_demand, **kwargs) for on_demand in (False, True)]
        made[0].model()
    except ValueError:
        return None
    return made


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0, 0.3, 0.7, 1]), st.booleans())
def test_rows_on_demand_equal_those_of_the_table(name, seed, min_support, mask, padded):
    made = both(seed, method=Method(name, min_support=min_support, delta=0.2))
    if made is None:
        return
    whole, lazy = (each.model(mask, 0.3 * padded, seed).problem for each in made)
    assert_array_equal(whole.survey_means, lazy.survey_means)
    for arm in np.random.default_rng(seed).permutation(whole.n_arms).tolist():
        for reward in range(whole.reward_support.size):
            assert_array_equal(lazy.rows.of(arm, reward), whole.pseudo_rewards[:, arm, reward])
        assert lazy.rows.unknown[arm] == whole.rows.unknown[arm]


def model_on_demand(seed=0, n_items=12, **kwargs):
    ratings = random_ratings(seed, 60, n_items, 0.7)
    return survey(ratings, on_demand=True, **kwargs).model(0.2, 0.1)


@pytest.mark.parametrize("name", ["c-ucb", "c-ts"])
def test_agents_choose_the_same_arms_with_rows_on_demand(name):
    whole, lazy = (
        survey(random_ratings(3, 60, 12, 0.7), each).model(0.2) for each in (False, True)
    )
    assert type(whole.problem.rows) is not type(lazy.problem.rows)
    agents = [make_agent(name), make_agent(name)]
    for agent, model in zip(agents, (whole, lazy), strict=True):
        agent.reset(model.problem, 5, 1)
    rng = np.random.default_rng(0)
    for t in range(120):
        arms, same = (agent.act() for agent in agents)
        assert_array_equal(arms, same)
        rewards = whole.pull(whole.draw(rng, 5), arms[:, None])[0][:, 0]
        for agent in agents:
            agent.update(arms, rewards)
        if t % 10 == 0:
            assert_array_equal(*(agent.history.bounds for agent in agents))
            assert_array_equal(agents[1].allowed_arms(), agents[1].history.competitive)


def test_errors_for_too_large_tables_name_the_limit():
    model: BanditModel = model_on_demand()
    agent = CBandit(UCB())
    agent.reset(model.problem, 1, 0)
    needs = [
        ("`pseudo_rewards`", lambda: model.problem.pseudo_rewards),
        ("phi", lambda: agent.history.phi),
        ("phi", lambda: analyse(model)),
        ("a tightened agent", lambda: make_agent("tc-ucb").reset(model.problem, 1, 0)),
    ]
    for what, need in needs:
        message = f"{what} needs the whole table of 11 arms and 4 rewards, .* at most 64 MB, which"
        with pytest.raises(ValueError, match=message):
            need()


def test_a_survey_on_demand_cannot_be_saved(tmp_path):
    made = survey(random_ratings(0), on_demand=True)
    with pytest.raises(ValueError, match="a saved survey needs the whole table"):
        made.save(tmp_path / "survey.npz")
    assert not list(tmp_path.iterdir())


def test_an_environment_with_rows_on_demand_gives_the_row_of_each_step():
    data = survey(random_ratings(1, 40, 5, 0.9), on_demand=True)
    env = from_ratings(data)
    info = env.reset(seed=0)[1]
    assert "pseudo_rewards" not in info
    with pytest.raises(ValueError, match=r"info has no 'pseudo_rewards', .*`env.unwrapped.problem"):
        BanditProblem.from_info(info)
    row = env.step(2)[4]
    expected = env.unwrapped.problem.rows.of(2, int(row["reward_index"]))
    assert_array_equal(row["pseudo_reward"], expected)
    envs = gym.make_vec("CMAB-Ratings-v0", 3, data=data)
    assert "pseudo_rewards" not in envs.reset(seed=0)[1]
    rows = envs.step(np.array([2, 0, 2]))[4]
    for each in range(2):
        arm, index = (2, 0, 2)[each], int(rows["reward_index"][each])
        assert_array_equal(rows["pseudo_reward"][each], env.unwrapped.problem.rows.of(arm, index))
    with pytest.raises(ValueError, match="step_info='table' needs the whole table"):
        from_ratings(data, step_info="table")
