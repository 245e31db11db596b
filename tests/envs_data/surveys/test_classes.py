"""Classes of users: that known ones are found, and that they reach the player."""

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cmab_gym
from cmab_gym import BanditProblem
from cmab_gym.envs_data import Ratings, Survey, take_survey
from cmab_gym.envs_data.surveys.arms import listed_arms
from cmab_gym.envs_data.surveys.classes import learn_classes
from cmab_gym.envs_data.surveys.pooled import Pooled

STARS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
LEVELS = np.array([[4, 0, 4, 0, 2, 2], [0, 4, 0, 4, 2, 2], [2, 2, 1, 1, 4, 0]])  # of three classes


def pooled(n_users=300, share=0.7, noise=0.25, n_arms=6):
    """Ratings of users of three classes, in the shares 1/2, 1/3 and 1/6, with gaps."""
    rng = np.random.default_rng(0)
    group = np.array([0, 0, 0, 1, 1, 2])[np.arange(n_users) % 6]
    user, arm = np.nonzero(rng.random((n_users, n_arms)) < share)
    level = LEVELS[group[user], arm] + rng.choice(
        [-1, 0, 1], user.size, p=[noise, 1 - 2 * noise, noise]
    )
    user = np.unique(user, return_inverse=True)[1]
    return Pooled(user, arm, np.clip(level, 0, 4), int(user.max()) + 1, n_arms, STARS)


def test_known_classes_are_found():
    ratings = pooled(n_users=1200)
    found = learn_classes(ratings, 3)
    order = np.argsort(-found.weights)
    assert_allclose(found.weights[order], [1 / 2, 1 / 3, 1 / 6], atol=0.05)
    means = np.clip(LEVELS, 0.25, 3.75) + 1.0  # the noise is clipped at the ends
    assert_allclose(found.means[order], means, atol=0.3)  # shrunk, the smallest class most
    assert (found.sigmas < 1).all()
    assert_array_equal(found.means, learn_classes(ratings, 3).means)


def test_one_class_is_the_mean_of_all_users():
    ratings = pooled()
    found = learn_classes(ratings, 1)
    stars = [STARS[ratings.level[ratings.arm == arm]] for arm in range(6)]
    assert_allclose(found.means, [[each.mean() for each in stars]])
    assert_allclose(found.sigmas, [each.std() for each in stars], atol=0.1)
    assert found.weights.tolist() == [1]


def test_arms_and_users_that_say_nothing_are_no_trouble():
    one = Pooled(np.zeros(2, int), np.array([0, 2]), np.array([4, 4]), 1, 3, STARS)
    found = learn_classes(one, 5)
    assert_allclose(found.means, [[5, 5, 5]])  # an arm without ratings has the mean of all
    assert (found.sigmas > 0).all()


def survey(classes):
    ratings = pooled(n_users=60)
    made = Ratings.from_columns(ratings.user, ratings.arm, STARS[ratings.level])
    return take_survey(made, listed_arms(made, range(6)), classes=classes)


def test_classes_reach_the_player_and_a_saved_survey_keeps_them(tmp_path):
    made = survey(classes=2)
    made.save(tmp_path / "s.npz")
    read = Survey.load(tmp_path / "s.npz")
    env = gym.make("CMAB-Ratings-v0", data=read)
    problem = BanditProblem.from_info(env.reset(seed=0)[1])
    for classes in (read.classes, env.unwrapped.problem.survey_classes, problem.survey_classes):
        assert_array_equal(classes.weights, made.classes.weights)
        assert_array_equal(classes.means, made.classes.means)
        assert_array_equal(classes.sigmas, made.classes.sigmas)
    assert made.provenance["classes"] == 2
    agents = ["class-ts", "class-ucb", "c-class-ts"]
    found = cmab_gym.evaluate("CMAB-Ratings-v0", agents, 20, 3, env_kwargs={"data": read})
    assert found.regret("class-ts").shape[0] == 3


def test_without_classes_a_survey_has_none():
    made = survey(classes=0)
    assert made.classes is None
    assert "classes" not in made.provenance
    with pytest.raises(ValueError, match="classes=-1: expected an integer of at least 0"):
        survey(classes=-1)
