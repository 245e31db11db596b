"""The contract of every registered environment."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from bandits import IDS, MODES, NEEDS, PRESETS, assert_same_info, assert_same_step, sync
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from cmab_gym import BanditProblem
from cmab_gym.envs.registration import register_environments


def rewards_of(env, seed, rounds=300, actions_seed=0):
    env.reset(seed=seed)
    arms = np.random.default_rng(actions_seed).integers(0, env.action_space.n, rounds)
    return [env.step(arm)[1] for arm in arms]


@pytest.mark.parametrize("horizon", [1, 7, 5000])
@pytest.mark.parametrize("step_info", ["row", "table", "none"])
@pytest.mark.parametrize("env_id", IDS)
def test_check_env_accepts_every_environment(env_id, step_info, horizon):
    env_kwargs = {"horizon": horizon, "step_info": step_info, **NEEDS.get(env_id, {})}
    env = gym.make(env_id, **env_kwargs).unwrapped
    check_env(env, skip_render_check=True)  # tests/envs/test_rendering.py has that


@pytest.mark.parametrize(("env_id", "env_kwargs"), PRESETS)
def test_check_env_accepts_every_preset(env_id, env_kwargs):
    check_env(gym.make(env_id, **env_kwargs).unwrapped, skip_render_check=True)


@pytest.mark.parametrize(("env_id", "env_kwargs"), PRESETS)
def test_a_spec_is_unchanged_by_a_round_trip_through_json(env_id, env_kwargs):
    env = gym.make(env_id, **env_kwargs, horizon=20)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec == env.spec
    assert rewards_of(again, 3, 20) == rewards_of(env, 3, 20)


@pytest.mark.parametrize("env_id", IDS)
def test_reset_and_step_return_the_documented_info(env_id):
    env = gym.make(env_id, **NEEDS.get(env_id, {}))
    observation, info = env.reset(seed=0)
    n_arms, size = env.action_space.n, info["reward_support"].size
    assert observation == 0
    assert info["pseudo_rewards"].shape == (n_arms, n_arms, size)
    assert info["reward_bounds"].shape == (2,)
    _, reward, terminated, truncated, step = env.step(1)
    np.testing.assert_array_equal(
        step["pseudo_reward"], info["pseudo_rewards"][:, 1, step["reward_index"]]
    )
    if "reward_edges" not in info:
        assert reward == info["reward_support"][step["reward_index"]]
    assert (terminated, truncated) == (False, False)
    assert type(reward) is float


@pytest.mark.parametrize("env_id", IDS)
def test_a_vector_environment_gives_what_scalar_ones_give(env_id):
    vector = gym.make_vec(env_id, num_envs=3, horizon=400, **NEEDS.get(env_id, {}))
    scalars = [gym.make(env_id, horizon=400, **NEEDS.get(env_id, {})) for _ in range(3)]
    vector.reset(seed=11)
    for i, env in enumerate(scalars):
        env.reset(seed=11 + i)
    rng = np.random.default_rng(0)
    for _ in range(400):
        arms = rng.integers(0, vector.single_action_space.n, 3)
        _, rewards, over, _, info = vector.step(arms)
        for i, env in enumerate(scalars):
            _, reward, terminated, _, own = env.step(arms[i])
            assert (reward, terminated) == (rewards[i], over[i])
            assert own["regret"] == info["regret"][i]
            assert own["reward_index"] == info["reward_index"][i]
            np.testing.assert_array_equal(own["pseudo_reward"], info["pseudo_reward"][i])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("horizon", [1, 5])
@pytest.mark.parametrize("step_info", ["row", "table", "none"])
@pytest.mark.parametrize("env_id", IDS)
def test_native_and_sync_vector_environments_agree(env_id, step_info, horizon, mode):
    env_kwargs = {"horizon": horizon, "step_info": step_info, **NEEDS.get(env_id, {})}
    native = gym.make_vec(env_id, num_envs=2, autoreset_mode=mode, **env_kwargs)
    other = sync(env_id, mode, num_envs=2, **env_kwargs)
    assert native.metadata == other.metadata | {"render_modes": ["ansi", "rgb_array"]}
    for seed in (3, None):
        (mine, info), (theirs, their_info) = native.reset(seed=seed), other.reset(seed=seed)
        np.testing.assert_array_equal(mine, theirs)
        assert_same_info(info, their_info)
        for t in range(8):
            arms = np.array([t % 2, 1])
            assert_same_step(native.step(arms), other.step(arms))


def test_native_and_async_vector_environments_agree():
    env_kwargs = {"num_envs": 2, "horizon": 3}
    native = gym.make_vec("CMAB-MovieLens-v0", **env_kwargs)
    other = gym.make_vec("CMAB-MovieLens-v0", vectorization_mode="async", **env_kwargs)
    native.reset(seed=3)
    other.reset(seed=3)
    for t in range(6):
        arms = np.array([t, 1])
        assert_same_step(native.step(arms), other.step(arms))
    other.close()


def test_same_step_begins_the_next_episode_in_the_last_step():
    env = gym.make_vec("CMAB-Tabular-v0", num_envs=2, horizon=3, autoreset_mode="SameStep")
    env.reset(seed=0)
    steps = [env.step(np.array([1, 0])) for _ in range(6)]
    assert [step[2].tolist() for step in steps] == [[False] * 2, [False] * 2, [True] * 2] * 2
    assert steps[1][4]["regret"].tolist() == pytest.approx([0.4, 0])
    info = steps[2][4]
    assert info["final_info"]["regret"].tolist() == pytest.approx([0.6, 0])
    assert info["final_info"]["_regret"].all()
    assert info["final_obs"].tolist() == [0, 0]
    assert info["pseudo_rewards"].shape == (2, 2, 2, 2)
    assert info["regret"].tolist() == [0, 0]
    assert not info["_regret"].any()
    long = gym.make_vec("CMAB-Tabular-v0", num_envs=2, horizon=9)
    long.reset(seed=0)
    assert [step[1].tolist() for step in steps] == [
        long.step(np.array([1, 0]))[1].tolist() for _ in range(6)
    ]


def test_next_step_plays_no_round_in_the_step_after_the_end():
    env = gym.make_vec("CMAB-Tabular-v0", num_envs=2, horizon=3)
    env.reset(seed=0)
    steps = [env.step(np.array([1, 1])) for _ in range(8)]
    over = [bool(step[2].all()) for step in steps]
    assert over == [False, False, True, False, False, False, True, False]
    keys = {key: value.dtype for key, value in steps[0][4].items()}
    assert all(step[4][key].dtype == dtype for step in steps for key, dtype in keys.items())
    fake = steps[3]
    assert fake[1].tolist() == [0, 0]
    assert fake[4]["reward_index"].tolist() == [-1, -1]
    assert fake[4]["regret"].tolist() == [0, 0]
    assert not fake[4]["_regret"].any()
    # The fake step does not advance the reward stream.
    long = gym.make_vec("CMAB-Tabular-v0", num_envs=2, horizon=9)
    long.reset(seed=0)
    played = [step[1].tolist() for t, step in enumerate(steps) if t not in (3, 7)]
    assert played == [long.step(np.array([1, 1]))[1].tolist() for _ in range(6)]


@pytest.mark.parametrize("env_id", IDS)
def test_a_seed_repeats_the_rewards_and_no_seed_continues_them(env_id):
    env = gym.make(env_id, horizon=300, **NEEDS.get(env_id, {}))
    first = rewards_of(env, 5)
    second = rewards_of(env, None)
    assert rewards_of(env, 5) == first
    assert rewards_of(env, None) == second
    assert first != second
    assert rewards_of(env, 6) != first


def test_an_arms_reward_in_a_round_does_not_depend_on_earlier_pulls():
    env = gym.make("CMAB-MovieLens-v0", horizon=300)
    assert rewards_of(env, 1, actions_seed=0) != rewards_of(env, 1, actions_seed=1)
    always_two = []
    for other in (0, 1):
        env.reset(seed=9)
        rewards = [env.step(2 if t % 3 == 0 else other)[1] for t in range(300)]
        always_two.append(rewards[::3])
    assert always_two[0] == always_two[1]


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])  # noqa: S301
def test_a_copy_in_the_middle_of_an_episode_continues_the_stream(env_id, clone):
    for env in (
        gym.make(env_id, **NEEDS.get(env_id, {})).unwrapped,
        gym.make(env_id, **NEEDS.get(env_id, {})),
    ):
        env.reset(seed=2)
        for _ in range(10):
            env.step(0)
        other = clone(env)
        assert [env.step(1)[1] for _ in range(600)] == [other.step(1)[1] for _ in range(600)]
    vector = gym.make_vec(env_id, num_envs=2, horizon=400, **NEEDS.get(env_id, {}))
    vector.reset(seed=2)
    vector.step(np.array([0, 1]))
    other = clone(vector)
    for _ in range(600):
        assert_same_step(vector.step(np.array([1, 0])), other.step(np.array([1, 0])))


def test_regret_is_the_sum_of_gaps():
    env = gym.make("CMAB-Tabular-v0")  # gaps 0 and 0.2
    env.reset(seed=0)
    regrets = [env.step(arm)[4]["regret"] for arm in (1, 0, 1)]
    assert regrets == pytest.approx([0.2, 0.2, 0.4])


def test_changing_an_info_does_not_change_the_environment():
    env = gym.make_vec("CMAB-Tabular-v0", num_envs=2)
    _, info = env.reset(seed=0)
    info["pseudo_rewards"][:] = -1
    step = env.step(np.array([0, 1]))[4]
    assert (step["pseudo_reward"] >= 0).all()
    step["regret"][:] = 100
    assert (env.step(np.array([0, 0]))[4]["regret"] < 1).all()


@pytest.mark.parametrize("action", [2, -1, 0.0, None, np.nan, "0", np.float64(0), np.array([0])])
def test_an_action_that_is_not_an_arm_is_refused(action):
    env = gym.make("CMAB-Tabular-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="expected an integer from 0 to 1"):
        env.step(action)


@pytest.mark.parametrize("actions", [[0, 2], [0, -1], [0.0, 1.0], [0], [[0], [1]]])
def test_actions_that_are_not_arms_are_refused(actions):
    env = gym.make_vec("CMAB-Tabular-v0", num_envs=2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions.* expected (\(2,\)|integer arms from 0 to 1)"):
        env.step(np.array(actions))


def test_a_step_outside_an_episode_is_refused():
    env = gym.make("CMAB-Tabular-v0", horizon=1).unwrapped
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(gym.error.ResetNeeded, match=r"horizon=1\): call reset"):
        env.step(0)
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        gym.make_vec("CMAB-Tabular-v0").step(np.array([0]))


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
@pytest.mark.parametrize(
    ("env_kwargs", "message"),
    [
        ({"horizon": 0}, "horizon=0: expected an integer of at least 1"),
        ({"horizon": 2.5}, "horizon=2.5: expected an integer"),
        ({"step_info": "rows"}, "unknown step_info 'rows': did you mean 'row'"),
        (
            {"presets": "table1-a"},
            "unknown keyword argument 'presets' of Tabular: did you mean 'preset'",
        ),
    ],
)
def test_wrong_keyword_arguments_are_refused(make, env_kwargs, message):
    with pytest.raises(ValueError, match=message):
        make("CMAB-Tabular-v0", **env_kwargs)


def test_autoreset_modes_are_given_by_name_or_by_gymnasiums_enumeration():
    with pytest.raises(ValueError, match=r"unknown autoreset_mode 'Never'.*NextStep, SameStep"):
        gym.make_vec("CMAB-Tabular-v0", autoreset_mode="Never")
    if hasattr(gym.vector, "AutoresetMode"):
        mode = gym.vector.AutoresetMode.SAME_STEP
        env = gym.make_vec("CMAB-Tabular-v0", autoreset_mode=mode)
        assert env.metadata["autoreset_mode"] is mode
        assert gym.make_vec("CMAB-Tabular-v0").metadata["autoreset_mode"] is not mode


def test_a_reset_mask_may_not_leave_a_sub_environment_out():
    env = gym.make_vec("CMAB-Tabular-v0", num_envs=2)
    env.reset(options={"reset_mask": np.array([True, True])})
    for mask in ([True, False], [True], [True, True, True], 3):
        with pytest.raises(ValueError, match="expected True for each of the 2 sub-environments"):
            env.reset(options={"reset_mask": np.array(mask)})


def test_without_autoreset_only_reset_begins_episodes():
    modes = ("Disabled", "NextStep")
    env, other = (
        gym.make_vec("CMAB-Tabular-v0", num_envs=2, horizon=2, autoreset_mode=mode)
        for mode in modes
    )
    arms = np.array([0, 1])
    env.reset(seed=4)
    other.reset(seed=4)
    for _ in range(3):
        assert_same_step(env.step(arms), other.step(arms))
        last = env.step(arms)
        assert_same_step(last, other.step(arms))
        with pytest.raises(gym.error.ResetNeeded, match=r"over \(horizon=2\): call reset\(\)"):
            env.step(arms)
        _, info = env.reset(options={"reset_mask": last[2] | last[3]})
        assert_same_info(info, other.step(arms)[4])


@pytest.mark.parametrize("env_id", IDS)
def test_round_rewards_are_those_of_all_arms(env_id):
    env = gym.make(env_id, **NEEDS.get(env_id, {})).unwrapped
    vector = gym.make_vec(env_id, num_envs=2, horizon=300, **NEEDS.get(env_id, {}))
    for either in (env, vector):
        with pytest.raises(gym.error.ResetNeeded, match="no round"):
            _ = either.round_rewards
    env.reset(seed=1)
    vector.reset(seed=1)
    for t in range(300):
        arm = t % env.model.n_arms
        reward = env.step(arm)[1]
        assert reward == env.round_rewards[arm]
        rewards = vector.step(np.array([arm, 0]))[1]
        np.testing.assert_array_equal(vector.round_rewards[[0, 1], [arm, 0]], rewards)
        np.testing.assert_array_equal(vector.round_rewards[0], env.round_rewards)
    vector.step(np.array([0, 0]))
    with pytest.raises(gym.error.ResetNeeded, match="the last step played no round"):
        _ = vector.round_rewards


def test_a_vector_environment_takes_one_seed_for_each_sub_environment():
    env = gym.make_vec("CMAB-Tabular-v0", num_envs=2)
    for wrong in ([1], [1, None]):
        with pytest.raises(ValueError, match="expected one seed for each of 2"):
            env.reset(seed=wrong)
    env.reset(seed=[4, 9])
    by_list = [env.step(np.array([0, 0]))[1].tolist() for _ in range(40)]
    alone = gym.make("CMAB-Tabular-v0")
    alone.reset(seed=9)
    assert [row[1] for row in by_list] == [alone.step(0)[1] for _ in range(40)]


def test_registering_again_changes_nothing():
    before = dict(gym.registry)
    register_environments()
    assert gym.registry == before


def test_the_info_of_reset_has_pseudo_lower_bounds_if_the_problem_has_them():
    env = gym.make("CMAB-Tabular-v0", preset="two-sided")
    _, info = env.reset(seed=0)
    problem = env.unwrapped.problem
    np.testing.assert_array_equal(info["pseudo_lower_bounds"], problem.pseudo_lower_bounds)
    read = BanditProblem.from_info(info)
    np.testing.assert_array_equal(read.pseudo_lower_bounds, problem.pseudo_lower_bounds)
    envs = gym.make_vec("CMAB-Tabular-v0", num_envs=2, preset="two-sided")
    assert envs.reset(seed=0)[1]["pseudo_lower_bounds"].shape == (2, 4, 4, 2)
    assert "pseudo_lower_bounds" not in gym.make("CMAB-Tabular-v0").reset()[1]


@pytest.mark.parametrize("env_id", ["CMAB-MovieLens-v0", "CMAB-Goodreads-v0", "CMAB-Ratings-v0"])
def test_the_info_of_reset_has_the_means_of_the_survey_if_there_was_one(env_id):
    env = gym.make(env_id, **NEEDS.get(env_id, {}))
    _, info = env.reset(seed=0)
    n_arms = env.action_space.n
    means, counts = info["survey_means"].copy(), info["survey_counts"].copy()
    assert (means.shape, means.dtype) == ((n_arms,), np.float64)
    assert (counts.shape, counts.dtype) == ((n_arms,), np.int64)
    assert counts.min() > 0
    assert 0 < np.abs(means - env.unwrapped.model.means).mean() < 1  # of other users
    read = BanditProblem.from_info(info)
    info["survey_means"][:] = 0
    info["survey_counts"][:] = 0
    for problem in (read, env.unwrapped.problem):
        np.testing.assert_array_equal(problem.survey_means, means)
        np.testing.assert_array_equal(problem.survey_counts, counts)
    envs = gym.make_vec(env_id, num_envs=2, **NEEDS.get(env_id, {}))
    of_vector = envs.reset(seed=0)[1]
    np.testing.assert_array_equal(of_vector["survey_means"], [means, means])
    np.testing.assert_array_equal(of_vector["survey_counts"], [counts, counts])
    assert "survey_means" not in gym.make("CMAB-Tabular-v0").reset()[1]


def test_the_info_of_reset_can_be_left_out():
    envs = gym.make_vec("CMAB-Tabular-v0", num_envs=3)
    _, info = envs.reset(seed=1, options={"info": False})
    assert info == {}
    rewards = envs.step(np.zeros(3, np.int64))[1]
    envs.reset(seed=1)
    np.testing.assert_array_equal(envs.step(np.zeros(3, np.int64))[1], rewards)
