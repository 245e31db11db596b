"""Every index against an independent formula, from lists of rewards."""

from inspect import signature
from itertools import zip_longest

import numpy as np
import pytest
from bandits import for_every_agent
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import brentq, minimize

from cmab_gym import BanditProblem, make_agent
from cmab_gym.agents import registry
from cmab_gym.agents.mathematics.bernoulli import bernoulli_kl
from cmab_gym.agents.mathematics.finite_support import largest_mean
from cmab_gym.agents.remembered import rounded_up
from cmab_gym.envs.latent import latent_model
from cmab_gym.evaluation import evaluate
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams

STARS = np.array([1.0, 2.0, 3.0, 5.0])
HORIZON = 100
# The rewards of 3 arms, on a scale from 1 to 5, in the order of their pulls.
PULLED = ([1, 2, 5, 2, 1, 1, 1], [2, 5, 5, 2, 3], [3, 2, 3])
T = sum(map(len, PULLED))


def played(rewards=PULLED, trials=1, bounds=(1, 5), support=STARS, policy=None):
    """A history in which every arm gave these rewards, one arm after the other in turn."""
    n_arms = len(rewards)
    table = np.full((n_arms, n_arms, support.size), float(bounds[1]))
    problem = BanditProblem(table, support, bounds, horizon=HORIZON)
    history, rng = History(problem, trials), TrialStreams.for_trials(0, range(trials))
    history.variances, history.counts  # noqa: B018 (they are kept from the first time)
    for row in zip_longest(*rewards):
        for arm, reward in enumerate(row):
            if reward is not None:
                history.update(np.full(trials, arm), np.full(trials, float(reward)))
                if hasattr(policy, "learn"):
                    policy.learn(history, rng)
    return history, rng


def indices(name, calls=1, **arguments):
    policy = make_agent(name).policy
    history, rng = played(policy=policy, **arguments)
    return np.concatenate([policy.index(history, rng) for _ in range(calls)])


def draws(name, **arguments):
    """4,000 indices of a policy that draws them."""
    return indices(name, calls=200, trials=20, **arguments)


def plus(x):
    return np.log(max(x, 1))


def bernoulli_bound(mean, budget):
    return brentq(lambda q: stats.entropy([mean, 1 - mean], [q, 1 - q]) - budget, mean, 1 - 1e-12)


def least_divergence(shares, mean):
    """K_inf by minimising over the other distribution, with SLSQP."""
    values, seen = (STARS - 1) / 4, shares > 0
    found = minimize(
        lambda q: (shares[seen] * np.log(shares[seen] / q[seen])).sum(),
        np.full(4, 0.25),
        bounds=[(1e-9, 1)] * 4,
        constraints=(
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "ineq", "fun": lambda q: q @ values - mean},
        ),
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return max(found.fun, 0)


def shares_of(r):
    return np.bincount(np.searchsorted((STARS - 1) / 4, r), minlength=4) / len(r)


def largest_mean_by_search(r, budget):
    shares = shares_of(r)
    return brentq(lambda m: least_divergence(shares, m) - budget, r.mean(), 1 - 1e-6, xtol=1e-7)


BEST = max((np.mean(r) - 1) / 4 for r in PULLED)
# The index for rewards r scaled to [0, 1], with n = len(r).
UNIT = {
    "ucb-tuned": lambda r, n: (
        r.mean() + np.sqrt(np.log(T) / n * min(1 / 4, r.var() + np.sqrt(2 * np.log(T) / n)))
    ),
    "ucb-v(zeta=1.5, c=0.5)": lambda r, n: (
        r.mean() + np.sqrt(2 * r.var() * 1.5 * np.log(T) / n) + 3 * 0.5 * 1.5 * np.log(T) / n
    ),
    "moss": lambda r, n: r.mean() + np.sqrt(plus(HORIZON / (3 * n)) / n),
    "moss(horizon=20)": lambda r, n: r.mean() + np.sqrt(plus(20 / (3 * n)) / n),
    "anytime-moss(alpha=1)": lambda r, n: r.mean() + np.sqrt(plus(T / (3 * n)) / n),
    "kl-ucb": lambda r, n: bernoulli_bound(r.mean(), np.log(T) / n),
    "kl-ucb++": lambda r, n: bernoulli_bound(
        r.mean(), plus(HORIZON / (3 * n) * (plus(HORIZON / (3 * n)) ** 2 + 1)) / n
    ),
    "empirical-kl-ucb": lambda r, n: largest_mean_by_search(r, np.log(rounded_up(T)) / n),
    "bayes-ucb": lambda r, n: stats.beta(1 + r.sum(), 1 + n - r.sum()).isf(1 / rounded_up(T)),
    "bayes-ucb(c=2)": lambda r, n: stats.beta(1 + r.sum(), 1 + n - r.sum()).isf(
        1 / rounded_up(T) / np.log(HORIZON) ** 2
    ),
    "greedy": lambda r, n: r.mean(),
    "epsilon-greedy(epsilon=0)": lambda r, n: r.mean(),
}
# The same, not scaled back.
PLAIN = {
    "imed": lambda r, n: -n * stats.entropy([r.mean(), 1 - r.mean()], [BEST, 1 - BEST]) - np.log(n),
    "empirical-imed": lambda r, n: -n * least_divergence(shares_of(r), BEST) - np.log(n),
}


