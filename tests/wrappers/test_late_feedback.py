"""Rewards that arrive late, in wrappers and in evaluations."""

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cmab_gym import evaluate, make_agent
from cmab_gym.late_rewards import Arrivals, RoundQueue
from cmab_gym.streams import TrialStreams, environment_seed
from cmab_gym.wrappers import (
    FullInformation,
    HistoryObservation,
    LateFeedback,
    ScaleReward,
    vector,
)

KINDS = [{"delay": 3}, {"rewards_every": 4}, {"delay": 5, "rewards_every": 2}]


@pytest.mark.parametrize("delay", range(5))
@pytest.mark.parametrize("every", range(1, 5))
def test_rewards_arrive_in_order_when_they_are_due(delay, every):
    queue, seen = RoundQueue(Arrivals(delay, every)), 0
    for t in range(1, 30):
        arrived = queue.add(t)
        assert len(arrived) <= every
        due = range(seen + 1, t - delay + 1) if t % every == 0 else range(0)
        assert arrived == list(due)
        seen += len(arrived)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rewards_are_those_of_the_environment_itself(kind):
    arms = np.random.default_rng(0).integers(0, 18, 12)
    plain = gym.make("CMAB-MovieLens-v0", horizon=12)
    plain.reset(seed=3)
    rewards = [plain.step(arm)[1] for arm in arms]
    env = LateFeedback(gym.make("CMAB-MovieLens-v0", horizon=12), **kind)
    for _ in range(2):  # what did not arrive in an episode never does
        env.reset(seed=3)
        queue = RoundQueue(Arrivals(**kind))
        for t, arm in enumerate(arms):
            *_, info = step = env.step(arm)
            due = queue.add(t)
            assert step[1] == sum(rewards[i] for i in due)
            missing = kind.get("rewards_every", 1) - len(due)
            assert info["arrived_arms"].tolist() == [*arms[due], *[-1] * missing]
            assert info["arrived_rewards"].tolist() == [*[rewards[i] for i in due], *[0] * missing]
            assert not {"reward_index", "pseudo_reward"} & info.keys()


@pytest.mark.parametrize("inside", [True, False])
def test_the_history_shows_a_reward_when_it_arrives(inside):
    def history(env):
        return HistoryObservation(env)

    def late(env):
        return LateFeedback(env, delay=2)

    env = gym.make("CMAB-Tabular-v0", horizon=10)
    env = late(history(env)) if inside else history(late(env))
    plain = history(gym.make("CMAB-Tabular-v0", horizon=10))
    seen, expected = [env.reset(seed=0)[0]], [plain.reset(seed=0)[0]]
    for arm in (1, 0, 1, 1, 0):
        seen.append(env.step(arm)[0])
        expected.append(plain.step(arm)[0])
    assert_array_equal(seen[:3], [expected[0]] * 3)
    assert_array_equal(seen[3:], expected[1:4])


def test_scaled_rewards_may_be_late():
    scaled = LateFeedback(ScaleReward(gym.make("CMAB-MovieLens-v0")), delay=1)
    scaled.reset(seed=0)
    plain = gym.make("CMAB-MovieLens-v0")
    plain.reset(seed=0)
    rewards = [(plain.step(4)[1] - 1) / 4 for _ in range(6)]
    assert [scaled.step(4)[1] for _ in range(6)] == [0, *rewards[:5]]


def test_what_would_show_rewards_at_once_is_refused():
    with pytest.raises(ValueError, match="LateFeedback around LateFeedback: expected one"):
        LateFeedback(LateFeedback(gym.make("CMAB-Tabular-v0"), 1), 1)
    with pytest.raises(ValueError, match="FullInformation shows the rewards of a round in that"):
        FullInformation(LateFeedback(gym.make("CMAB-Tabular-v0"), 1))
    env = LateFeedback(FullInformation(gym.make("CMAB-Tabular-v0")), 1)
    with pytest.raises(ValueError, match="FullInformation shows the rewards of a round in that"):
        env.reset()
    outside = ScaleReward(LateFeedback(gym.make("CMAB-MovieLens-v0"), 1))
    outside.reset(seed=0)
    with pytest.raises(ValueError, match="put ScaleReward inside the wrapper"):
        outside.step(0)
    for wrong in ({"delay": -1}, {"rewards_every": 0}):
        with pytest.raises(ValueError, match=r"expected an integer of at least .; it is a number"):
            LateFeedback(gym.make("CMAB-Tabular-v0"), **wrong)
    with pytest.raises(ValueError, match=r"expected a native vector environment"):
        vector.LateFeedback(gym.make("CMAB-Tabular-v0"), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluation_gives_agents_the_rewards_that_the_wrapper_gives(kind):
    kwargs = {"rounds": 40, "trials": 3, "seed": 5, "checkpoints": 40, **kind}
    results = evaluate("CMAB-Tabular-v0", ["c-ucb"], **kwargs)
    again = evaluate("CMAB-Tabular-v0", ["c-ucb"], batch_size=1, **kwargs)
    assert_array_equal(results.regret("c-ucb"), again.regret("c-ucb"))
    # By hand: the agent of the evaluation, and an environment with the wrapper.
    envs = gym.make_vec("CMAB-Tabular-v0", num_envs=3, horizon=40, draws="pulls")
    envs = vector.LateFeedback(envs, **kind)
    _, _ = envs.reset(seed=[environment_seed(5, trial) for trial in range(3)])
    agent = make_agent("c-ucb")
    agent.reset(envs.unwrapped.problem, 3, TrialStreams.for_trials(5, range(3)))
    regret = []
    for _ in range(40):
        *_, info = envs.step(agent.act())
        for arms, rewards in zip(info["arrived_arms"].T, info["arrived_rewards"].T, strict=True):
            if arms[0] >= 0:
                agent.update(arms, rewards)
        regret.append(info["regret"])
    assert_array_equal(results.regret("c-ucb"), np.transpose(regret))


@pytest.mark.parametrize("name", ["exp3", "c-tsallis-inf", "gradient"])
def test_agents_that_need_each_reward_at_once_say_so(name):
    results = evaluate("CMAB-Tabular-v0", [name, "ucb"], 9, 2, delay=1, on_error="keep")
    assert "it needs the reward of each pull before the next" in results.failures[name]
    assert [run.label for run in results.finished] == ["ucb"]


def test_every_other_agent_copes():
    names = ["random", "ucb", "ts", "kl-ucb", "boltzmann", "c-ts"]
    results = evaluate("CMAB-Tabular-v0", names, 60, 2, delay=3, rewards_every=7)
    assert not results.failures
    assert results.manifest["delay"] == 3
    assert results.manifest["rewards_every"] == 7
