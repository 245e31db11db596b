import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest

import cmab_gym
from cmab_gym import BanditProblem
from cmab_gym.rows import pseudo_reward_rows
from cmab_gym.told_problem import ToldProblem

TABLE_1 = np.array([[[0, 1], [0.8, 0.5]], [[0.7, 0.4], [0, 1]]])


def problem(**changes):
    given = {"pseudo_rewards": TABLE_1, "reward_support": [0, 1], "reward_bounds": (0, 1)}
    return BanditProblem(**{**given, **changes})


def test_arrays_are_read_only_copies():
    table = TABLE_1.copy()
    made = problem(pseudo_rewards=table)
    table[:] = 9
    np.testing.assert_array_equal(made.pseudo_rewards, TABLE_1)
    with pytest.raises(ValueError, match="read-only"):
        made.pseudo_rewards[0, 0, 0] = 1


@pytest.mark.parametrize(
    "clone",
    [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))],  # noqa: S301
)
def test_copies_cannot_be_written_to_either(clone):
    survey = {"survey_means": [0, 1], "survey_counts": np.array([1, 2])}
    made = clone(problem(pseudo_lower_bounds=TABLE_1 - 2, **survey))
    for array in (made.pseudo_rewards, made.pseudo_lower_bounds, made.survey_counts, made.cuts):
        while isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.setflags(write=True)
            array = array.base
    np.testing.assert_array_equal(made.pseudo_rewards, TABLE_1)
    np.testing.assert_array_equal(made.survey_counts, [1, 2])


def test_a_problem_told_more_keeps_the_rest_and_survives_pickling():
    plain = problem(survey_means=[0, 1], survey_counts=np.array([1, 2]))
    oracle = ToldProblem(plain.with_horizon(7), [0.5, 0.25])
    for made in (oracle, pickle.loads(pickle.dumps(oracle))):  # noqa: S301
        assert (made.horizon, made.means.tolist()) == (7, [0.5, 0.25])
        np.testing.assert_array_equal(made.survey_counts, plain.survey_counts)
    assert oracle.rows is plain.rows
    later = oracle.with_horizon(9)
    assert (later.horizon, later.means.tolist()) == (9, [0.5, 0.25])
    assert (plain.horizon, plain.with_horizon(3).horizon) == (None, 3)
    with pytest.raises(ValueError, match=r"means have shape \(1,\): expected \(2,\)"):
        ToldProblem(plain, [1])
    with pytest.raises(ValueError, match=r"source has shape \(2, 3, 1\): expected \(2, 2, X\)"):
        ToldProblem(plain, source=np.ones((2, 3, 1)))
    with pytest.raises(ValueError, match="source: expected lowest rewards that are not above"):
        ToldProblem(plain, source=[[[1], [0]], [[0], [1]]])
    with pytest.raises(ValueError, match="horizon=0: expected an integer of at least 1"):
        plain.with_horizon(0)


def test_the_reward_range_is_the_length_of_the_interval():
    assert problem(reward_bounds=(-1, 13)).reward_range == 14
    assert problem().n_arms == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pseudo_rewards": np.ones((2, 3, 2))}, r"shape \(2, 3, 2\): expected \(K, K, R\)"),
        ({"pseudo_rewards": TABLE_1 * np.nan}, r"is nan: expected finite numbers"),
        ({"pseudo_rewards": TABLE_1 + 1e200}, r"is 1e\+200: expected numbers of size up to 1e"),
        ({"reward_bounds": (0, 1e308)}, r"reward_bounds\[1\] is 1e\+308: expected numbers of size"),
        ({"pseudo_rewards": TABLE_1 - 1}, r"pseudo_rewards\[0, 0\].*set s_kk\(r\) = r"),
        ({"reward_support": [1, 0]}, r"expected increasing rewards; sort them"),
        ({"reward_support": []}, r"R >= 1"),
        ({"reward_bounds": (0, 0.5)}, r"expected rewards inside \(0.0, 0.5\)"),
        ({"reward_bounds": (1, 0)}, r"reward_bounds=\(1, 0\): expected a pair"),
        ({"reward_bounds": 3}, r"reward_bounds=3: expected a pair"),
        ({"pseudo_rewards": [[["a"]]]}, r"pseudo_rewards of type list: expected a table of numb"),
        ({"pseudo_lower_bounds": [[1], []]}, r"pseudo_lower_bounds of type list: expected a tab"),
        ({"reward_support": "ab"}, r"reward_support of type str: expected a table of numbers"),
        ({"reward_edges": [0, [1]]}, r"reward_edges of type list: expected a table of numbers"),
        ({"survey_means": ["a", "b"]}, r"survey_means of type list: expected a table of numbers"),
        ({"reward_edges": [0, 1]}, r"expected 3 increasing edges"),
        ({"reward_edges": [0, np.nan, 1]}, r"expected 3 increasing edges"),
        ({"reward_edges": [5, 6, 7]}, r"expected 3 increasing edges from 0 to 1"),
    ],
)
def test_wrong_input_is_named_with_its_remedy(changes, message):
    with pytest.raises(ValueError, match=message):
        problem(**changes)


