"""Gymnasium's own wrappers and helpers on the environments."""

import gymnasium as gym
import numpy as np
import pytest
from bandits import IDS, MODES, NEEDS, sync
from gymnasium import wrappers
from gymnasium.wrappers import vector
from PIL import Image


@pytest.mark.parametrize("env_id", IDS)
def test_episode_statistics_with_a_time_limit(env_id):
    env = gym.make(env_id, horizon=9, max_episode_steps=4, **NEEDS.get(env_id, {}))
    env = wrappers.RecordEpisodeStatistics(env)
    for _ in range(2):
        env.reset(seed=0)
        steps = [env.step(1) for _ in range(4)]
        assert [(step[2], step[3]) for step in steps] == [(False, False)] * 3 + [(False, True)]
        episode = steps[-1][4]["episode"]
        assert episode["l"] == 4
        assert episode["r"] == pytest.approx(sum(step[1] for step in steps))


@pytest.mark.parametrize("mode", MODES)
def test_episode_statistics_of_native_and_sync_environments_agree(mode):
    env_kwargs = {"num_envs": 3, "horizon": 4}
    env = gym.make_vec("CMAB-MovieLens-v0", autoreset_mode=mode, **env_kwargs)
    native = vector.RecordEpisodeStatistics(env)
    other = vector.RecordEpisodeStatistics(sync("CMAB-MovieLens-v0", mode, **env_kwargs))
    native.reset(seed=1)
    other.reset(seed=1)
    for actions in np.random.default_rng(0).integers(0, 18, (11, 3)):
        mine, theirs = native.step(actions), other.step(actions)
        for info in (mine[4], theirs[4]):
            if "episode" in info:
                assert (info["episode"].pop("t") >= 0).all()  # the time it took
                for key in info["episode"]:
                    info["episode"][key] = np.array(info["episode"][key])
        if "episode" in mine[4]:
            assert mine[4].pop("episode").keys() == theirs[4].pop("episode").keys()
    assert list(native.return_queue) == list(other.return_queue)
    assert list(native.length_queue) == list(other.length_queue) == [4] * 6


@pytest.mark.parametrize("mode", MODES)
def test_vector_wrappers_give_the_same_on_native_and_sync_environments(mode):
    env_kwargs = {"num_envs": 2, "horizon": 3}

    def wrapped(env):
        return vector.DictInfoToList(vector.ClipReward(env, 2, 4))

    native = wrapped(gym.make_vec("CMAB-MovieLens-v0", autoreset_mode=mode, **env_kwargs))
    other = wrapped(sync("CMAB-MovieLens-v0", mode, **env_kwargs))
    native.reset(seed=5)
    other.reset(seed=5)
    for actions in np.random.default_rng(0).integers(0, 18, (8, 2)):
        mine, theirs = native.step(actions), other.step(actions)
        for one, their in zip(mine[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(one, their)
        for one, their in zip(mine[4], theirs[4], strict=True):
            assert one.keys() == their.keys()


def test_scalar_wrappers_can_be_stacked():
    env = gym.make("CMAB-MovieLens-v0", horizon=6, max_episode_steps=6)
    env = wrappers.TimeAwareObservation(env, flatten=False)
    env = wrappers.NormalizeReward(env)
    env = wrappers.Autoreset(env)
    env.reset(seed=0)
    over = [env.step(2)[2] for _ in range(14)]
    assert over == [t in (5, 12) for t in range(14)]


def test_the_pictures_of_an_episode_make_an_animation(tmp_path):
    env = gym.make("CMAB-MovieLens-v0", horizon=12, render_mode="rgb_array")
    env = wrappers.RenderCollection(env)
    env.reset(seed=0)
    for arm in range(12):
        env.step(arm)
    first, *others = [Image.fromarray(picture) for picture in env.render()]
    first.save(tmp_path / "episode.gif", save_all=True, append_images=others)
    with Image.open(tmp_path / "episode.gif") as animation:
        assert animation.n_frames == 13  # one after reset, and one after each step
        assert animation.size == first.size
