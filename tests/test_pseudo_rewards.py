import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SEEDS, tabular_models

from cmab_gym.pseudo_rewards import conditional_means, first_violation, mask_and_pad

SUPPORT = np.array([1.0, 2.0, 3.0])


def table(seed=0, n_arms=6):
    made = np.random.default_rng(seed).uniform(1, 3, (n_arms, n_arms, 3))
    made[np.arange(n_arms), np.arange(n_arms)] = SUPPORT
    return made


def test_conditional_means_equal_those_computed_by_hand():
    # Appendix table: P(R1, R2) = .1 .2 / .3 .4; three of the four entries are its pseudo-rewards.
    outcomes = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    means = conditional_means(outcomes, np.array([0.1, 0.2, 0.3, 0.4]), outcomes.astype(int), 2)
    np.testing.assert_allclose(means[1, 0], [2 / 3, 4 / 7])
    np.testing.assert_allclose(means[0, 1], [3 / 4, 2 / 3])
    np.testing.assert_allclose(means[0, 0], [0, 1])


@given(tabular_models())
def test_conditional_means_average_to_the_mean(model):
    phi = model.expected_pseudo_rewards()
    np.testing.assert_allclose(phi, np.broadcast_to(model.means[:, None], phi.shape), atol=1e-9)


def test_first_violation_names_the_worst_entry():
    true = np.zeros((2, 2, 2))
    given_table = true.copy()
    assert first_violation(given_table, true, 1e-9) is None
    given_table[1, 0, 1], given_table[0, 1, 0] = -0.1, -0.3
    assert first_violation(given_table, true, 1e-9) == (0, 1, 0)
    true[0, 1, 0] = np.nan
    assert first_violation(given_table, true, 1e-9) == (1, 0, 1)


@given(SEEDS, st.floats(0, 1), st.floats(0, 2))
def test_mask_and_pad_only_raise_entries_and_never_above_the_maximum(seed, mask, pad):
    given_table = table()
    made = mask_and_pad(given_table, SUPPORT, 3.0, mask, pad, np.random.default_rng(seed))
    arms = np.arange(6)
    assert (made >= given_table - 1e-12).all()
    assert made.max() <= 3.0
    np.testing.assert_array_equal(made[arms, arms], np.broadcast_to(SUPPORT, (6, 3)))


@pytest.mark.parametrize("mask", [0.0, 0.25, 0.5, 0.7, 1.0])
def test_the_same_number_of_entries_is_masked_for_each_reward(mask):
    low = np.full((18, 18, 5), 1.0)
    support = np.arange(1.0, 6)
    made = mask_and_pad(low, support, 5.0, mask, 0, np.random.default_rng(1))
    others = ~np.eye(18, dtype=bool)
    masked = (made == 5) & others[:, :, None]
    # int(mask * 18) entries are masked; one of them may be the arm's own, which is restored.
    assert set(masked.sum(axis=0).ravel()) <= {int(mask * 18), max(0, int(mask * 18) - 1)}


def test_the_mask_comes_before_the_pad():
    made = mask_and_pad(table(), SUPPORT, 3.0, 0.5, 0.1, np.random.default_rng(0))
    only_mask = mask_and_pad(table(), SUPPORT, 3.0, 0.5, 0.0, np.random.default_rng(0))
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(made[off], np.minimum(only_mask[off] + 0.1, 3.0))


def test_a_larger_mask_contains_the_smaller_one():
    small, large = (
        mask_and_pad(table(), SUPPORT, 3.0, mask, 0, np.random.default_rng(0))
        for mask in (0.2, 0.6)
    )
    assert (large >= small).all()
    assert (large > small).any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mask": -0.1}, r"mask=-0.1: expected a number from 0 to 1"),
        ({"mask": 1.5}, r"mask=1.5: expected a number from 0 to 1"),
        ({"mask": np.nan}, r"mask=nan"),
        ({"mask": "x"}, r"mask='x'"),
        ({"pad": -1}, r"pad=-1: expected 0 or more"),
        ({"mask": 0.5}, r"mask=0.5 without rng: expected a generator"),
    ],
)
def test_wrong_masks_and_pads_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        mask_and_pad(table(), SUPPORT, 3.0, **changes)
