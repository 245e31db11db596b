"""Divergences of finite distributions: two functions that invert each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from cmab_gym.agents.mathematics.finite_support import k_inf, largest_mean


def test_k_inf_and_the_largest_mean_are_inverse():
    rng = np.random.default_rng(0)
    values = np.array([0, 0.1, 0.5, 0.9, 1])
    shares = np.array([rng.multinomial(n, [0.2] * 5) / n for n in rng.integers(1, 30, 300)])
    wanted = shares @ values + (1 - shares @ values) * rng.random(300) * 0.999
    divergence = k_inf(shares, values, wanted)
    assert_allclose(largest_mean(shares, values, divergence), wanted, atol=1e-8)
    budget = rng.exponential(size=300)
    assert_allclose(k_inf(shares, values, shares @ values * 0.9), 0)
    almost_one = k_inf(np.array([[0.75, 0.25]]), np.array([0.0, 1.0]), np.array([1 - 1e-9]))
    assert almost_one[0] == pytest.approx(stats.entropy([0.75, 0.25], [1e-9, 1 - 1e-9]), rel=1e-6)
    largest = largest_mean(shares, values, budget)
    some = largest < 0.999
    assert_allclose(k_inf(shares, values, largest)[some], budget[some], atol=1e-8)