def test_rewards_are_found_in_a_finite_support():
    made = BanditProblem(np.broadcast_to([1.0, 2.5, 4.0], (1, 1, 3)), [1.0, 2.5, 4.0], (1, 4))
    np.testing.assert_array_equal(
        made.reward_index(np.array([[4.0, 1.0], [2.5, 1.0]])), [[2, 0], [1, 0]]
    )
    for wrong in (3.0, 3.999, np.nan):
        with pytest.raises(ValueError, match=rf"reward {wrong}: expected one of"):
            made.reward_index(np.array([wrong]))


def test_a_bin_includes_its_lower_edge_and_the_last_bin_also_its_upper_one():
    edges = np.array([0.0, 0.5, 1.0])
    made = BanditProblem(np.ones((1, 1, 2)), [0.25, 0.75], (0, 1), edges)
    rewards = np.array([0.0, 0.49, 0.5, 1.0])
    np.testing.assert_array_equal(made.reward_index(rewards), [0, 0, 1, 1])
    for wrong in (1.1, np.nan):
        with pytest.raises(ValueError, match=rf"reward {wrong}: expected a number inside"):
            made.reward_index(np.array([wrong]))


def test_rewards_that_float64_cannot_tell_apart_are_refused():
    near = [0, 1, np.nextafter(1, 2)]
    with pytest.raises(
        ValueError, match=r"reward_support holds \[0\. 1\. 1\.\]: expected rewards that"
    ):
        BanditProblem(np.full((2, 2, 3), 2.0), near, (0, 2))


@pytest.mark.parametrize(
    "env_id",
    ["CMAB-Tabular-v0", "CMAB-Latent-v0", "CMAB-Independent-v0", "CMAB-MovieLens-v0"],
)
def test_from_info_gives_the_problem_of_the_environment(env_id):
    env = gym.make(env_id)
    _, info = env.reset(seed=0)
    read, own = BanditProblem.from_info(info), env.unwrapped.problem
    np.testing.assert_array_equal(read.pseudo_rewards, own.pseudo_rewards)
    np.testing.assert_array_equal(read.reward_support, own.reward_support)
    assert read.reward_bounds == own.reward_bounds
    assert (read.reward_edges is None) == (own.reward_edges is None)
    assert read.reward_sigma == own.reward_sigma


def test_from_info_refuses_the_info_of_a_step():
    env = gym.make("CMAB-Tabular-v0")
    env.reset(seed=0)
    info = env.step(0)[4]
    with pytest.raises(ValueError, match=r"no 'pseudo_rewards'.*env.reset"):
        BanditProblem.from_info(info)


def test_from_info_refuses_the_info_of_a_vector_environment():
    _, info = gym.make_vec("CMAB-Tabular-v0", num_envs=2).reset(seed=0)
    with pytest.raises(ValueError, match=r"from a vector environment.*envs.unwrapped.problem"):
        BanditProblem.from_info(info)


def test_a_problem_does_not_reveal_the_means():
    assert not {"means", "gaps", "reward_pmf"} & set(dir(problem()))
    assert cmab_gym.BanditProblem is BanditProblem


@pytest.mark.parametrize(
    ("lower", "message"),
    [
        (np.zeros((2, 2)), r"pseudo_lower_bounds has shape \(2, 2\): expected \(2, 2, 2\)"),
        (np.full((2, 2, 2), 2.0), r"pseudo_lower_bounds\[0, 0, 0\] = 2: expected at most .* 0"),
        (np.full((2, 2, 2), np.nan), r"pseudo_lower_bounds\[0, 0, 0\] = nan: expected"),
    ],
)
def test_wrong_pseudo_lower_bounds_are_refused(lower, message):
    table = np.ones((2, 2, 2))
    table[[0, 1], [0, 1]] = [0, 1]
    with pytest.raises(ValueError, match=message):
        BanditProblem(table, [0, 1], (0, 1), None, lower)


@pytest.mark.parametrize(
    ("means", "counts", "message"),
    [
        ([0.5, 0.5], None, r"have shapes \(\(2,\), \(0,\)\): expected both, of shape \(2,\)"),
        ([0.5], [1], r"have shapes \(\(1,\), \(1,\)\): expected both, of shape \(2,\)"),
        ([0.5, np.nan], [1, 0], r"survey_means holds nan: expected means inside \(0.0, 1.0\)"),
        ([0.5, 1.5], [1, 1], r"survey_means holds 1.5: expected means inside"),
        ([0.5, 0.5], [-1, 1], r"survey_counts=\[-1  1\]: expected whole numbers"),
        ([0.5, 0.5], [0, 0], r"survey_counts=\[0 0\]: expected .* not all 0"),
        ([0.5, 0.5], [0.5, 1.0], r"expected whole numbers"),
    ],
)
def test_wrong_means_of_a_survey_are_refused(means, counts, message):
    with pytest.raises(ValueError, match=message):
        problem(survey_means=means, survey_counts=counts)


def test_the_rows_of_a_problems_table_are_a_view():
    made = problem(pseudo_lower_bounds=np.full_like(TABLE_1, -np.inf))
    lower = made.pseudo_lower_bounds
    assert np.shares_memory(pseudo_reward_rows(lower), lower)
    table = made.pseudo_rewards
    rows = pseudo_reward_rows(table)
    assert np.shares_memory(rows, table)
    assert rows.flags.c_contiguous
    assert not rows.flags.writeable
    np.testing.assert_array_equal(rows, table.transpose(1, 2, 0))
