"""Minima that are kept between rounds allow the same arms as the definition of the rule."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import SEEDS, tabular_models

from cmab_gym.agents import UCB, CBandit, TightenedCBandit
from cmab_gym.competitive import best_mean, competitive_arms, least_bounds


def play(agent, model, seed, share_of_rounds, check):
    """Pull arms unevenly, and check the agent in a share of the rounds only."""
    agent.reset(model.problem, 3, seed)
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(model.n_arms))
    for t in range(80):
        if rng.random() < share_of_rounds:
            check(agent)
        arms = np.full(3, t) if t < model.n_arms else rng.choice(model.n_arms, 3, p=weights)
        rewards, _ = model.pull(model.draw(rng, 3), arms[:, None])
        agent.update(arms, rewards[:, 0])


@settings(max_examples=40)
@given(tabular_models(max_arms=4), SEEDS, st.booleans(), st.floats(0.05, 1))
def test_a_c_bandit_allows_what_its_history_allows(model, seed, lower_bounds, share):
    def check(agent):
        assert_array_equal(agent.allowed_arms(), agent.history.competitive)

    play(CBandit(UCB(), lower_bounds=lower_bounds), model, seed, share, check)


@settings(max_examples=40)
@given(tabular_models(max_arms=4), SEEDS, st.floats(0.05, 1))
def test_a_tightened_c_bandit_allows_what_its_phi_allows(model, seed, share):
    def check(agent):
        allowed, history = agent.allowed_arms(), agent.history
        best = best_mean(history.means, history.significant)
        leaders = history.significant & (history.means == best)
        bounds = least_bounds(agent.phi, history.significant)
        assert_array_equal(allowed, competitive_arms(bounds, best, leaders, history.unknown))

    play(TightenedCBandit(UCB()), model, seed, share, check)
