"""The wrappers of scalar and native vector environments."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from bandits import IDS, MODES, NEEDS, assert_same_info, assert_same_step, sync
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import vector as gym_vector
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym.wrappers import (
    FullInformation,
    HistoryObservation,
    LateFeedback,
    PseudoRewardObservation,
    ScaleReward,
    vector,
)

# Each stack of wrappers, innermost first: names and keyword arguments.
STACKS = {
    "history": [("HistoryObservation", {})],
    "bounds": [("PseudoRewardObservation", {})],
    "phi": [("HistoryObservation", {}), ("PseudoRewardObservation", {"content": "phi"})],
    "table": [("PseudoRewardObservation", {"content": "table"})],
    "full": [("FullInformation", {})],
    "experts": [("FullInformation", {"observe": True})],
    "scaled": [("ScaleReward", {})],
    "late": [("HistoryObservation", {}), ("LateFeedback", {"delay": 2, "rewards_every": 2})],
    "all": [
        ("FullInformation", {}),
        ("HistoryObservation", {}),
        ("PseudoRewardObservation", {}),
        ("ScaleReward", {}),
    ],
}
OURS = [("HistoryObservation", {}), ("PseudoRewardObservation", {}), ("FullInformation", {})]
OURS += [("FullInformation", {"observe": True})]
SCALAR = {
    each.__name__: each
    for each in (
        FullInformation,
        HistoryObservation,
        LateFeedback,
        PseudoRewardObservation,
        ScaleReward,
    )
}


class FrameSkip(gym.Wrapper):
    """Repeats each action in three rounds, as in Atari environments."""

    def step(self, action):
        total = 0.0
        for _ in range(3):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += reward
            if terminated:
                break
        return observation, total, terminated, truncated, info


# Wrappers that change actions, rewards or episodes, but pass observations and infos on.
SCALAR_CHANGES = {
    "normalised rewards": gym.wrappers.NormalizeReward,
    "negative rewards": lambda env: gym.wrappers.TransformReward(env, lambda reward: -reward),
    "other arms": lambda env: gym.wrappers.TransformAction(
        env, lambda arm: 17 - arm, env.action_space
    ),
    "sticky arms": lambda env: gym.wrappers.StickyAction(env, 0.5),
    "short episodes": lambda env: gym.wrappers.TimeLimit(env, 3),
    "autoreset": gym.wrappers.Autoreset,
    "frames skipped": FrameSkip,
    "scaled rewards": ScaleReward,
}
VECTOR_CHANGES = {
    "normalised rewards": gym_vector.NormalizeReward,
    "negative rewards": lambda env: gym_vector.TransformReward(env, lambda reward: -reward),
    "other arms": lambda env: gym_vector.TransformAction(env, lambda arms: 17 - arms),
    "scaled rewards": vector.ScaleReward,
}


def wrapped(env, stack):
    for name, kwargs in STACKS[stack]:
        env = SCALAR[name](env, **kwargs)
    return env


def native(env_id, stack, **env_kwargs):
    env = gym.make_vec(env_id, **env_kwargs)
    for name, kwargs in STACKS[stack]:
        env = getattr(vector, name)(env, **kwargs)
    return env


@pytest.mark.parametrize(
    ("stack", "horizon"), [*((stack, 7) for stack in STACKS), ("all", 1), ("all", 5000)]
)
@pytest.mark.parametrize("env_id", IDS)
def test_check_env_accepts_every_stack_of_wrappers(env_id, stack, horizon):
    env = wrapped(gym.make(env_id, horizon=horizon, **NEEDS.get(env_id, {})).unwrapped, stack)
    with pytest.warns(UserWarning, match="different from the unwrapped version"):  # nothing else
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("env_id", IDS)
def test_native_and_sync_vector_environments_agree(env_id, stack, mode):
    env_kwargs = {"num_envs": 2, "horizon": 3, **NEEDS.get(env_id, {})}
    one = native(env_id, stack, autoreset_mode=mode, **env_kwargs)
    other = sync(env_id, mode, [lambda env: wrapped(env, stack)], **env_kwargs)
    assert one.observation_space == other.observation_space
    assert one.single_observation_space == other.single_observation_space
    (mine, info), (theirs, their_info) = one.reset(seed=7), other.reset(seed=7)
    assert_array_equal(mine, theirs)
    assert_same_info(info, their_info)
    for actions in np.random.default_rng(0).integers(0, one.single_action_space.n, (8, 2)):
        step = one.step(actions)
        assert one.observation_space.contains(step[0])
        assert_same_step(step, other.step(actions))


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])  # noqa: S301
def test_a_copy_in_the_middle_of_an_episode_continues_it(stack, clone):
    env, arms = wrapped(gym.make("CMAB-Latent-v0"), stack), np.array([1, 0])
    env.reset(seed=0)
    env.step(1)
    other = clone(env)
    for arm in (0, 1, 1):
        one, its = env.step(arm), other.step(arm)
        assert_array_equal(one[0], its[0])
        assert one[1] == its[1]
    many = native("CMAB-Latent-v0", stack, num_envs=2, horizon=4)
    many.reset(seed=0)
    many.step(arms)
    other = clone(many)
    for _ in range(6):
        assert_same_step(many.step(arms), other.step(arms))


@pytest.mark.parametrize("stack", STACKS)
def test_a_spec_includes_the_wrappers(stack):
    env = wrapped(gym.make("CMAB-Tabular-v0", preset="table1-b"), stack)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert str(again) == str(env)
    assert again.observation_space == env.observation_space


def test_the_history_observation_is_as_computed_by_hand():
    env = HistoryObservation(gym.make("CMAB-Tabular-v0", horizon=4))
    at_first = [0, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 1]
    assert_array_equal(env.reset(seed=0)[0], at_first)
    observation, reward, *_ = env.step(1)
    log = np.float32(np.log(2) / np.log(5))
    assert_array_equal(observation, [0, 0.25, 0, log, 0.5, reward, 0, 1, reward, 0.75])
    assert_array_equal(env.reset()[0], at_first)


def test_pseudo_reward_observations_are_as_computed_by_hand():
    # Table 1 (a): s10(r) is 0.7 for r = 0 and 0.4 for r = 1, s01(r) is 0.8 and 0.5.
    envs = {
        content: PseudoRewardObservation(gym.make("CMAB-Tabular-v0"), content)
        for content in ("bounds", "phi", "table")
    }
    observed = {content: [env.reset(seed=0)[0]] for content, env in envs.items()}
    rewards = []
    for arm in (0, 0, 0, 1):
        for content, env in envs.items():
            observation, reward, *_ = env.step(arm)
            observed[content].append(observation)
        rewards.append(reward)
    assert_array_equal(observed["bounds"][0], [1, 1])
    assert_array_equal(observed["phi"][0], [1, 1, 1, 1])
    mean = np.mean(rewards[:3])
    other = 0.7 - 0.3 * mean
    # Only arm 0 has the 4/2 pulls that make an arm significant.
    assert_allclose(observed["bounds"][4], [mean, other], rtol=1e-6)
    own = [0.8 - 0.3 * rewards[3], rewards[3]]
    assert_allclose(observed["phi"][4], [mean, own[0], other, own[1]], rtol=1e-6)  # [l, k]
    table = envs["table"].unwrapped.problem.pseudo_rewards
    assert_allclose(observed["table"][4], table.ravel(), rtol=1e-6)


def test_pseudo_rewards_follow_the_observation_inside():
    inside = HistoryObservation(gym.make("CMAB-MovieLens-v0"))
    env = PseudoRewardObservation(inside)
    observation, _ = env.reset(seed=0)
    assert observation.shape == (4 * 18 + 2 + 18,)
    assert_array_equal(observation[: 4 * 18 + 2], inside.reset()[0])


def test_full_information_has_the_rewards_of_all_arms():
    env = FullInformation(gym.make("CMAB-MovieLens-v0"))
    alone = [gym.make("CMAB-MovieLens-v0") for _ in range(18)]
    for each in (env, *alone):
        each.reset(seed=4)
    for t in range(300):
        _, reward, *_, info = env.step(t % 18)
        assert info["rewards"].tolist() == [each.step(arm)[1] for arm, each in enumerate(alone)]
        assert info["rewards"][t % 18] == reward
        assert info["counterfactual_reward"] == np.delete(info["rewards"], t % 18).max()
    info["rewards"][:] = -1
    assert (env.step(0)[4]["rewards"] > 0).all()


@pytest.mark.parametrize("env_id", IDS)
def test_scaled_rewards_lie_between_0_and_1(env_id):
    plain = gym.make(env_id, **NEEDS.get(env_id, {}))
    scaled = ScaleReward(gym.make(env_id, **NEEDS.get(env_id, {})))
    plain.reset(seed=0)
    scaled.reset(seed=0)
    low, high = plain.unwrapped.problem.reward_bounds
    for t in range(300):
        reward, other = plain.step(t % 2)[1], scaled.step(t % 2)[1]
        assert 0 <= other <= 1
        assert type(other) is float
        assert other * (high - low) + low == pytest.approx(reward)


@pytest.mark.parametrize("change", SCALAR_CHANGES)
@pytest.mark.parametrize(("name", "kwargs"), OURS)
def test_wrappers_inside_do_not_change_what_a_wrapper_shows(name, kwargs, change):
    inside, outside = (gym.make("CMAB-MovieLens-v0", horizon=20) for _ in range(2))
    inside = SCALAR[name](SCALAR_CHANGES[change](inside), **kwargs)
    outside = SCALAR_CHANGES[change](SCALAR[name](outside, **kwargs))
    mine, theirs = inside.reset(seed=3)[0], outside.reset(seed=3)[0]
    for t in range(30):
        assert_array_equal(mine, theirs)
        (mine, *step, info), (theirs, *_, their_info) = inside.step(t % 18), outside.step(t % 18)
        assert info.keys() == their_info.keys()
        for key, value in info.items():
            assert_array_equal(value, their_info[key])
        if (step[1] or step[2]) and change != "autoreset":
            mine, theirs = inside.reset()[0], outside.reset()[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", VECTOR_CHANGES)
@pytest.mark.parametrize(("name", "kwargs"), OURS)
def test_vector_wrappers_inside_do_not_change_what_a_wrapper_shows(name, kwargs, change, mode):
    env_kwargs = {"num_envs": 2, "horizon": 4, "autoreset_mode": mode}
    inside, outside = (gym.make_vec("CMAB-MovieLens-v0", **env_kwargs) for _ in range(2))
    inside = getattr(vector, name)(VECTOR_CHANGES[change](inside), **kwargs)
    outside = VECTOR_CHANGES[change](getattr(vector, name)(outside, **kwargs))
    assert_array_equal(inside.reset(seed=3)[0], outside.reset(seed=3)[0])
    for t in range(10):
        arms = np.array([t, 17 - t])
        (mine, *_, info), (theirs, *_, their_info) = inside.step(arms), outside.step(arms)
        assert_array_equal(mine, theirs)
        assert_same_info(info, their_info)


def test_scaling_refuses_rewards_that_a_wrapper_inside_changed():
    env = ScaleReward(SCALAR_CHANGES["negative rewards"](gym.make("CMAB-MovieLens-v0")))
    envs = vector.ScaleReward(VECTOR_CHANGES["negative rewards"](gym.make_vec("CMAB-MovieLens-v0")))
    for each, action in ((env, 0), (envs, np.array([0]))):
        each.reset(seed=0)
        with pytest.raises(ValueError, match=r"bandit gave \d.*put ScaleReward inside the wrapper"):
            each.step(action)
    again = ScaleReward(gym.wrappers.Autoreset(gym.make("CMAB-MovieLens-v0", horizon=1)))
    again.reset(seed=0)
    again.step(0)
    assert again.step(0)[1] == 0  # no round was played


def test_environments_that_do_not_fit_a_wrapper_are_refused():
    for wrapper in SCALAR.values():
        with pytest.raises(ValueError, match=f"{wrapper.__name__}.*expected a bandit of this pack"):
            wrapper(gym.make("CartPole-v1"))
    for name in SCALAR:
        with pytest.raises(ValueError, match=f"{name}.*expected a native vector environment"):
            getattr(vector, name)(gym.make_vec("CMAB-Tabular-v0", vectorization_mode="sync"))
    for wrapper in SCALAR.values():
        with pytest.raises(ValueError, match=r"use the wrapper of the same name in .*vector"):
            wrapper(gym.make_vec("CMAB-Tabular-v0"))
    with pytest.raises(ValueError, match="unknown content 'phis': did you mean 'phi'"):
        PseudoRewardObservation(gym.make("CMAB-Tabular-v0"), "phis")
