"""Stopping rules and chosen arms, computed by hand."""

import math

import numpy as np
import pytest
from reference import bernoulli_kl

from cmab_gym import BanditProblem, identify
from cmab_gym.agents.identification import (
    CLUCB,
    IDENTIFICATION_AGENTS,
    LUCB,
    LilUCB,
    TopTwoTS,
    TrackAndStop,
    make_identification_agent,
)
from cmab_gym.agents.identification.confidence import radius
from cmab_gym.agents.identification.track_and_stop import best_proportions


def coins(n_arms, informative=()):
    """Arms with rewards 0 and 1; `informative` holds (l, k, entries of s[l, k])."""
    table = np.ones((n_arms, n_arms, 2))
    table[np.arange(n_arms), np.arange(n_arms)] = [0, 1]
    for l, k, entries in informative:  # noqa: E741
        table[l, k] = entries
    return BanditProblem(table, [0, 1], (0, 1))


def play(agent, problem, rounds):
    """Pull the arms in turn; arm 0 always gives 1, the others 0. Return when it is first done."""
    agent.reset(problem, 1, 0)
    for t in range(rounds):
        arm = t % problem.n_arms
        agent.update(np.array([arm]), np.array([float(arm == 0)]))
        if agent.done()[0]:
            return t + 1
    return None


def test_no_average_ever_leaves_the_radius():
    # Probability at most 0.1 each: more than 140 of 1,000 in 1 of 60,000 seeds at most.
    coins = np.random.default_rng(0).random((1000, 400)) < 0.3
    pulls = np.arange(1, 401)
    distance = np.abs(coins.cumsum(axis=1) / pulls - 0.3)
    assert (distance > radius(pulls, 0.1)).any(axis=1).sum() <= 140


def test_lucb_stops_when_the_intervals_part():
    def distance(n):
        return math.sqrt((1 + 1 / n) * (math.log(3 / 0.05) + math.log(n + 1) / 2) / (2 * n))

    # Averages 1, 0, 0: the intervals part when all three distances are at most 1/2.
    assert distance(12) < 0.5 < distance(11)
    agent = LUCB(0.05)
    assert play(agent, coins(3), 100) == 36
    assert agent.best_arm().tolist() == [0]
    np.testing.assert_allclose(agent.lower[0], [1 - distance(12), *2 * [-distance(12)]])
    np.testing.assert_allclose(agent.upper[0], [1 + distance(12), *2 * [distance(12)]])


def test_lucb_pulls_the_leader_and_then_its_nearest_rival():
    agent = LUCB()
    agent.reset(coins(3), 1, 0)
    # Averages 0.5, 1, 0 after 2, 1, 1 pulls: arm 1 leads, and of the others arm 0 has 0.5 plus the
    # distance of 2 pulls, 1.9, and arm 2 the distance of one pull, 2.2.
    for arm, reward in ((0, 1.0), (1, 1.0), (2, 0.0)):
        agent.update(np.array([arm]), np.array([reward]))
    assert agent.act().tolist() in ([0], [1])  # a tie
    agent.update(np.array([0]), np.array([0.0]))
    agent.act()  # the rival of before
    agent.update(np.array([2]), np.array([0.0]))
    assert agent.act().tolist() == [1]
    agent.update(np.array([1]), np.array([1.0]))
    assert agent.act().tolist() == [0]  # 0.5 + distance(2) against 0 + distance(2)


def test_each_arm_is_pulled_once_first_in_random_order():
    for name in IDENTIFICATION_AGENTS:
        agent = make_identification_agent(name, 0.05)
        agent.reset(coins(4), 30, 0)
        for _ in range(4):
            assert not agent.done().any()
            agent.update(agent.act(), np.ones(30))
        assert (agent.history.pulls == 1).all(), name
        assert len(set(agent.history.last_arm)) == 4


