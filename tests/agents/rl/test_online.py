"""Agents that learn while they play."""

import copy
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import gymnasium as gym
import numpy as np
import pytest

from cmab_gym import check_agent, evaluate, make_agent
from cmab_gym.agents.rl import A2C, DQN, PPO
from cmab_gym.agents.rl.settings import TUNED
from cmab_gym.envs.tabular import tabular_model

pytestmark = pytest.mark.rl

ALL = {"ppo": PPO, "a2c": A2C, "dqn": DQN}
EASY = {"pmf": np.outer([0.8, 0.2], [0.2, 0.8]).tolist()}  # arm 1 gives a 1 four times as often


def play(agent, problem, rounds, rewards, seed=0):
    """Play one trial; rewards (rounds, K)."""
    agent.reset(problem, 1, seed)
    arms = []
    for row in rewards[:rounds]:
        arms.append(int(agent.act()[0]))
        agent.update(np.array(arms[-1:]), row[arms[-1:]])
    return arms


@pytest.fixture
def problem():
    return tabular_model(**EASY).problem


@pytest.fixture
def rewards():
    return np.random.default_rng(7).integers(0, 2, (400, 2)).astype(float)


@pytest.fixture
def two_torch_threads():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def learners():
    return [thread for thread in threading.enumerate() if thread.name.startswith("Learner")]


def in_a_new_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


@pytest.mark.parametrize("name", ALL)
def test_an_agent_keeps_the_contract(name):
    check_agent(name, rounds=34)  # PPO learns after 32


def test_results_do_not_depend_on_batches_workers_or_other_agents():
    def regret(agents, **kwargs):
        results = evaluate(
            "CMAB-Tabular-v0", agents, rounds=70, trials=3, seed=5, env_kwargs=EASY, **kwargs
        )
        return np.stack([results.regret(name) for name in sorted(agents)])

    expected = regret(["ppo", "a2c", "dqn", "ts"])
    assert len(np.unique(expected[:3, :, -1])) > 3  # the trials differ
    assert np.array_equal(expected, regret(["ts", "dqn", "ppo", "a2c"], batch_size=1))
    # With a time limit an agent runs in a worker, and one of them has to load torch.
    assert np.array_equal(expected, regret(["a2c", "dqn", "ppo", "ts"], timeout=240, batch_size=2))
    assert np.array_equal(expected[2], regret(["ppo"], batch_size=2)[0])


@pytest.mark.parametrize("name", ALL)
def test_an_agent_chooses_what_learn_of_stable_baselines3_chooses(name, problem, rewards):
    """The thread and the temporary random state change nothing."""
    import stable_baselines3
    import torch

    class Replay(gym.Env):
        action_space = gym.spaces.Discrete(2)
        observation_space = gym.spaces.Discrete(1)

        def reset(self, *, seed=None, options=None):
            self.arms = []
            return np.int64(0), {}

        def step(self, action):
            self.arms.append(int(action))
            return np.int64(0), rewards[len(self.arms) - 1, action], False, False, {}

    agent = ALL[name](horizon=150, learning_rate=0.01)
    arms = play(agent, problem, 150, rewards)
    assert 5 < sum(arms) < 145

    rng = agent_generator(0)
    seed = int(rng.integers(2**32))
    env = Replay()
    env.action_space.seed(seed)
    state, bits = torch.get_rng_state(), np.random.get_bit_generator()
    try:
        torch.manual_seed(seed)
        np.random.set_bit_generator(np.random.MT19937(seed))
        settings = {**TUNED[name.upper()], "learning_rate": 0.01}
        model = getattr(stable_baselines3, name.upper())("MlpPolicy", env, **settings)
        model.learn(150)
    finally:
        torch.set_rng_state(state)
        np.random.set_bit_generator(bits)
    assert env.arms[:150] == arms


def agent_generator(seed):
    from cmab_gym.streams import TrialStreams

    return TrialStreams.for_trials(seed, range(1)).generators[0]


