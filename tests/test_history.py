"""What a history counts, against sums over all rewards seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import SEEDS, pull_histories, tabular_models

from cmab_gym.history import CorrelatedHistory, History
from cmab_gym.models import TabularModel


def seen(model, data):
    """A history that was read from its first round on, and all (arms, rewards) of it."""
    arms = data.draw(pull_histories(model))
    rng = np.random.default_rng(data.draw(SEEDS))
    history, rewards = History(model.problem, 2), np.empty(arms.shape)
    for t, row in enumerate(arms):
        rewards[t] = model.pull(model.draw(rng, 2), row[:, None])[0][:, 0]
        history.update(row, rewards[t])
        history.variances, history.counts  # noqa: B018
    return history, arms, rewards


@given(st.data())
def test_every_statistic_is_that_of_the_rewards_seen(data):
    model = data.draw(tabular_models())
    history, arms, rewards = seen(model, data)
    assert history.t == len(arms)
    for trial in range(2):
        assert history.last_arm[trial] == arms[-1, trial]
        assert history.last_reward[trial] == rewards[-1, trial]
        for arm in range(model.n_arms):
            own = rewards[arms[:, trial] == arm, trial]
            assert history.pulls[trial, arm] == own.size
            assert_allclose(history.sums[trial, arm], own.sum(), atol=1e-12)
            assert_allclose(history.means[trial, arm], own.mean(), atol=1e-12)
            assert_allclose(history.variances[trial, arm], own.var(), atol=1e-12)
            counts = [(own == reward).sum() for reward in model.problem.reward_support]
            assert_array_equal(history.counts[trial, arm], counts)


def history_of(rounds, kind=History):
    history = kind(TabularModel([[0, 1], [1, 0]], [0.5, 0.5]).problem, 1)
    for arm, reward in rounds:
        history.update(np.array([arm]), np.array([float(reward)]))
    return history


def test_statistics_may_first_be_read_when_every_arm_was_pulled_once():
    history = history_of([(0, 1), (1, 0)])
    assert history.counts.tolist() == [[[0, 1], [1, 0]]]
    assert history.variances.tolist() == [[0, 0]]
    history.update(np.array([0]), np.array([0.0]))
    assert history.counts.tolist() == [[[1, 1], [1, 0]]]
    assert history.variances.tolist() == [[0.25, 0]]


@pytest.mark.parametrize("name", ["variances", "counts"])
def test_statistics_first_read_too_late_are_refused(name):
    history = history_of([(0, 1), (0, 0)])
    with pytest.raises(ValueError, match=rf"history.{name} is read .* after 2 rounds: expected"):
        getattr(history, name)


@pytest.mark.parametrize("name", ["pulls", "sums", "means", "last_arm", "last_reward", "counts"])
def test_statistics_cannot_be_written_to(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(history_of([]), name)[0] = 1


@pytest.mark.parametrize("name", ["significant", "unknown"])
def test_what_a_c_bandit_decides_by_cannot_be_written_to(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(history_of([(0, 1)], CorrelatedHistory), name)[0] = 0


def test_a_reward_that_the_problem_cannot_give_changes_nothing():
    history = history_of([], CorrelatedHistory)
    with pytest.raises(ValueError, match=r"reward 3\.0: expected"):
        history.update(np.array([0]), np.array([3.0]))
    assert history.t == history.pulls.sum() == history.last_reward[0] == 0
