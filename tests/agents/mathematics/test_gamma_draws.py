"""Gamma variates: their distribution, and their independence of the batch."""

import numpy as np
import pytest
from scipy import stats

from cmab_gym.agents.mathematics.gamma_draws import standard_gamma
from cmab_gym.streams import TrialStreams


@pytest.mark.parametrize("shape", [1.0, 1.5, 4.0, 300.0])
def test_gamma_variates_have_their_distribution(shape):
    drawn = standard_gamma(np.full((40, 100), shape), TrialStreams.for_trials(1, range(40)))
    assert stats.kstest(drawn.ravel(), stats.gamma(shape).cdf).pvalue > 1e-4  # the false-alarm rate


def test_gamma_variates_of_a_trial_do_not_depend_on_the_others():
    shapes = np.random.default_rng(0).uniform(1, 3, (5, 30))
    together = standard_gamma(shapes, TrialStreams.for_trials(1, range(5)))
    alone = standard_gamma(shapes[3:4], TrialStreams.for_trials(1, range(3, 4)))
    np.testing.assert_array_equal(together[3:4], alone)