def test_c_lucb_bounds_an_arm_by_the_pseudo_rewards_of_another():
    # Arm 0 gives 1: the mean of arm 1 is at most 0.4 there, and that of arm 2 always at most 0.3.
    agent = CLUCB(0.05)
    problem = coins(3, [(1, 0, (0.7, 0.4)), (2, 0, (0.3, 0.3)), (2, 1, (0.9, 0.8))])
    agent.reset(problem, 1, 0)
    for _ in range(9):
        agent.update(np.array([0]), np.array([1.0]))
    # Arm 2 has the most pairs, two: 3 + 2 averages may be wrong.
    distance = radius(np.array([9]), 0.05 / 5)[0]
    np.testing.assert_allclose(agent.upper[0], [1 + distance, 0.4 + 0.3 * distance, 0.3])


def test_c_lucb_stops_without_another_pull_of_arms_that_are_ruled_out():
    problem = coins(3, [(1, 0, (0.7, 0.4)), (2, 0, (0.3, 0.3))])
    stops = {}
    for agent in (LUCB(0.05), CLUCB(0.05)):
        agent.reset(problem, 1, 0)
        for arm in (0, 1, 2, *[0] * 60):
            agent.update(np.array([arm]), np.array([float(arm == 0)]))
        stops[type(agent)] = agent.done().tolist()
    assert stops == {LUCB: [False], CLUCB: [True]}


def test_c_lucb_counts_no_pair_that_says_nothing():
    agent = CLUCB(0.05)
    assert play(agent, coins(3), 100) == 36  # as LUCB


def test_top_two_ts_stops_when_the_evidence_suffices():
    # With n pulls each, a = n^2 / (n + 1), sigma = 1/2: a >= ln(1 / 0.05) + ln(n + 1).
    assert math.log(20 * 7) < 36 / 7
    assert math.log(20 * 6) > 25 / 6
    assert play(TopTwoTS(0.05), coins(2), 100) == 12


@pytest.mark.parametrize(("share", "arm"), [(1, 0), (0, 1)])
def test_top_two_ts_pulls_the_leader_or_the_arm_that_could_most_easily_be_better(share, arm):
    agent = TopTwoTS(0.05, share)
    agent.reset(coins(3), 1, 0)
    for _ in range(400):
        for pulled, reward in ((0, 1.0), (1, 0.0), (2, 0.0)):
            agent.update(np.array([pulled]), np.array([reward]))
    for _ in range(100):  # arm 2 has more pulls, so that arm 1 is less certain
        agent.update(np.array([2]), np.array([0.0]))
    assert agent.act().tolist() == [arm]


def test_lil_ucb_stops_when_one_arm_has_most_pulls():
    agent = LilUCB()
    agent.reset(coins(2), 1, 0)
    for t, arm in enumerate((1, *[0] * 7)):
        assert not agent.done()[0]
        # 1.5 sqrt(0.5 ln(100) / n): 2.28 for one pull; 1 + 1.02 for five of arm 0, with ln(ln n).
        agent.update(np.array([arm]), np.array([float(arm == 0)]))
        if t in (1, 7):
            assert agent.act().tolist() == [0 if t == 1 else 1]
    assert agent.done()[0]  # 7 >= 1 + (1 + 10 / 2) 1
    assert agent.best_arm().tolist() == [0]


@pytest.mark.parametrize(("p", "q"), [(0.6, 0.4), (0.9, 0.3), (0.5, 0.05)])
def test_two_arms_are_pulled_until_both_differ_equally_from_their_joint_mean(p, q):
    # kl(p, m) = kl(q, m) for the logit of m that is the slope of minus the entropy from q to p.
    entropy = [-x * math.log(x) - (1 - x) * math.log(1 - x) for x in (p, q)]
    m = 1 / (1 + math.exp((entropy[0] - entropy[1]) / (p - q)))
    assert bernoulli_kl(p, m) == pytest.approx(bernoulli_kl(q, m))
    share = (m - q) / (p - q)
    np.testing.assert_allclose(
        best_proportions(np.array([[q, p]])), [[1 - share, share]], atol=1e-6
    )


