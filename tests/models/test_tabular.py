import numpy as np
import pytest
from hypothesis import given
from strategies import SEEDS, tabular_models

from cmab_gym.envs.tabular import tabular_model
from cmab_gym.models import TabularModel
from cmab_gym.models.presets import TABULAR

TABLE_1_A = [[0.2, 0.2], [0.4, 0.2]]


def test_a_pmf_and_its_list_of_outcomes_give_the_same_model():
    of_pmf = tabular_model(pmf=TABLE_1_A, pseudo_rewards=TABULAR["table1-a"].pseudo_rewards)
    preset = tabular_model("table1-a")
    np.testing.assert_allclose(of_pmf.means, preset.means)
    np.testing.assert_allclose(of_pmf.reward_pmf, preset.reward_pmf)
    np.testing.assert_array_equal(of_pmf.problem.pseudo_rewards, preset.problem.pseudo_rewards)


def test_supports_give_each_arm_its_own_rewards():
    model = tabular_model(pmf=TABLE_1_A, supports=[[0, 10], [5, -5]])
    np.testing.assert_array_equal(model.problem.reward_support, [-5, 0, 5, 10])
    np.testing.assert_allclose(model.means, [6, 1])
    assert model.problem.reward_bounds == (-5, 10)
    # Arm 1 never gives 10, so this entry is unknown: the largest reward.
    assert model.problem.pseudo_rewards[0, 1, 3] == 10


def test_the_three_armed_table_has_the_published_marginal_and_respects_its_pseudo_rewards():
    model = tabular_model("three-armed")
    np.testing.assert_allclose(model.reward_pmf[0], [0.2, 0.2, 0.6])
    assert TABULAR["three-armed"].pseudo_rewards[2][0] == (2, 1.2, 1)


@given(tabular_models(), SEEDS)
def test_drawn_rewards_are_rows_of_the_table(model, seed):
    outcomes = model.draw(np.random.default_rng(seed), 50)
    every_arm = np.arange(model.n_arms)[None, :]
    rewards, index = model.pull(outcomes, every_arm)
    rows = {tuple(row) for row in np.asarray(model.outcomes).tolist()}
    assert {tuple(row) for row in rewards.tolist()} <= rows
    np.testing.assert_array_equal(model.problem.reward_support[index], rewards)


