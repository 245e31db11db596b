"""The features of a history."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import any_problem

from cmab_gym.features import history_features, n_history_features
from cmab_gym.history import History


def test_a_row_of_features_is_the_one_computed_by_hand():
    pulls, means = [[2, 0, 1], [0, 0, 0]], [[2.0, 0, 5], [0, 0, 0]]
    row, empty = history_features(pulls, means, [2, -1], [5, 0], [3, 0], 7, (1, 5))
    logs = np.log([3, 1, 2]) / np.log(8)
    by_hand = [2 / 7, 0, 1 / 7, *logs, 0.25, 0.5, 1, 0, 0, 1, 1, 4 / 7]
    assert_array_equal(row, np.array(by_hand, dtype=np.float32))
    assert_array_equal(empty, [*[0] * 6, 0.5, 0.5, 0.5, *[0] * 4, 1])
    assert row.dtype == np.float32


def test_all_trials_may_share_one_number_of_rounds():
    both = [history_features(np.ones((2, 3)), np.ones((2, 3)), [0, 1], [1, 1], t, 9, (0, 1))
            for t in (3, [3, 3])]  # fmt: skip
    assert_array_equal(*both)


def test_a_bandit_of_one_reward_and_rounds_beyond_the_horizon():
    assert_array_equal(
        history_features([[9, 0]], [[2, 0]], [0], [2], 9, 4, (2, 2)),
        [[1, 0, 1, 0, 0, 0.5, 1, 0, 0, 0]],
    )


@given(st.data())
def test_all_features_lie_between_0_and_1_and_trials_are_independent(data):
    n_arms, horizon = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 30))
    low, high = sorted(data.draw(st.tuples(*[st.floats(-1e3, 1e3)] * 2)))
    rounds = data.draw(st.integers(0, horizon))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    arms = rng.integers(0, n_arms, (rounds, 3))
    rewards = low + (high - low) * rng.random((rounds, 3))
    problem = any_problem(n_arms, (low, high))
    together, alone = History(problem, 3), History(problem, 1)
    for t in range(rounds):
        together.update(arms[t], rewards[t])
        alone.update(arms[t, 1:2], rewards[t, 1:2])
    features = together.features(horizon)
    assert features.shape == (3, n_history_features(n_arms))
    assert ((features >= 0) & (features <= 1)).all()
    assert_array_equal(features[1], alone.features(horizon)[0])
