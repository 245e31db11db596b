"""The joint outcomes of a problem, and their limits, by hand."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym import BanditProblem, evaluate
from cmab_gym.joint_rewards import JointRewards

# Rewards 1 and 3; the mean of arm 1 is at most 2 where arm 0 gives 3, and nothing else is known.
TABLE = [[[1, 3], [3, 3]], [[3, 2], [1, 3]]]


def test_outcomes_and_limits_are_those_computed_by_hand():
    joint = JointRewards.of(BanditProblem(TABLE, [1, 3], (1, 3)))
    assert_array_equal(joint.support, [0, 1])
    assert_array_equal(joint.rewards, [[0, 0], [0, 1], [1, 0], [1, 1]])
    # E[R_1 - 1/2 | R_0 = 1] <= 0
    assert_allclose(joint.limits, [[0, 0, -0.5, 0.5]])


def test_an_arm_may_give_only_some_of_the_rewards():
    problem = BanditProblem(TABLE, [1, 3], (1, 3))
    joint = JointRewards.of(problem, [np.array([1]), np.array([0, 1])])
    assert_array_equal(joint.index, [[1, 0], [1, 1]])


def test_a_bandit_whose_only_reward_is_one_number_has_one_outcome():
    joint = JointRewards.of(BanditProblem(np.full((2, 2, 1), 4), [4], (4, 4)))
    assert_array_equal(joint.rewards, [[0, 0]])
    assert joint.limits.shape == (0, 1)
    env_kwargs = {"pmf": [[1.0]], "supports": [[4], [4]]}
    results = evaluate("CMAB-Tabular-v0", ["graves-lai"], 3, 1, env_kwargs=env_kwargs)
    assert results.regret("graves-lai").max() == 0
