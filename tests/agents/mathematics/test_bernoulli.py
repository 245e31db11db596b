"""The largest mean within a divergence, against a root finder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from reference import bernoulli_kl
from scipy.optimize import brentq

from cmab_gym.agents.mathematics.bernoulli import largest_mean_within


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("budget", [1e-6, 0.01, 0.3, 2.0, 9.0])
def test_the_largest_mean_agrees_with_a_bracketing_root_finder(p, budget):
    found = largest_mean_within(np.array([p]), np.array([budget]))[0]
    if bernoulli_kl(p, 1 - 1e-15) > budget:
        root = brentq(lambda q: bernoulli_kl(p, q) - budget, p, 1 - 1e-15)
        assert found == pytest.approx(root, abs=1e-9)
    else:
        assert found > 1 - 1e-9


@given(
    arrays(np.float64, (3, 4), elements=st.floats(0, 1)),
    arrays(np.float64, (3, 4), elements=st.floats(0, 20)),
)
def test_the_largest_mean_lies_between_the_mean_and_one_and_grows_with_the_budget(mean, budget):
    q = largest_mean_within(mean, budget)
    assert (q >= mean - 1e-12).all()
    assert (q <= 1).all()
    assert (largest_mean_within(mean, budget + 0.5) >= q - 1e-12).all()


def test_the_largest_mean_is_exact_for_means_0_and_1():
    q = largest_mean_within(np.array([0.0, 1.0]), np.array([np.log(2), 0.1]))
    assert_allclose(q, [0.5, 1.0], atol=1e-9)
