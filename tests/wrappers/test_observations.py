"""`HistoryObservation`, scalar and native."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.testing import assert_array_equal

from cmab_gym.wrappers import HistoryObservation, vector


def test_gymnasium_finds_nothing_to_say():
    env = HistoryObservation(gym.make("CMAB-MovieLens-v0").unwrapped)
    with pytest.warns(UserWarning, match="different from the unwrapped version"):  # nothing else
        check_env(env, skip_render_check=True)


def test_the_observation_is_what_was_seen():
    env = HistoryObservation(gym.make("CMAB-Tabular-v0", horizon=4))
    observation, _ = env.reset(seed=0)
    assert_array_equal(observation, [0, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 1])
    observation, reward, *_ = env.step(1)
    log = np.float32(np.log(2) / np.log(5))
    assert_array_equal(observation, [0, 0.25, 0, log, 0.5, reward, 0, 1, reward, 0.75])
    assert_array_equal(env.reset()[0], [0, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 1])


def test_native_and_sync_agree():
    sync = gym.make_vec(
        "CMAB-Latent-v0",
        num_envs=3,
        horizon=5,
        vectorization_mode="sync",
        wrappers=[HistoryObservation],
    )
    native = vector.HistoryObservation(gym.make_vec("CMAB-Latent-v0", num_envs=3, horizon=5))
    assert native.observation_space == sync.observation_space
    assert_array_equal(native.reset(seed=1)[0], sync.reset(seed=1)[0])
    for actions in np.random.default_rng(0).integers(0, 2, (14, 3)):
        mine, theirs = native.step(actions), sync.step(actions)
        assert native.observation_space.contains(mine[0])
        for one, other in zip(mine[:4], theirs[:4], strict=True):
            assert_array_equal(one, other)


def test_what_it_cannot_be_put_on_is_refused():
    with pytest.raises(ValueError, match="expected a bandit of this package"):
        HistoryObservation(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match="expected a native vector environment"):
        vector.HistoryObservation(gym.make_vec("CartPole-v1", vectorization_mode="sync"))
    scaled = gym.wrappers.TransformReward(gym.make("CMAB-Tabular-v0"), lambda reward: reward / 2)
    with pytest.raises(ValueError, match=r"outside TransformReward: .*put TransformReward outside"):
        HistoryObservation(scaled)
