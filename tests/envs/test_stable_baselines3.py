"""The environments in stable-baselines3."""

import os
import subprocess
import sys
import warnings
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from bandits import IDS, NEEDS

from cmab_gym.wrappers import (
    FullInformation,
    HistoryObservation,
    PseudoRewardObservation,
    ScaleReward,
)

pytestmark = pytest.mark.rl


def monitored(env):
    from stable_baselines3.common.monitor import Monitor

    return Monitor(env)


WRAPPERS = {
    "history": [HistoryObservation],
    "pseudo-rewards": [PseudoRewardObservation],
    "all rewards": [FullInformation],
    "history, scaled rewards": [HistoryObservation, ScaleReward],
    "time limit": [partial(gym.wrappers.TimeLimit, max_episode_steps=5)],
    "episode statistics": [gym.wrappers.RecordEpisodeStatistics],
    "monitor": [HistoryObservation, monitored],
}


def make(env_id, wrappers=(), **env_kwargs):
    env = gym.make(env_id, **env_kwargs)
    for wrapper in wrappers:
        env = wrapper(env)
    return env


@pytest.mark.parametrize("horizon", [1, 7, 5000])
@pytest.mark.parametrize(
    ("env_id", "wrappers"),
    [*((env_id, "none") for env_id in IDS), *(("CMAB-MovieLens-v0", name) for name in WRAPPERS)],
)
def test_check_env_of_stable_baselines3_accepts_the_environments(env_id, wrappers, horizon):
    from stable_baselines3.common.env_checker import check_env

    env_kwargs = {"horizon": horizon, **NEEDS.get(env_id, {})}
    env = make(env_id, WRAPPERS.get(wrappers, []), **env_kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, warn=True)


def test_check_env_of_stable_baselines3_refuses_a_wrong_environment():
    from stable_baselines3.common.env_checker import check_env

    class Wrong(gym.Wrapper):
        def reset(self, **kwargs):
            return super().reset(**kwargs)[0]

    with pytest.raises(AssertionError, match="reset"):
        check_env(Wrong(make("CMAB-Tabular-v0")), warn=True)


def dummy(makers):
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv(makers)


def subproc(start_method, makers):
    from stable_baselines3.common.vec_env import SubprocVecEnv

    with warnings.catch_warnings():
        # Since version 3.12, Python warns of a fork of a process with threads, such as torch's.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        return SubprocVecEnv(makers, start_method=start_method)


VEC_ENVS = {
    "dummy": dummy,
    "fork": partial(subproc, "fork"),
    "spawn": partial(subproc, "spawn"),
}


@pytest.mark.parametrize("kind", VEC_ENVS)
def test_a_vec_env_gives_what_its_environments_give(kind):
    if kind == "fork":
        # In a new process: a fork of this one, which has threads, may hang.
        code = f"import runpy; runpy.run_path({__file__!r})['compare_vec_env']('fork')"
        paths = os.pathsep.join(path for path in sys.path if path)
        done = subprocess.run(
            [sys.executable, "-c", code],
            timeout=120,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert done.returncode == 0, done.stderr
    else:
        compare_vec_env(kind)


def compare_vec_env(kind):
    def make_one():  # local, so that other processes need not import this file
        return HistoryObservation(gym.make("CMAB-Tabular-v0", horizon=7, preset="table1-b"))

    n_envs = 1 if kind == "spawn" else 2  # each new process loads torch
    vec_env = VEC_ENVS[kind]([make_one] * n_envs)
    alone = [make_one() for _ in range(n_envs)]
    arms = np.random.default_rng(0).integers(0, 2, (20, n_envs))
    try:
        vec_env.seed(5)
        observed = [vec_env.reset()]
        expected = [np.stack([env.reset(seed=5 + i)[0] for i, env in enumerate(alone)])]
        for round_, pulled in enumerate(arms, start=1):
            observations, rewards, dones, infos = vec_env.step(pulled)
            steps = [env.step(arm) for env, arm in zip(alone, pulled, strict=True)]
            assert rewards.tolist() == [step[1] for step in steps]
            assert dones.tolist() == [round_ % 7 == 0] * n_envs
            assert [info["regret"] for info in infos] == [step[4]["regret"] for step in steps]
            if dones[0]:
                last = np.stack([info["terminal_observation"] for info in infos])
                assert np.array_equal(last, np.stack([step[0] for step in steps]))
                assert not infos[0]["TimeLimit.truncated"]
            observed.append(observations)
            expected.append(
                np.stack(
                    [
                        env.reset()[0] if dones[0] else step[0]
                        for env, step in zip(alone, steps, strict=True)
                    ]
                )
            )
        assert np.array_equal(np.stack(observed), np.stack(expected))
    finally:
        vec_env.close()


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "DQN"])
def test_algorithms_learn_on_the_environments_as_they_are(algorithm):
    import stable_baselines3

    env = gym.make("CMAB-Tabular-v0", pmf=[[0.05, 0.85], [0.0, 0.1]], horizon=50)
    cls = getattr(stable_baselines3, algorithm)
    short = {"learning_starts": 10} if algorithm == "DQN" else {"n_steps": 20}
    if algorithm == "PPO":
        short["batch_size"] = 20
    model = cls("MlpPolicy", env, learning_rate=0.01, gamma=0.0, seed=0, device="cpu", **short)
    model.learn(600)
    arm, _ = model.predict(np.int64(0), deterministic=True)
    assert arm == 1  # it gives 1 in 95 % of all rounds, arm 0 in 10 %
