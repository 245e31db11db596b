"""Each index by hand, and the laws of all indices."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cmab_gym import BanditProblem
from cmab_gym.agents import KLUCB, TS, UCB
from cmab_gym.streams import TrialStreams

PULLS = np.array([[1, 4], [9, 16]])
MEANS = np.array([[0.5, 0.25], [1.0, 0.0]])


def problem(low, high):
    return BanditProblem(np.broadcast_to([low, high], (2, 2, 2)), [low, high], (low, high))


def index(policy, pulls=PULLS, means=MEANS, bounds=(0.0, 1.0), seed=0):
    history = SimpleNamespace(pulls=pulls, means=means, t=25, problem=problem(*bounds))
    return policy.index(history, TrialStreams.for_trials(seed, range(2)))


def test_the_index_of_ucb_is_the_one_computed_by_hand():
    bonus = np.sqrt(2 * np.log(25)) / np.sqrt(PULLS)
    np.testing.assert_allclose(index(UCB()), MEANS + bonus)
    np.testing.assert_allclose(index(UCB(B=5)), MEANS + 5 * bonus)
    np.testing.assert_allclose(index(UCB(), bounds=(1, 5)), MEANS + 4 * bonus)


def test_ts_is_a_normal_draw_of_variance_beta_b_over_n_plus_1():
    noise = TrialStreams.for_trials(0, range(2)).standard_normal(2)
    np.testing.assert_allclose(index(TS(B=4)), MEANS + 2 / np.sqrt(PULLS + 1) * noise)
    np.testing.assert_allclose(index(TS(beta=9)), MEANS + 3 / np.sqrt(PULLS + 1) * noise)
    assert (index(TS(), seed=0) != index(TS(), seed=1)).all()


def test_kl_ucb_scales_with_the_bounds_and_grows_with_c():
    unit = index(KLUCB())
    scaled = index(KLUCB(), means=1 + 4 * MEANS, bounds=(1, 5))
    np.testing.assert_allclose(scaled, 1 + 4 * unit, atol=1e-9)
    assert (index(KLUCB(c=3)) >= unit).all()
    assert (index(KLUCB(c=3)) > unit).any()
    # The default is c = 0, which Garivier and Cappé (2011) recommend in practice. Their proofs need
    # c = 3, which explores more.
    assert_allclose(unit, index(KLUCB(c=0)))


@pytest.mark.parametrize("policy", [UCB(), TS(), KLUCB()])
def test_an_index_is_finite_and_leaves_the_history_unchanged(policy):
    pulls, means = PULLS.copy(), MEANS.copy()
    values = index(policy, pulls, means)
    assert values.shape == (2, 2)
    assert np.isfinite(values).all()
    np.testing.assert_array_equal((pulls, means), (PULLS, MEANS))


def test_parameters_may_be_of_small_numpy_types():
    for kind, names in ((UCB, ["B"]), (TS, ["B", "beta"]), (KLUCB, ["c"])):
        for dtype in (np.int8, np.uint8, np.float16):
            small = kind(**dict.fromkeys(names, dtype(100)))
            same = kind(**dict.fromkeys(names, 100))
            np.testing.assert_array_equal(index(small), index(same))


@pytest.mark.parametrize("policy", [UCB(B=2), KLUCB(c=1)])
def test_relabelling_the_arms_relabels_the_index(policy):
    swapped = index(policy, PULLS[:, ::-1].copy(), MEANS[:, ::-1].copy())
    np.testing.assert_array_equal(swapped, index(policy)[:, ::-1])
