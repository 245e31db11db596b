"""Ties of the largest index."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cmab_gym.agents.argmax import argmax_with_random_ties


@given(arrays(np.float64, (5, 4), elements=st.sampled_from([0.0, 1.0, -np.inf, np.inf])), st.data())
def test_argmax_picks_one_of_the_largest(values, data):
    uniform = np.array(data.draw(st.lists(st.floats(0, 0.999), min_size=5, max_size=5)))
    arms = argmax_with_random_ties(values, uniform)
    np.testing.assert_array_equal(values[np.arange(5), arms], values.max(axis=1))


def test_ties_are_broken_evenly():
    uniform = np.arange(3000) / 3000
    values = np.tile([1.0, 0.0, 1.0, 1.0], (3000, 1))
    counts = np.bincount(argmax_with_random_ties(values, uniform), minlength=4)
    assert counts.tolist() == [1000, 0, 1000, 1000]