# SLSQP of SciPy 1.15 says so where it starts from a bound.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("name", [*UNIT, *PLAIN])
def test_the_index_is_the_independent_formula(name):
    scaled = [(np.array(r) - 1) / 4 for r in PULLED]
    expected = [{**UNIT, **PLAIN}[name](r, len(r)) for r in scaled]
    expected = np.array(expected) * 4 + 1 if name in UNIT else np.array(expected)
    assert_allclose(indices(name), [expected], rtol=2e-5)


def test_imed_of_the_best_arm_is_minus_the_logarithm_of_its_pulls():
    for name in PLAIN:
        assert indices(name)[0, 1] == -np.log(5)


def test_on_coins_the_indices_of_finite_supports_are_those_of_bernoulli_distributions():
    coins = {
        "rewards": ([0, 1, 0, 0], [1, 1, 0], [1], [0]),
        "bounds": (0, 1),
        "support": np.array([0.0, 1.0]),
    }
    mixed = {**coins, "rewards": coins["rewards"][:2]}
    assert_allclose(indices("empirical-imed", **mixed), indices("imed", **mixed), atol=1e-9)
    history, _ = played(**coins)
    budget = np.full(4, np.log(rounded_up(9)) / history.pulls[0])
    shares = history.counts[0] / history.pulls[0][:, None]
    of_coins = largest_mean(shares, np.array([0.0, 1.0]), budget)
    assert_allclose(indices("empirical-kl-ucb", **coins)[0], of_coins)
    assert_allclose(bernoulli_kl(history.means[0, :2], of_coins[:2]), budget[:2], atol=1e-9)
    assert of_coins[2] == 1
    assert of_coins[3] == pytest.approx(1 - np.exp(-budget[3]))


@pytest.mark.parametrize("name", ["empirical-kl-ucb", "bayes-ucb", "kl-ucb++", "empirical-imed"])
def test_a_remembered_index_is_the_one_computed_from_scratch(name):
    policy = make_agent(name).policy
    history, rng = played([[5], [2], [3]], trials=4)
    draws = np.random.default_rng(0)
    for _ in range(60):
        arms, rewards = draws.integers(3, size=4), draws.choice(STARS, 4)
        history.update(arms, rewards)
        found = policy.index(history, rng)
        history.memory = {}
        assert_allclose(found, policy.index(history, rng), rtol=1e-9)
        found[...] = np.nan  # the caller's own array


# Each compares 4,000 draws with a distribution function, at a false-alarm rate of 1 in 10,000.
def fits(draws, distribution):
    return stats.kstest(draws, distribution).pvalue > 1e-4


def test_beta_ts_draws_from_the_posterior_of_coins():
    coins = {"bounds": (0, 1), "support": np.array([0.0, 0.25, 1.0])}
    drawn = draws("beta-ts", rewards=([0, 1, 0, 0], [1]), **coins)
    assert fits(drawn[:, 0], stats.beta(2, 4).cdf)
    assert fits(drawn[:, 1], stats.beta(2, 1).cdf)
    history, _ = played([[0.25]], trials=400, policy=make_agent("beta-ts").policy, **coins)
    successes = history.memory["successes"].sum()
    assert abs(successes - 100) < 4 * np.sqrt(400 * 0.25 * 0.75)


def test_beta_ts_keeps_the_coin_of_a_reward():
    policy = make_agent("beta-ts").policy
    history, rng = played([[3, 3, 3], [2]], trials=40, policy=policy)
    before = history.memory["successes"].copy()
    policy.index(history, rng)
    np.testing.assert_array_equal(history.memory["successes"], before)
    assert set(before[:, 0]) == {0, 1, 2, 3}