def test_the_frequencies_of_outcomes_are_near_their_probabilities():
    # 40,000 draws; each of 4 frequencies within 5 standard errors: false alarm below 3e-6.
    model = tabular_model("table1-b")
    rewards, _ = model.pull(model.draw(np.random.default_rng(0), 40_000), np.array([[0, 1]]))
    codes = (2 * rewards[:, 0] + rewards[:, 1]).astype(int)
    frequency = np.bincount(codes, minlength=4) / 40_000
    expected = np.array([0.2, 0.4, 0.3, 0.1])
    assert (np.abs(frequency - expected) < 5 * np.sqrt(expected * (1 - expected) / 40_000)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pmf": [[0.5, 0.1], [0.2, 0.1]]}, r"the sum of pmf is 0.9: expected 1; if these"),
        ({"pmf": [[np.nan, 0.5], [0.2, 0.3]]}, r"pmf\[0, 0\] is nan: expected finite"),
        ({"pmf": [[1.5, -0.5], [0, 0]]}, r"pmf holds -0.5: expected at least 0"),
        ({"pmf": [[0, 0], [0, 0]]}, r"sum of pmf is 0: expected 1"),
        (
            {"pmf": [0.5, 0.5]},
            r"pmf has shape \(2,\): expected one axis for each of 2",
        ),
        ({"pmf": 1.0}, r"pmf has shape \(\): expected one axis"),
        ({"pmf": np.zeros((2, 0))}, r"sum of pmf is 0: expected 1"),
        ({"pmf": "abc"}, r"pmf of type str: expected a table of numbers"),
        ({"pmf": [[0.5], [0.2, 0.3]]}, r"pmf of type list: expected a table of numbers"),
        ({"supports": [[0, np.nan], [0, 1]]}, r"supports\[0\]\[1\] is nan"),
        ({"supports": [[0, -1e308], [0, 1]]}, r"supports\[0\]\[1\] is -1e\+308"),
        ({"reward_bounds": 3}, r"reward_bounds=3: expected a pair"),
        ({"allow_invalid": "no"}, r"allow_invalid='no': expected True or False"),
        ({"supports": 3}, r"supports=3: expected a list of rewards for each of 2 arms"),
        ({"supports": [[0, 1]]}, r"supports of sizes \(2,\): expected \(2, 2\)"),
        ({"supports": [[0, 0], [0, 1]]}, r"supports\[0\].*different rewards"),
        ({"pseudo_rewards": np.ones((2, 2, 3))}, r"shape \(2, 2, 3\): expected \(2, 2, 2\)"),
        (
            {"pseudo_rewards": [[[0, 1], [0.1, 0.5]], [[0.7, 0.4], [0, 1]]]},
            r"pseudo_rewards\[0, 1, 0\] = 0.1 is below the mean 0.666667 of arm 0 when arm 1 gives "
            r"0: expected upper bounds; raise the entry, or pass allow_invalid=True",
        ),
    ],
)
def test_wrong_input_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        tabular_model(**{"pmf": TABLE_1_A, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outcomes": [["a", 1]]}, "outcomes of type list: expected a table of numbers"),
        ({"outcomes": [[0], [1]]}, r"outcomes has shape \(2, 1\): expected \(J, K\) with K >= 2"),
        ({"probabilities": [1]}, r"outcomes \(2, 2\) and probabilities \(1,\): expected \(J, K\)"),
        (
            {"probabilities": [0.5, 0.6]},
            "the sum of probabilities is 1.1: expected 1; if these are counts",
        ),
        ({"arm_names": ("a",)}, "arm_names holds 1 names: expected 2, one for each arm"),
    ],
)
def test_a_wrong_list_of_outcomes_is_refused(changes, message):
    given = {"outcomes": [[0, 1], [1, 0]], "probabilities": [0.5, 0.5], **changes}
    with pytest.raises(ValueError, match=message):
        TabularModel(**given)


def test_an_invalid_table_is_accepted_on_request():
    table = [[[0, 1], [0.1, 0.5]], [[0.7, 0.4], [0, 1]]]
    model = tabular_model(pmf=TABLE_1_A, pseudo_rewards=table, allow_invalid=True)
    assert model.problem.pseudo_rewards[0, 1, 0] == 0.1


def test_a_preset_excludes_other_arguments_and_has_a_known_name():
    with pytest.raises(ValueError, match="unknown preset '': expected one of"):
        tabular_model("")
    with pytest.raises(ValueError, match="unknown preset 'table1-c': did you mean 'table1-"):
        tabular_model("table1-c")
    with pytest.raises(ValueError, match="expected one of them"):
        tabular_model("table1-a", pmf=TABLE_1_A)
    with pytest.raises(ValueError, match="supports without a pmf"):
        tabular_model(supports=[[0, 1], [0, 1]])


def test_pseudo_lower_bounds_must_be_lower_bounds_except_on_request():
    pmf, lower = [[0.2, 0.2], [0.4, 0.2]], np.full((2, 2, 2), -np.inf)
    lower[1, 0, 1] = 0.4  # the mean of arm 1 where arm 0 gives 1 is 1/3
    message = r"pseudo_lower_bounds\[1, 0, 1\] = 0.4 is above the mean 0.333333 of arm 1 when"
    with pytest.raises(ValueError, match=message):
        tabular_model(pmf=pmf, pseudo_lower_bounds=lower)
    lower[1, 0, 1] = 0.3
    problem = tabular_model(pmf=pmf, pseudo_lower_bounds=lower).problem
    np.testing.assert_array_equal(problem.pseudo_lower_bounds, lower)
    lower[1, 0, 1] = 0.4
    table = np.ones((2, 2, 2))
    table[[0, 1], [0, 1]] = [0, 1]
    allowed = tabular_model(
        pmf=pmf, pseudo_rewards=table, allow_invalid=True, pseudo_lower_bounds=lower
    )
    assert allowed.problem.pseudo_lower_bounds[1, 0, 1] == 0.4
