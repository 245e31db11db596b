"""Distributions of problems for training."""

import numpy as np
import pytest

from cmab_gym.envs.movielens import movielens_model
from cmab_gym.training.problems import DISTRIBUTIONS, bernoulli, genre


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_draw_is_a_distribution_of_rewards_for_each_arm(name):
    problems = DISTRIBUTIONS[name]()
    pmf = problems.draw(np.random.default_rng(0))
    assert pmf.shape == (problems.n_arms, problems.rewards.size)
    assert pmf.min() >= 0
    assert pmf.sum(axis=1) == pytest.approx(1)
    assert (problems.rewards[0], problems.rewards[-1]) == (0, 1)
    assert np.array_equal(pmf, problems.draw(np.random.default_rng(0)))


def test_bernoulli_means_are_uniform():
    problems, rng = bernoulli(5), np.random.default_rng(1)
    means = np.stack([problems.draw(rng) @ problems.rewards for _ in range(4000)])
    for quantile in (0.1, 0.5, 0.9):  # 20,000 numbers: 0.02 is over five standard deviations
        assert np.quantile(means, quantile) == pytest.approx(quantile, abs=0.02)


def test_genre_problems_leave_out_draw_0_and_shuffle_the_arms():
    problems, rng = genre(), np.random.default_rng(2)
    known = {draw: sorted(movielens_model(genre_draw=draw).means) for draw in range(5)}
    draws, best_arms = set(), set()
    for _ in range(200):
        means = 1 + 4 * problems.draw(rng) @ problems.rewards
        draws |= {draw for draw, own in known.items() if np.allclose(sorted(means), own)}
        best_arms.add(int(means.argmax()))
    assert draws == {1, 2, 3, 4}
    assert best_arms == set(range(18))  # fails with probability below 0.0002


def test_a_wrong_number_of_arms_is_refused():
    assert bernoulli(3).n_arms == 3
    with pytest.raises(ValueError, match="n_arms=1: expected an integer of at least 2"):
        bernoulli(1)
    with pytest.raises(ValueError, match="n_arms=4 with on='genre': expected 18"):
        genre(4)