def test_dirichlet_ts_and_npts_draw_weighted_means():
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet([1 + 4, 1 + 2, 1, 1 + 1], 20_000) @ STARS
    weighted = rng.dirichlet(np.ones(8), 20_000) @ [*PULLED[0], 5]
    for name, expected in (("dirichlet-ts", posterior), ("npts", weighted)):
        drawn = draws(name)[:, 0]
        assert stats.ks_2samp(drawn, expected).pvalue > 1e-4
    # The bound is one more reward if no arm can give it.
    above = rng.dirichlet(np.ones(4), 20_000) @ [*PULLED[2], 7]
    drawn = draws("npts", bounds=(1, 7))[:, 2]
    assert stats.ks_2samp(drawn, above).pvalue > 1e-4


@pytest.mark.parametrize(("alpha", "first"), [(-1, 5), (-0.5, 4), (0, 3), (0.5, 2), (-0.3, 4)])
def test_gaussian_ts_draws_from_students_distribution(alpha, first):
    drawn = draws(f"gaussian-ts(alpha={alpha})")
    pulls = np.array([len(r) for r in PULLED])
    np.testing.assert_array_equal(np.isinf(drawn), np.tile(pulls < first, (4000, 1)))
    freedom, rewards = 7 + 2 * alpha - 1, np.array(PULLED[0])
    scale = np.sqrt(rewards.var() / freedom)
    assert fits(drawn[:, 0], stats.t(freedom, rewards.mean(), scale).cdf)


def test_epsilon_greedy_explores_with_its_probability():
    flat = (draws("epsilon-greedy(epsilon=0.3)") == 0).all(axis=1).sum()
    assert abs(flat - 1200) < 4 * np.sqrt(4000 * 0.3 * 0.7)  # a false-alarm rate of 1 in 10,000
    probability = 0.5 * 3 / T
    flat = (draws("epsilon-greedy(decay=0.5)") == 0).all(axis=1).sum()
    assert abs(flat - 4000 * probability) < 4 * np.sqrt(4000 * probability)


def test_explore_then_commit_keeps_the_arm_it_chose():
    assert indices("explore-then-commit(m=3)").argmax() == 0  # it has most pulls above 3
    assert np.isposinf(indices("explore-then-commit(m=4)")).tolist() == [[False, False, True]]
    # The formula gives 51, which T / (2 K) limits to 16.
    assert np.isposinf(indices("explore-then-commit")).all()
    agent = make_agent("explore-then-commit(m=2)")
    agent.reset(played()[0].problem, 5, 0)
    for t in range(12):
        arms = agent.act()
        agent.update(arms, np.where(arms == 1, 5.0 if t < 6 else 1.0, 2.0))
    assert agent.history.pulls.tolist() == [[2, 8, 2]] * 5


def test_successive_elimination_pulls_the_remaining_arms_in_turn():
    assert indices("successive-elimination").tolist() == [[-7, -5, -3]]
    # Of the means 11/7, 17/5 and 8/3, with a radius of sqrt(2 ln 2 / n) / 4 times 4.
    left = np.array([11 / 7, 17 / 5, 8 / 3]) + np.sqrt(2 * np.log(2) / np.array([7, 5, 3]))
    surely = 17 / 5 - np.sqrt(2 * np.log(2) / 5)
    found = indices("successive-elimination(horizon=2, B=1)")
    np.testing.assert_array_equal(np.isneginf(found[0]), left < surely)
    assert np.isneginf(found).sum() == 1


@pytest.mark.parametrize("name", ["subsampled-ucb", "subsampled-greedy"])
def test_a_sample_holds_the_square_root_of_the_horizon(name):
    table = np.ones((40, 40, 2))
    agent = make_agent(name)
    agent.reset(BanditProblem(table, [0, 1], (0, 1), horizon=26), 50, 0)
    for _ in range(26):
        arms = agent.act()
        agent.update(arms, (arms % 2).astype(float))
    tried = agent.history.pulls > 0
    assert (tried.sum(axis=1) == 6).all()
    assert tried.any(axis=0).sum() > 35  # other arms in other trials
    with np.errstate(divide="ignore", invalid="ignore"):
        own, of_all = (
            make_agent(each).policy.index(agent.history, agent.rng)
            for each in (name, name.removeprefix("subsampled-"))
        )
    np.testing.assert_array_equal(own[tried], of_all[tried])
    assert np.isneginf(own[~tried]).all()