@pytest.mark.parametrize("name", ALL)
def test_an_agent_learns_in_every_trial(name):
    agent = f"{name}(horizon=200)"  # so that DQN has explored by round 20
    results = evaluate("CMAB-Tabular-v0", [agent], rounds=300, trials=2, env_kwargs=EASY)
    pulls = results.finished[0].best_arm_pulls
    late = (pulls[:, -1] - pulls[:, -21]) / 60  # the share in the last fifth
    assert late.mean() > 0.9


@pytest.mark.usefixtures("two_torch_threads")
def test_the_users_random_state_neither_changes_nor_matters(problem, rewards):
    import torch

    def states():
        numpy = np.random.get_state(legacy=False)
        torch_state = torch.get_rng_state().numpy().tobytes()
        key = numpy["state"]["key"].tobytes()
        pair = numpy["has_gauss"], numpy["gauss"]
        return random.getstate(), key, numpy["state"]["pos"], pair, torch_state

    played = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        np.random.standard_normal(seed)  # an odd number leaves a cached normal number
        torch.manual_seed(seed)
        before, threads = states(), torch.get_num_threads()
        agents = [ALL[name](learning_rate=0.01) for name in ALL]
        played.append([play(agent, problem, 60, rewards) for agent in agents])
        assert states() == before
        assert torch.get_num_threads() == threads
        assert in_a_new_thread(torch.get_num_threads) == threads
        del agents
    assert played[0] == played[1]


