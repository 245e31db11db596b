"""The environment that agents are trained on."""

import numpy as np
import pytest
from strategies import any_problem

from cmab_gym.history import History
from cmab_gym.training.problems import ProblemDistribution, bernoulli

pytestmark = pytest.mark.rl


def vec_env(problems, n_envs, horizon, seed=0):
    from cmab_gym.training.vec_env import ProblemVecEnv

    return ProblemVecEnv(problems, n_envs, horizon, np.random.default_rng(seed))


def test_observations_are_the_history_and_rewards_are_minus_the_gaps():
    pmf = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])  # means 0, 1 and 0.25
    problems = ProblemDistribution("fixed", 3, np.array([0.0, 0.5, 1.0]), lambda rng: pmf)
    env = vec_env(problems, 2, 1000)
    history = History(any_problem(3, (0, 1)), 2)
    assert np.array_equal(env.reset(), history.features(1000))
    pulls = []
    for arms in np.random.default_rng(0).integers(0, 3, (400, 2)):
        observation, rewards, dones, _ = env.step(arms)
        assert rewards == pytest.approx(-np.array([1, 0, 0.75])[arms])
        assert not dones.any()
        last = observation[:, -2].astype(float)
        history.update(arms, last)
        assert np.array_equal(observation, history.features(1000))
        pulls.extend(zip(arms.tolist(), last.tolist(), strict=True))
    assert {reward for arm, reward in pulls if arm == 0} == {0}
    assert {reward for arm, reward in pulls if arm == 1} == {1}
    halves = [reward for arm, reward in pulls if arm == 2]
    assert set(halves) == {0, 0.5}
    assert np.mean(halves) == pytest.approx(0.25, abs=0.08)  # five standard deviations


def test_the_first_episodes_end_at_different_ages():
    env = vec_env(bernoulli(2), 4, 8)
    env.reset()
    ends = []
    for t in range(1, 25):
        observation, _, dones, infos = env.step(np.zeros(4, dtype=int))
        for i in np.flatnonzero(dones).tolist():
            ends.append((i, t))
            assert infos[i]["terminal_observation"][-1] == pytest.approx(
                0 if t > 8 or i == 3 else 1 - t / 8
            )
            assert observation[i, -1] == 1  # the new episode has all rounds left
    assert [t for i, t in ends if i == 0] == [2, 10, 18]
    assert [t for i, t in ends if i == 1] == [4, 12, 20]
    assert [t for i, t in ends if i == 3] == [8, 16, 24]
