"""Random bandits, for laws that hold for every bandit."""

import numpy as np
from hypothesis import strategies as st

from cmab_gym import BanditProblem
from cmab_gym.models import TabularModel

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def tabular_models(draw, max_arms=5, max_outcomes=8):
    """Draw a joint distribution over a few outcomes, with its tightest pseudo-rewards."""
    n_arms = draw(st.integers(2, max_arms))
    n_outcomes = draw(st.integers(1, max_outcomes))
    levels = draw(st.lists(st.integers(-8, 8), min_size=1, max_size=5, unique=True))
    cell = st.sampled_from([level / 4 for level in levels])
    row = st.lists(cell, min_size=n_arms, max_size=n_arms)
    outcomes = draw(st.lists(row, min_size=n_outcomes, max_size=n_outcomes))
    weights = draw(st.lists(st.integers(1, 20), min_size=n_outcomes, max_size=n_outcomes))
    return TabularModel(outcomes, np.array(weights) / sum(weights))


@st.composite
def pull_histories(draw, model, max_rounds=60):
    """Draw the arms pulled in two trials, each arm once at first: int64 (rounds, 2)."""
    n_arms = model.n_arms
    rounds = draw(st.integers(n_arms, max_rounds))
    rng = np.random.default_rng(draw(SEEDS))
    later = rng.integers(0, n_arms, (rounds - n_arms, 2))
    return np.vstack([rng.permuted(np.tile(np.arange(n_arms), (2, 1)), axis=1).T, later])


def any_problem(n_arms, reward_bounds):
    """Return a problem with these bounds and one bin, whose table says nothing."""
    low, high = reward_bounds
    if low == high:
        return BanditProblem(np.full((n_arms, n_arms, 1), high), [high], reward_bounds)
    table = np.full((n_arms, n_arms, 1), high)
    return BanditProblem(table, [(low + high) / 2], reward_bounds, [low, high])
