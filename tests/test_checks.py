"""Checks of arguments."""

import numpy as np
import pytest

from cmab_gym import checks
from cmab_gym.agents.make import make_agent
from cmab_gym.envs_data import ReadOptions

HUGE = 10**400  # no float is as large: Python raises an OverflowError


@pytest.mark.parametrize(
    "check",
    [
        lambda: checks.positive("x", HUGE),
        lambda: checks.number_between("x", -HUGE, 0, float("inf")),
        lambda: checks.interval("x", (0, HUGE)),
        lambda: checks.numbers("x", [1, HUGE]),
        lambda: make_agent(f"ucb(B={HUGE})"),
        lambda: ReadOptions(not_rated=HUGE),
    ],
)
def test_an_integer_above_all_floats_is_refused(check):
    with pytest.raises(ValueError, match="expected"):
        check()


@pytest.mark.parametrize("value", ["12", ("1", "2"), (1, "2"), (2, 1), (0, float("nan")), (1,), 5])
def test_an_interval_is_a_pair_of_numbers_in_order(value):
    assert checks.interval("x", np.array([1, 2])) == (1, 2)
    with pytest.raises(ValueError, match=r"expected a pair \(low, high\) of numbers"):
        checks.interval("x", value)


def test_numbers_that_increase_from_end_to_end_of_all_floats_are_refused_as_huge():
    with pytest.raises(ValueError, match=r"expected numbers of size up to 1e\+100"):
        checks.increasing("x", [-1e308, 1e308])  # whose difference would overflow, with a warning
