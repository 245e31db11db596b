"""Each index by hand, and the laws of all indices."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from reference import bernoulli_kl
from scipy.optimize import brentq

from cmab_gym import BanditProblem
from cmab_gym.agents import KLUCB, TS, UCB, SurveyGreedy, WarmTS
from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.mathematics.bernoulli import largest_mean_within
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


def surveyed(means=(2.0, 4.0), counts=(30, 10)):
    """A problem of two arms with 1 to 5 stars, and a history of it without a pull of arm 1."""
    table = np.broadcast_to([1.0, 5.0], (2, 2, 2))
    of_survey = {"survey_means": means, "survey_counts": np.array(counts)}
    made = BanditProblem(table, [1, 5], (1, 5), **of_survey)
    pulls, sums = np.array([[3, 0]]), np.array([[9.0, 0.0]])
    return SimpleNamespace(pulls=pulls, sums=sums, t=3, problem=made)


def test_survey_greedy_ranks_arms_by_the_shrunk_means_of_the_survey():
    # All 40 ratings have the mean 2.5. (30 * 2 + 10 * 2.5) / 40 and (10 * 4 + 10 * 2.5) / 20.
    rng = TrialStreams.for_trials(0, range(1))
    assert_allclose(SurveyGreedy(shrinkage=10).index(surveyed(), rng), [[2.125, 3.25]])
    assert_allclose(SurveyGreedy(shrinkage=0).index(surveyed(), rng), [[2, 4]])
    unrated = surveyed(means=(2, 2), counts=(30, 0))
    assert_allclose(SurveyGreedy(shrinkage=0).index(unrated, rng), [[2, 2]])


def test_warm_ts_draws_around_the_mean_of_survey_and_rewards():
    noise = TrialStreams.for_trials(0, range(1)).standard_normal(2)
    policy = WarmTS(weight=5, shrinkage=10, beta=2)  # variance 2 * 4 / (5 + n + 1)
    drawn = policy.index(surveyed(), TrialStreams.for_trials(0, range(1)))
    # (5 * 2.125 + 9) / 8 and, without a pull, 3.25.
    expected = np.array([[2.453125, 3.25]]) + np.sqrt([8 / 9, 8 / 6]) * noise
    assert_allclose(drawn, expected)


@pytest.mark.parametrize("policy", [WarmTS(), SurveyGreedy()])
def test_without_a_survey_the_error_names_environments_that_have_one(policy):
    with pytest.raises(ValueError, match=r"no survey_means: expected .* as CMAB-MovieLens-v0"):
        index(policy)


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("budget", [1e-6, 0.01, 0.3, 2.0, 9.0])
def test_kl_ucb_agrees_with_a_bracketing_root_finder(p, budget):
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
def test_kl_ucb_lies_between_the_mean_and_one_and_grows_with_the_budget(mean, budget):
    q = largest_mean_within(mean, budget)
    assert (q >= mean - 1e-12).all()
    assert (q <= 1).all()
    assert (largest_mean_within(mean, budget + 0.5) >= q - 1e-12).all()


def test_the_largest_mean_of_kl_ucb_is_exact_for_means_0_and_1():
    q = largest_mean_within(np.array([0.0, 1.0]), np.array([np.log(2), 0.1]))
    np.testing.assert_allclose(q, [0.5, 1.0], atol=1e-9)


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
