import numpy as np
import pytest

from cmab_gym import BanditProblem
from cmab_gym.models import HistogramModel

PROBLEM = BanditProblem(np.broadcast_to([1.0, 2, 3], (2, 2, 3)), [1, 2, 3], (1, 3))


def test_means_and_probabilities_follow_from_the_counts():
    model = HistogramModel([[1, 1, 2], [4, 0, 0]], PROBLEM)
    np.testing.assert_allclose(model.means, [2.25, 1])
    np.testing.assert_allclose(model.reward_pmf, [[0.25, 0.25, 0.5], [1, 0, 0]])
    np.testing.assert_allclose(model.gaps, [0, 1.25])


def test_a_reward_is_the_quantile_of_the_rounds_uniform_number():
    model = HistogramModel([[1, 1, 2], [4, 0, 0]], PROBLEM)
    uniform = np.array([[0.0], [0.24], [0.25], [0.49], [0.5], [0.999]])
    rewards, index = model.pull(uniform, np.array([[0, 1]]))
    np.testing.assert_array_equal(rewards[:, 0], [1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(rewards[:, 1], 1)
    np.testing.assert_array_equal(index[:, 0], [0, 0, 1, 1, 2, 2])


def test_impossible_rewards_are_never_drawn():
    model = HistogramModel([[0, 5, 0], [3, 0, 4]], PROBLEM)
    rewards, _ = model.pull(model.draw(np.random.default_rng(0), 5000), np.array([[0, 1]]))
    assert set(rewards[:, 0]) == {2}
    assert set(rewards[:, 1]) == {1, 3}


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 1], [1, 1]], r"shape \(2, 2\): expected \(K, R\) = \(2, 3\)"),
        ([[1, -1, 1], [1, 1, 1]], r"negative entry -1"),
        ([[1, 1, 1], [0, 0, 0]], r"arm 1 \(arm 1\) has no reward"),
        ([[1, 1, 1], [0, np.inf, 0]], r"counts\[1, 1\] is inf"),
        ([[1, 1, 1], [0, 1e308, 1e308]], r"counts\[1, 1\] is 1e\+308"),
    ],
)
def test_wrong_counts_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        HistogramModel(counts, PROBLEM)