def test_known_orderings_show_on_independent_arms(monkeypatch):
    """Equal agents differ by 4 standard errors with a probability of 1 in 30,000."""
    monkeypatch.setenv("CMAB_GYM_COMPILED", "0")  # loading the compiled loop takes longer
    means = [0.9, 0.6, 0.6, 0.6, 0.6]
    agents, rounds = ["ucb", "kl-ucb", "imed", "greedy"], [30, 300]
    coins = {"rewards": "bernoulli", "means": means}
    results = evaluate(
        "CMAB-Independent-v0", agents, 300, 100, env_kwargs=coins, checkpoints=rounds
    )
    more = {name: results.regret("ucb") - results.regret(name) for name in agents[1:]}
    z = {name: each.mean(axis=0) / each.std(axis=0) * 10 for name, each in more.items()}
    assert z["kl-ucb"][1] > 4  # at the end
    assert z["imed"][1] > 4
    assert z["greedy"][0] > 4  # after 30 rounds


POLICIES = [
    name
    for names in registry.agents_by_idea().values()
    for name, cls in names.items()
    if registry.is_policy(cls)
]


# Of four arms for each of three values of a hidden source.
REWARDS_OF_SOURCE = np.array([[1, 2, 5], [5, 1, 2], [2, 4, 4], [4, 5, 1]], dtype=np.float64)


SAYS_NOTHING = BanditProblem(np.full((4, 4, 4), 5.0), STARS, (1, 5))
FOR_ALL = for_every_agent(SAYS_NOTHING, [2, 3, 3, 4], [REWARDS_OF_SOURCE, REWARDS_OF_SOURCE])


def arms_of(name, trials=range(3)):
    """The arms that an agent pulls in trials of 60 rounds, int64 (60, trials)."""
    agent, rewards = make_agent(name), np.random.default_rng(0).choice(STARS, (60, 4))
    agent.reset(FOR_ALL, len(trials), TrialStreams.for_trials(0, trials))
    chosen = []
    for row in rewards:
        chosen.append(agent.act())
        agent.update(chosen[-1], row[chosen[-1]])
    return np.array(chosen)


@pytest.mark.parametrize("name", POLICIES)
def test_on_a_table_that_says_nothing_prefixes_change_no_arm_and_trials_are_independent(name):
    plain = arms_of(name)
    for prefix in ("c-", "tc-"):
        np.testing.assert_array_equal(arms_of(prefix + name), plain)
    np.testing.assert_array_equal(arms_of(name, trials=range(1, 2)), plain[:, 1:2])


NEED_THE_HORIZON = [
    name for name in POLICIES if "horizon" in signature(registry.agent_class(name)).parameters
]


@pytest.mark.parametrize("name", NEED_THE_HORIZON)
def test_a_policy_that_needs_the_horizon_says_so(name):
    agent = make_agent(name)
    problem = latent_model("two-arm-b").problem
    agent.reset(problem, 1, 0)
    with pytest.raises(ValueError, match=r"horizon is unknown: .*evaluate\(\) tells"):  # noqa: PT012
        agent.update(np.zeros(1, int), np.zeros(1))  # here too, if the policy learns from it
        agent.act()
    for wrong in (0, 2.5):
        with pytest.raises(ValueError, match=f"horizon={wrong}: expected an integer of at least 1"):
            make_agent(f"{name}(horizon={wrong})")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ucb-v(zeta=0)", "zeta=0: expected a number above 0"),
        ("ucb-v(c=-1)", "c=-1: expected 0 or more"),
        ("anytime-moss(alpha=0)", "alpha=0: expected a number above 0"),
        ("bayes-ucb(c=-1)", "c=-1: expected 0 or more"),
        ("gaussian-ts(alpha=1)", "alpha=1: expected a number from -100 to 0.5"),
        ("epsilon-greedy(epsilon=2)", "epsilon=2: expected a number from 0 to 1"),
        ("epsilon-greedy(decay=0)", "decay=0: expected a number above 0"),
        ("explore-then-commit(m=0)", "m=0: expected an integer of at least 1"),
        ("subsampled-ucb(arms=0)", "arms=0: expected an integer of at least 1"),
        ("subsampled-greedy(arms=1.5)", "arms=1.5: expected an integer of at least 1"),
        ("min-ucb(bias=-1)", "bias=-1: expected a number from 0"),
        ("class-ts(deviation=-1)", "deviation=-1: expected a number from 0"),
        ("class-ts(beta=-1)", "beta=-1: expected a number from 0"),
        ("class-ucb(bias=-1)", "bias=-1: expected a number from 0"),
        ("factor-ts(beta=0)", "beta=0: expected a number above 0"),
        ("factor-ts(shrinkage=0)", "shrinkage=0: expected a number above 0"),
        ("v-ids(draws=1)", "draws=1: expected an integer of at least 2"),
    ],
)
def test_a_wrong_parameter_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        make_agent(name)