def test_the_proportions_give_the_most_information():
    means = np.array([0.2, 0.5, 0.4, 0.3])

    def information(weights):
        found = []
        for arm in (0, 2, 3):
            own, other = weights[1], weights[arm]
            joint = (own * means[1] + other * means[arm]) / (own + other)
            gained = own * bernoulli_kl(means[1], joint) + other * bernoulli_kl(means[arm], joint)
            found.append(gained)
        return min(found)

    weights = best_proportions(means[None])[0]
    assert weights.sum() == pytest.approx(1)
    best = information(weights)
    rng = np.random.default_rng(0)
    for other in (weights + rng.normal(0, 0.01, (300, 4))).clip(1e-3):
        assert information(other / other.sum()) <= best * (1 + 1e-6)


def test_proportions_are_defined_for_equal_and_extreme_means():
    found = best_proportions(np.array([[0.5, 0.5, 0.5], [1, 0, 0], [0, 0, 0], [1, 1, 0]]))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found > 0).all()


def test_track_and_stop_stops_when_the_evidence_suffices():
    # a pulls of arm 0, all 1, and b of arm 1, all 0. The mean likelihood of n equal rewards under
    # Beta(1/2, 1/2) is Gamma(n + 1/2) / (Gamma(1/2) n!), and their largest one is 1.
    def c(n):
        return math.lgamma(n + 1) - math.lgamma(n + 0.5) + math.lgamma(0.5)

    def suffices(a, b):
        evidence = -a * math.log(a / (a + b)) - b * math.log(b / (a + b))
        return evidence >= math.log(1 / 0.05) + c(a) + c(b)

    first = next(t for t in range(2, 100) if suffices((t + 1) // 2, t // 2))
    assert play(TrackAndStop(0.05), coins(2), 100) == first


def test_track_and_stop_pulls_the_arm_that_lags_or_was_starved():
    agent = TrackAndStop()
    agent.reset(coins(2), 1, 0)
    for arm, reward, times in ((0, 1.0, 3), (1, 0.0, 1), (0, 1.0, 1)):
        for _ in range(times):
            agent.update(np.array([arm]), np.array([reward]))
    assert agent.act().tolist() == [1]  # 4 and 1 pulls, proportions 1/2
    for _ in range(95):
        agent.update(np.array([1]), np.array([0.0]))
    assert agent.act().tolist() == [0]  # 4 pulls of 100 are fewer than 10 - 1


def test_track_and_stop_errs_no_more_often_than_accepted():
    # At most 0.2 each: more than 59 of 200 wrong in 1 of 1,000 seeds at most.
    pmf = [[0.18, 0.12], [0.42, 0.28]]  # means 0.7 and 0.4
    found = identify("CMAB-Tabular-v0", "track-and-stop", 0.2, 200, env_kwargs={"pmf": pmf})
    assert found.undecided == 0
    assert found.wrong.sum() <= 59


def test_track_and_stop_needs_bounds():
    table = np.ones((2, 2, 2))
    table[[0, 1], [0, 1]] = [0, 1]
    problem = BanditProblem(table, [0, 1], (0, 1), reward_sigma=0.1)
    with pytest.raises(ValueError, match=r"reward_sigma=0.1: expected .* use top-two-ts"):
        TrackAndStop().reset(problem, 1, 0)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("lucp", "unknown identification agent 'lucp': did you mean 'lucb'"),
        ("lucb(beta=1)", "LUCB: .*beta"),
        ("lucb(delta=0.2)", "LUCB: .*delta"),
        ("top-two-ts(share=2)", "share=2: expected a number from 0 to 1"),
        (dict, "dict has no method reset: expected one of lucb, c-lucb"),
        (LUCB(), r"LUCB\(delta=0.05\) is not a class"),
    ],
)
def test_a_wrong_agent_is_refused(agent, message):
    with pytest.raises(ValueError, match=message):
        make_identification_agent(agent, 0.05)


@pytest.mark.parametrize("delta", [0, 1, -0.1, "0.1", math.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(ValueError, match="delta="):
        make_identification_agent("lucb", delta)
