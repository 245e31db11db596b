"""Agents that start from a survey, against independent formulas."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym import BanditProblem, make_agent
from cmab_gym.agents import SurveyGreedy, WarmTS
from cmab_gym.agents.survey.factor_ts import FactorTS
from cmab_gym.agents.survey.gaussian_posterior import posterior
from cmab_gym.agents.survey.min_ucb import MinUCB
from cmab_gym.agents.survey.v_ids import VIDS, best_mixture, regret_and_information
from cmab_gym.streams import TrialStreams
from cmab_gym.survey_factors import SurveyFactors

K, R = 5, 2
RNG = np.random.default_rng(1)
FACTORS = SurveyFactors(RNG.normal(0, 0.5, (K, R)), 0.3, RNG.uniform(0.5, 2, K))
MEANS, COUNTS = RNG.uniform(2, 4, K), np.array([0, 3, 7, 20, 400])
PULLS = np.array([[0, 1, 2, 30, 0], [5, 0, 0, 0, 900]])
SUMS = PULLS * RNG.uniform(1, 5, (2, K))


def history(**changes):
    """Two trials of a problem of five arms, one of which has no rating."""
    given = {"survey_means": MEANS, "survey_counts": COUNTS, "survey_factors": FACTORS, **changes}
    problem = BanditProblem(np.full((K, K, 2), 5.0), [1, 5], (1, 5), **given)
    return SimpleNamespace(pulls=PULLS, sums=SUMS, t=33, problem=problem)


def streams(trials=2):
    return TrialStreams.for_trials(0, range(trials))


def conditioned(pulls, sums, shrinkage):
    """The posterior of all arms by conditioning a normal vector on the means of the rewards."""
    overall = COUNTS @ MEANS / COUNTS.sum()
    mean = overall + (MEANS - overall) * COUNTS / (COUNTS + shrinkage)
    own = FACTORS.deviation**2 + FACTORS.sigmas**2 / (COUNTS + shrinkage)
    prior = FACTORS.loadings @ FACTORS.loadings.T + np.diag(own)
    seen = np.flatnonzero(pulls)
    noise = np.diag(FACTORS.sigmas[seen] ** 2 / pulls[seen])
    gain = prior[:, seen] @ np.linalg.inv(prior[np.ix_(seen, seen)] + noise)
    return mean + gain @ (sums / np.maximum(pulls, 1) - mean)[seen], prior - gain @ prior[seen]


def test_the_posterior_is_that_of_conditioning_the_whole_normal_vector():
    found = posterior(history(), shrinkage=7)
    at_0 = found.draw(np.zeros((2, 1, R + K)))[:, 0]
    # A draw is linear in its normal numbers: one row for each of them.
    root = found.draw(np.broadcast_to(np.eye(R + K), (2, R + K, R + K))) - at_0[:, None]
    for trial in range(2):
        mean, covariance = conditioned(PULLS[trial], SUMS[trial], 7)
        assert_allclose(at_0[trial], mean)
        assert_allclose(root[trial].T @ root[trial], covariance, atol=1e-12)


def test_factor_ts_draws_with_beta_times_the_covariance():
    plain = posterior(history(), 20)
    normals = streams().standard_normal(R + K)[:, None]
    middle = plain.draw(0 * normals)[:, 0]
    by_hand = middle + 0.3 * (plain.draw(normals)[:, 0] - middle)
    assert_allclose(FactorTS(beta=0.09).index(history(), streams()), by_hand)


def test_where_factors_say_nothing_arms_are_independent():
    alone = SurveyFactors(np.zeros((K, 1)), 0.3, np.ones(K))
    found = posterior(history(survey_factors=alone), 20).draw(np.zeros((2, 1, 1 + K)))[:, 0]
    overall = COUNTS @ MEANS / COUNTS.sum()
    mean = overall + (MEANS - overall) * COUNTS / (COUNTS + 20)
    weight = 1 / (0.09 + 1 / (COUNTS + 20))
    assert_allclose(found, (weight * mean + SUMS) / (weight + PULLS))


def surveyed(means=(2.0, 4.0), counts=(30, 10)):
    """A problem of two arms with 1 to 5 stars, and a history of it without a pull of arm 1."""
    table = np.broadcast_to([1.0, 5.0], (2, 2, 2))
    of_survey = {"survey_means": means, "survey_counts": np.array(counts)}
    made = BanditProblem(table, [1, 5], (1, 5), **of_survey)
    pulls, sums = np.array([[3, 0]]), np.array([[9.0, 0.0]])
    return SimpleNamespace(pulls=pulls, sums=sums, t=3, problem=made)


def test_survey_greedy_ranks_arms_by_the_shrunk_means_of_the_survey():
    # All 40 ratings have the mean 2.5. (30 * 2 + 10 * 2.5) / 40 and (10 * 4 + 10 * 2.5) / 20.
    rng = streams(1)
    assert_allclose(SurveyGreedy(shrinkage=10).index(surveyed(), rng), [[2.125, 3.25]])
    assert_allclose(SurveyGreedy(shrinkage=0).index(surveyed(), rng), [[2, 4]])
    unrated = surveyed(means=(2, 2), counts=(30, 0))
    assert_allclose(SurveyGreedy(shrinkage=0).index(unrated, rng), [[2, 2]])


def test_warm_ts_draws_around_the_mean_of_survey_and_rewards():
    noise = streams(1).standard_normal(2)
    policy = WarmTS(weight=5, shrinkage=10, beta=2)  # variance 2 * 4 / (5 + n + 1)
    drawn = policy.index(surveyed(), streams(1))
    # (5 * 2.125 + 9) / 8 and, without a pull, 3.25.
    expected = np.array([[2.453125, 3.25]]) + np.sqrt([8 / 9, 8 / 6]) * noise
    assert_allclose(drawn, expected)


@pytest.mark.parametrize("name", ["warm-ts", "survey-greedy", "min-ucb"])
def test_without_a_survey_the_error_names_environments_that_have_one(name):
    agent = make_agent(name)
    agent.reset(BanditProblem(np.full((2, 2, 2), 5.0), [1, 5], (1, 5)), 1, 0)
    with pytest.raises(ValueError, match=r"no survey_means: expected .* as CMAB-MovieLens-v0"):
        agent.act()


def test_the_bounds_of_min_ucb_are_those_computed_by_hand():
    # ln t = 2, so the width is 4 * 2 / sqrt(n) = 8 / sqrt(n).
    problem = BanditProblem(
        np.full((4, 4, 2), 5.0), [1, 5], (1, 5), survey_means=[2, 4, 3, 3],
        survey_counts=np.array([12, 60, 0, 0]),
    )  # fmt: skip
    pulls, sums = np.array([[4, 4, 0, 16]]), np.array([[12.0, 8.0, 0.0, 64.0]])
    given = SimpleNamespace(pulls=pulls, sums=sums, t=np.e**2, problem=problem)
    # Arm 0: min(3 + 4, (12 + 12 * 2.5) / 16 + 2). Arm 1: min(2 + 4, (8 + 60 * 4.5) / 64 + 1).
    expected = [[4.625, 5.34375, np.inf, 4 + 2]]
    assert_allclose(MinUCB(bias=0.5).index(given, streams(1)), expected)
    # The survey is ignored where its bias may be large: arm 1 has 2 + 4.
    assert_allclose(MinUCB(bias=3).index(given, streams(1)), [[6.5, 6, np.inf, 6]])
    first = SimpleNamespace(pulls=0 * pulls, sums=0 * sums, t=0, problem=problem)
    assert_allclose(MinUCB(bias=0.5).index(first, streams(1)), [[2.5, 4.5, np.inf, np.inf]])


def test_the_information_of_v_ids_is_that_of_a_loop_over_the_best_arms():
    drawn = RNG.normal([0, 0.5, 1, 0.2], 1, (3, 40, 4))
    regret, information = regret_and_information(drawn)
    for own, d, v in zip(drawn, regret, information, strict=True):
        best = own.argmax(axis=1)
        assert_allclose(d, own.max(axis=1).mean() - own.mean(axis=0))
        groups = [own[best == arm] for arm in range(4) if (best == arm).any()]
        expected = sum(
            len(group) / 40 * (group.mean(axis=0) - own.mean(axis=0)) ** 2 for group in groups
        )
        assert_allclose(v, expected)


def ratio(regret, variance, first, second, share):
    d = (1 - share) * regret[first] + share * regret[second]
    v = (1 - share) * variance[first] + share * variance[second]
    return d**2 / v


def test_no_mixture_of_two_arms_is_better_than_the_one_found():
    regret, variance = RNG.exponential(1, (2, 60, 7)) ** 2
    regret[:20] -= regret[:20].min(axis=1, keepdims=True)  # an arm without regret
    variance[0], regret[1] = variance[0, 0], regret[1, 0]
    # Arms that are all on the hull, so that the search must go the right way.
    variance[30:] = np.sort(variance[30:])
    regret[30:] = variance[30:] ** RNG.uniform(1.2, 4, (30, 1)) + RNG.uniform(0, 1, (30, 1))
    first, second, share = best_mixture(regret, variance)
    shares = np.linspace(0, 1, 101)
    for d, v, i, j, p in zip(regret, variance, first, second, share, strict=True):
        found = ratio(d, v, i, j, p)
        others = [ratio(d, v, a, b, shares).min() for a in range(7) for b in range(a)]
        assert found <= min(others) + 1e-12
        assert found >= min(others) - 0.01 * (1 + min(others))


def test_an_arm_that_is_surely_the_best_is_pulled_without_information():
    first, second, share = best_mixture(np.array([[0.0, 1, 2]]), np.zeros((1, 3)))
    assert (1 - share) * (first == 0) + share * (second == 0) == [1]
    ends = SurveyFactors(np.zeros((K, 1)), 1e-9, np.full(K, 1e-9))
    index = VIDS(draws=5).index(history(survey_factors=ends), streams())
    assert_array_equal(index.sum(axis=1), [1, 1])
    assert (
        index[np.arange(2), (SUMS / np.maximum(PULLS, 1) * (PULLS > 0)).argmax(axis=1)].min() == 1
    )


@pytest.mark.parametrize("name", ["factor-ts", "v-ids"])
def test_without_factors_the_error_names_the_remedy(name):
    agent = make_agent(name)
    agent.reset(history(survey_factors=None).problem, 2, 0)
    with pytest.raises(ValueError, match=r"no survey_factors: expected CMAB-Ratings-v0 with fac"):
        agent.act()


def test_factors_find_a_new_populations_best_arm_from_pulls_of_another():
    """Arm 0 rises as arm 1 does and arm 4 falls; rewards of arm 1 say so before arm 0 is pulled."""
    loadings = np.array([[1.0], [1.0], [0.0], [0.0], [-1.0]])
    tied = SurveyFactors(loadings, 0.05, np.ones(K))
    alone = SurveyFactors(np.zeros((K, 1)), 1.0, np.ones(K))
    means, counts = [2.9, 2.5, 3.0, 3.0, 3.1], np.full(K, 1000)
    pulls, sums = np.array([[0, 30, 0, 0, 0]]), np.array([[0, 105.0, 0, 0, 0]])
    best = []
    for factors in (tied, alone):
        given = history(survey_means=means, survey_counts=counts, survey_factors=factors)
        given.pulls, given.sums = pulls, sums
        best.append(posterior(given, 20).draw(np.zeros((1, 1, 1 + K)))[0, 0].argmax())
    assert best == [0, 1]
