"""Agents of the survey's classes, by hand and by independent formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from cmab_gym import BanditProblem, make_agent
from cmab_gym.agents.survey.class_ts import ClassTS
from cmab_gym.agents.survey.class_ucb import ClassUCB
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams
from cmab_gym.survey_classes import SurveyClasses

CLASSES = SurveyClasses([0.5, 0.3, 0.2], [[4, 2], [2, 3], [1, 5]], [1, 2])
PULLS = [(0, 4.0), (0, 5.0), (1, 2.0)]


def problem(**changes):
    table = np.broadcast_to([1.0, 2, 3, 4, 5], (2, 2, 5))
    given = {"survey_means": [3, 3], "survey_counts": np.array([9, 9]), "survey_classes": CLASSES}
    return BanditProblem(table, [1, 2, 3, 4, 5], (1, 5), horizon=100, **{**given, **changes})


def history(pulls=PULLS, policy=None, trials=1):
    made = History(problem(), trials)
    for arm, reward in pulls:
        made.update(np.full(trials, arm), np.full(trials, reward))
        if policy is not None:
            policy.learn(made, None)
    return made


@pytest.mark.parametrize("deviation", [0, 0.5])
def test_the_posterior_of_the_class_is_that_of_normal_rewards(deviation):
    """Rewards of an arm share the deviation of its mean, so they are jointly normal."""
    likelihood = np.log(CLASSES.weights)
    for arm, rewards in ((0, [4, 5]), (1, [2])):
        n, sigma = len(rewards), CLASSES.sigmas[arm]
        covariance = sigma**2 * np.eye(n) + deviation**2
        for c, mean in enumerate(CLASSES.means[:, arm]):
            likelihood[c] += multivariate_normal(np.full(n, mean), covariance).logpdf(rewards)
    found = ClassTS(deviation=deviation).log_posterior(history())[0]
    assert_allclose(found - found[0], likelihood - likelihood[0])


def test_means_are_drawn_given_a_class_drawn_from_the_posterior():
    trials = 4000
    policy = ClassTS(deviation=0.5, beta=0)
    index = policy.index(history(trials=trials), TrialStreams.for_trials(0, range(trials)))
    log = policy.log_posterior(history())[0]
    share = np.exp(log) / np.exp(log).sum()
    # The posterior mean of arm 0 in class c: m + 2 d^2 (4.5 - m) / (s^2 + 2 d^2).
    expected = CLASSES.means[:, 0] + 2 * 0.25 * (4.5 - CLASSES.means[:, 0]) / 1.5
    for value, probability in zip(expected, share, strict=True):
        drawn = np.isclose(index[:, 0], value).mean()
        assert abs(drawn - probability) < 5 * np.sqrt(0.25 / trials)  # false alarm below 1e-6
    spread = ClassTS(deviation=0.5, beta=2).index(
        history(trials=trials), TrialStreams.for_trials(1, range(trials))
    )
    centre = CLASSES.means[:, 1] + 0.25 * (2 - CLASSES.means[:, 1]) / 4.25
    variance = 2 * 0.25 * 4 / 4.25 + share @ centre**2 - (share @ centre) ** 2
    assert abs(spread[:, 1].var() / variance - 1) < 0.12  # 5 standard errors


def test_without_a_deviation_it_draws_the_means_of_a_class():
    index = ClassTS(deviation=0).index(history(trials=20), TrialStreams.for_trials(0, range(20)))
    assert {tuple(row) for row in index.tolist()} <= {tuple(row) for row in CLASSES.means.tolist()}


def test_class_ucb_drops_a_class_whose_promises_fail():
    # Class 2 promises most, 5 for arm 1. After N rewards of 1 its excess is 4 N, which is above
    # B / 2 sqrt(6 N ln 100) = 2 sqrt(27.6 N) for N = 7 (28 > 27.8) and not for N = 6 (24 < 25.7).
    policy = ClassUCB()
    start = history([], policy)
    assert policy.index(start, None).tolist() == [[4, 5]]
    assert policy.index(history([(1, 1.0)] * 6, policy), None).tolist() == [[4, 5]]
    assert policy.index(history([(1, 1.0)] * 7, policy), None).tolist() == [[4, 3]]
    # With a bias of 1, it may promise 1 too much in each round.
    tolerant = ClassUCB(bias=1)
    assert tolerant.index(history([(1, 1.0)] * 7, tolerant), None).tolist() == [[4, 5]]


def test_class_ucb_counts_a_round_for_the_class_that_promised_most():
    policy = ClassUCB(B=1000)
    memory = history([(0, 5.0), (1, 2.0), (0, 1.0)], policy).memory
    assert memory["rounds"].tolist() == [[2, 0, 1]]
    assert memory["excess"].tolist() == [[4 - 5 + 4 - 1, 0, 5 - 2]]


def test_if_all_classes_are_dropped_all_are_allowed_again():
    policy = ClassUCB(B=0.01)
    assert policy.index(history([(0, 1.0), (1, 1.0), (1, 1.0)] * 3, policy), None).max() == 5


@pytest.mark.parametrize("name", ["class-ts", "class-ucb"])
def test_without_classes_the_error_names_the_remedy(name):
    agent = make_agent(name)
    agent.reset(problem(survey_classes=None), 1, 0)
    with pytest.raises(ValueError, match=r"no survey_classes: expected CMAB-Ratings-v0 with class"):
        agent.act()
