"""A player's random numbers are independent of the environment's, also with the same seed."""

import inspect

import gymnasium as gym
import numpy as np
import pytest
from bandits import IDS, NEEDS

ROUNDS = 3000


def by_choice(env):
    rng, n_arms = np.random.default_rng(0), env.action_space.n
    return lambda: int(rng.choice(n_arms, p=np.full(n_arms, 1 / n_arms)))


def by_random(env):
    rng, n_arms = np.random.default_rng(0), env.action_space.n
    return lambda: int(rng.random() * n_arms)


def by_sample(env):
    env.action_space.seed(0)
    return lambda: int(env.action_space.sample())


def by_sample_with_probabilities(env):
    env.action_space.seed(0)
    n_arms = env.action_space.n
    return lambda: int(env.action_space.sample(probability=np.full(n_arms, 1 / n_arms)))


PLAYERS = [by_choice, by_random, by_sample]
if "probability" in inspect.signature(gym.spaces.Discrete.sample).parameters:
    PLAYERS.append(by_sample_with_probabilities)


@pytest.mark.parametrize("draws", ["rounds", "pulls"])
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("env_id", IDS)
def test_a_player_with_the_same_seed_sees_the_means(env_id, player, draws):
    """Each arm's mean reward is within 5 standard errors: false in one of 3,000 seeds at most.

    By rounds, a player who chooses with a copy of the environment's generator is 38 or more off.
    """
    env = gym.make(env_id, horizon=ROUNDS, draws=draws, step_info="none", **NEEDS.get(env_id, {}))
    env.reset(seed=0)
    choose = player(env)
    check_means(env.unwrapped.model, ((arm := choose(), env.step(arm)[1]) for _ in range(ROUNDS)))


@pytest.mark.parametrize("env_id", IDS)
def test_a_player_of_a_vector_environment_with_the_same_seed_sees_the_means(env_id):
    kwargs = {"horizon": ROUNDS, "step_info": "none", **NEEDS.get(env_id, {})}
    envs = gym.make_vec(env_id, num_envs=1, **kwargs)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    rng, n_arms = np.random.default_rng(0), envs.single_action_space.n

    def rounds():
        for t in range(ROUNDS):
            uniform = rng.choice(n_arms, p=np.full(n_arms, 1 / n_arms))
            arms = envs.action_space.sample() if t % 2 else np.array([uniform])
            yield int(arms[0]), float(envs.step(arms)[1][0])

    check_means(envs.unwrapped.model, rounds())


def check_means(model, rounds):
    arms, rewards = (np.array(column) for column in zip(*rounds, strict=True))
    for arm in range(model.n_arms):
        own = rewards[arms == arm]
        error = max(own.std(), 1e-9) / np.sqrt(own.size)
        # Bins of latent rewards and their midpoints are not exact means.
        assert abs(own.mean() - model.means[arm]) < 5 * error + 1e-3, arm


@pytest.mark.parametrize("draws", ["rounds", "pulls"])
def test_the_generator_of_the_rewards_is_the_one_that_np_random_shows(draws):
    env = gym.make("CMAB-MovieLens-v0", draws=draws).unwrapped
    env.reset(seed=3)
    before = env.np_random.bit_generator.state
    assert before != np.random.default_rng(3).bit_generator.state
    env.step(0)
    assert env.np_random.bit_generator.state != before
    env.reset(seed=3)
    assert env.np_random.bit_generator.state == before
    assert env.np_random_seed == 3
    vector = gym.make_vec("CMAB-MovieLens-v0", num_envs=2, draws="rounds").unwrapped
    vector.reset(seed=np.array(2))
    assert vector.np_random[1].bit_generator.state == before
    assert vector.np_random_seed == (2, 3)


@pytest.mark.parametrize("draws", ["rounds", "pulls"])
def test_a_generator_that_a_user_sets_is_the_one_that_is_used(draws):
    def rewards(seed):
        env = gym.make("CMAB-MovieLens-v0", draws=draws).unwrapped
        env.reset(seed=0)
        if draws == "pulls":
            env.step(0)  # by rounds, a block of outcomes is drawn at once
        env.np_random = np.random.default_rng(seed)
        return [env.step(0)[1] for _ in range(50)]

    assert rewards(1) == rewards(1) != rewards(2)


@pytest.mark.parametrize("seed", [-1, 1.5, "ab", [1.5, 2], ["1", "2"], [1]])
def test_a_seed_that_is_not_an_integer_is_refused(seed):
    envs = gym.make_vec("CMAB-Tabular-v0", num_envs=2)
    with pytest.raises(ValueError, match=r"seed.*expected"):
        envs.reset(seed=seed)