def test_trials_in_several_threads_do_not_influence_each_other(problem, rewards):
    def play_seed(seed):
        return play(DQN(learning_rate=0.01), problem, 100, rewards, seed)

    expected = [play_seed(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(play_seed, range(3))) == expected
    assert expected[0] != expected[1]


@pytest.mark.usefixtures("two_torch_threads")
def test_the_learner_uses_one_torch_thread(problem):
    import torch

    seen = []
    agent = PPO(
        n_steps=2, batch_size=2, learning_rate=lambda _: seen.append(torch.get_num_threads()) or 0.1
    )
    play(agent, problem, 5, np.zeros((5, 2)))
    assert torch.get_num_threads() == 2
    assert set(seen) == {1}


def test_nothing_is_printed_or_written(problem, rewards, tmp_path, monkeypatch, capfd):
    import_module("torch._dynamo")  # makes a folder of torch's own, once in a process
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for cls in ALL.values():
        play(cls(), problem, 60, rewards)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_threads_end_with_their_trials(problem, rewards):
    agent = A2C()
    agent.reset(problem, 3, 0)
    agent.act()
    assert len(learners()) == 3
    agent.reset(problem, 2, 0)  # never plays
    assert len(learners()) == 2
    del agent
    assert learners() == []


def test_a_process_ends_with_its_learners_and_keeps_its_global_state():
    program = (
        "import random\n"
        "state = random.getstate()\n"
        "from cmab_gym import make_agent\n"
        "from cmab_gym.envs.tabular import tabular_model\n"
        "agent = make_agent('a2c')\n"
        "agent.reset(tabular_model().problem, 2, 0)\n"
        "agent.act()\n"
        "import torch\n"
        "print(torch.get_num_threads(), random.getstate() == state)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "2", "MKL_DYNAMIC": "false"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 True\n", "")


def test_an_error_of_the_learner_is_raised_by_the_agent(problem):
    agent = PPO(n_steps=1, batch_size=1)
    agent.reset(problem, 1, 0)
    with pytest.raises(ValueError, match=r"AssertionError: `batch_size` must be greater than 1"):
        agent.act()
    assert learners() == []
    with pytest.raises(ValueError, match=r"this learner has ended"):
        agent.act()
    results = evaluate(
        "CMAB-Tabular-v0", ["ppo(batch_size=1)", "ts"], rounds=5, trials=2, on_error="keep"
    )
    assert [run.label for run in results.finished] == ["ts"]
    assert "trial 0, round 1: AssertionError: `batch_size`" in next(iter(results.failures.values()))
    assert learners() == []


def test_ctrl_c_ends_the_learners_and_restores_the_random_state(problem):
    def slow(_):
        time.sleep(0.05)
        return 0.1

    def is_interrupted(timer):
        agent = PPO(n_steps=2, batch_size=2, learning_rate=slow)
        agent.reset(problem, 2, 0)
        try:
            timer.start()
            while timer.is_alive() or not timer.finished.wait(1):
                agent.update(agent.act(), np.zeros(2))
        except KeyboardInterrupt:
            return True
        return False

    before = np.random.get_state(legacy=False)["state"]["key"].tobytes()
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    assert is_interrupted(timer)
    timer.join()
    assert np.random.get_state(legacy=False)["state"]["key"].tobytes() == before
    assert learners() == []


def test_an_agent_can_play_beyond_the_horizon(problem, rewards):
    left = []  # the share of the horizon left, as the schedule gets it before each update

    def learning_rate(progress):
        left.append(progress)
        return 0.1

    agent = PPO(horizon=20, n_steps=2, batch_size=2, learning_rate=learning_rate)
    assert len(play(agent, problem, 101, rewards)) == 101
    distinct = list(dict.fromkeys(left))
    assert distinct[:11] == pytest.approx([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0])
    assert len(distinct) > 15
    assert min(distinct) >= 0


def test_rewards_are_scaled_by_the_bounds(rewards):
    def arms(low, high):
        scaled = low + (high - low) * rewards
        problem = tabular_model(**EASY, supports=[[low, high]] * 2).problem
        return play(PPO(), problem, 200, scaled)

    assert arms(0, 1) == arms(-50, 206)  # exact in floating point


def test_an_update_of_another_arm_is_refused(problem):
    agent = A2C()
    agent.reset(problem, 1, 0)
    arm = agent.act()
    with pytest.raises(ValueError, match=r"update\(\) with arm \d: expected \d, the arm of act"):
        agent.update(1 - arm, np.zeros(1))


def test_a_copy_of_a_playing_agent_starts_from_scratch(problem, rewards):
    agent = A2C(learning_rate=0.01)
    expected = play(agent, problem, 40, rewards)
    assert play(copy.deepcopy(agent), problem, 40, rewards) == expected
    assert evaluate("CMAB-Tabular-v0", [agent], rounds=3, trials=2).finished


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ppo(n_step=16)", "unknown setting 'n_step' of PPO: did you mean 'n_steps'"),
        ("dqn(seed=1)", "unknown setting 'seed' of DQN"),
        ("a2c(settings='best')", "unknown settings 'best': expected one of: tuned, default"),
        ("a2c(horizon=0)", "horizon=0: expected an integer of at least 1"),
        ("c-ppo", "unknown agent 'c-ppo'"),
    ],
)
def test_wrong_keyword_arguments_are_refused_before_the_first_round(name, message):
    with pytest.raises(ValueError, match=message):
        evaluate("CMAB-Tabular-v0", ["ts", name], rounds=10**9)


def test_keyword_arguments_can_be_tuned_default_or_overridden():
    assert make_agent("ppo").keyword_arguments == TUNED["PPO"]
    changed = {"n_steps": 16, "batch_size": 16}
    assert make_agent("ppo(n_steps=16)").keyword_arguments == {**TUNED["PPO"], **changed}
    assert make_agent("ppo(n_steps=16, batch_size=8)").keyword_arguments["batch_size"] == 8
    assert make_agent("a2c(n_steps=4)").keyword_arguments == {**TUNED["A2C"], "n_steps": 4}
    assert make_agent("dqn(settings='default', gamma=0.5)").keyword_arguments == {"gamma": 0.5}
    assert repr(make_agent("a2c(horizon=9, gamma=0.5)")) == (
        "A2C(settings='tuned', horizon=9, gamma=0.5)"
    )
