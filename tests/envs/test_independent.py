"""Arms that say nothing about each other."""

import gymnasium as gym
import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from cmab_gym import evaluate
from cmab_gym.envs.independent import REWARDS, independent_model
from cmab_gym.models.independent import IndependentModel
from cmab_gym.models.reward_laws import FiniteLaw
from cmab_gym.problem import scale_of
from cmab_gym.rows import LazyRows
from cmab_gym.theory import lai_robbins_bound


@pytest.mark.parametrize("rewards", REWARDS)
def test_a_correlated_agent_chooses_exactly_as_the_agent_itself(rewards):
    names = ["ucb", "ts", "kl-ucb"]
    both = [*names, *(f"c-{name}" for name in names)]
    kwargs = {"rewards": rewards, "n_arms": 5, "bins": 7}
    results = evaluate("CMAB-Independent-v0", both, 300, 3, env_kwargs=kwargs)
    for name in names:
        assert_array_equal(results.regret(name), results.regret(f"c-{name}"))


@pytest.mark.parametrize("rewards", REWARDS)
def test_the_seed_of_the_problem_alone_decides_the_bandit(rewards):
    def means(**kwargs):
        return gym.make("CMAB-Independent-v0", rewards=rewards, **kwargs).unwrapped.model.means

    assert means().size == 10
    assert_array_equal(means(), means(problem_seed=0))
    assert (means(problem_seed=1) != means()).all()
    one, other = (independent_model(rewards, problem_seed=seed).problem for seed in (0, 1))
    assert one.reward_bounds == other.reward_bounds  # so they tell nothing about the means
    assert_array_equal(one.pseudo_rewards, other.pseudo_rewards)


def test_drawn_means_have_their_distribution():
    # Kolmogorov-Smirnov tests of 2,000 means: false alarm 0.001 each, for another seed.
    normal = independent_model(n_arms=2000, bins=1).means
    assert stats.kstest(normal, "norm").pvalue > 0.001
    assert (
        stats.kstest(independent_model("beta", n_arms=2000, bins=1).means, "uniform").pvalue > 0.001
    )
    assert stats.kstest(independent_model("bernoulli", n_arms=2000).means, "uniform").pvalue > 0.001
    # The share of one of two rewards is uniform.
    pairs = independent_model("finite", support=[0, 1], n_arms=2000).means
    assert stats.kstest(pairs, "uniform").pvalue > 0.001


# The distribution of each arm by SciPy; each test is false with probability 0.001 for another seed.
@pytest.mark.parametrize(
    ("model", "laws"),
    [
        (independent_model(means=[-1, 2], sigma=3), [stats.norm(-1, 3), stats.norm(2, 3)]),
        (
            independent_model("student", means=[0, 1], sigma=2, freedom=4),
            [stats.t(4, 0, np.sqrt(2)), stats.t(4, 1, np.sqrt(2))],
        ),
        (
            independent_model("beta", means=[0.25, 0.5], concentration=4),
            [stats.beta(1, 3), stats.beta(2, 2)],
        ),
    ],
)
def test_continuous_rewards_have_their_distribution(model, laws):
    drawn, edges = model.draw(default_rng(0), 5000), model.problem.reward_edges
    for arm, law in enumerate(laws):
        assert stats.kstest(drawn[:, arm], law.cdf).pvalue > 0.001
        alone = model.draw_arm(arm, [default_rng(1), default_rng(2)], 3000)
        assert stats.kstest(alone.ravel(), law.cdf).pvalue > 0.001
        assert model.means[arm] == pytest.approx(law.mean())
        assert_allclose(model.reward_pmf[arm], np.diff(law.cdf(edges)), atol=2e-9)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < stats.norm.isf(0.0005) / np.sqrt(5000)


def test_finite_rewards_have_their_distribution_and_are_independent():
    pmf = np.array([[0.2, 0.3, 0.5], [0.0, 0.6, 0.4]])
    model = independent_model("finite", pmf=pmf, support=[-1, 0, 4])
    assert_allclose(model.means, [1.8, 1.6])
    _, index = model.pull(model.draw(default_rng(0), 20_000), np.array([[0, 1]]))
    joint = np.bincount(3 * index[:, 0] + index[:, 1], minlength=9)
    expected = 20_000 * np.outer(*pmf).ravel()
    assert (joint[expected == 0] == 0).all()
    assert stats.chisquare(joint[expected > 0], expected[expected > 0]).pvalue > 0.001


def test_rewards_are_clipped_so_that_bounds_hold_them():
    problem = independent_model(means=[1, 3], sigma=0.5).problem
    assert problem.reward_bounds == (-2, 6)
    assert independent_model(sigma=2).problem.reward_bounds == (-16, 16)

    class Extreme:
        def standard_normal(self, size):
            return np.broadcast_to([-7.0, 7.0], size).copy()

        def standard_t(self, freedom, size):
            return np.broadcast_to([-1e9, 1e9], size).copy()

    drawn = independent_model(means=[1, 3], sigma=0.5).draw(Extreme(), 1)
    assert drawn.tolist() == [[-2, 6]]
    student = independent_model("student", means=[1, 3], sigma=0.5)
    assert student.draw(Extreme(), 1).tolist() == [list(student.problem.reward_bounds)]


def test_policies_get_the_scale_of_normal_rewards_from_sigma_not_from_the_bounds():
    assert scale_of(None, independent_model(sigma=0.5).problem) == 1
    assert scale_of(None, independent_model("beta").problem) == 1
    assert scale_of(5, independent_model(sigma=0.5).problem) == 5
    finite = independent_model("finite", support=[0, 4], n_arms=2)
    assert scale_of(None, finite.problem) == 4


def test_the_lower_bound_of_normal_rewards_is_known():
    # 2 sigma^2 / gap for each arm that is not best (Lattimore and Szepesvari, section 16.3).
    bound = lai_robbins_bound(independent_model(means=[1, 0.5, 0], sigma=2))
    assert bound.constant == pytest.approx(8 / 0.5 + 8 / 1)


def test_many_arms_need_no_table():
    model = independent_model("bernoulli", n_arms=3000)
    assert isinstance(model.problem.rows, LazyRows)
    assert independent_model("bernoulli", n_arms=10_000).rounds_per_draw == 1
    assert model.problem.rows.of(7, 0).tolist() == [1] * 7 + [0] + [1] * 2992
    results = evaluate(
        "CMAB-Independent-v0",
        ["ucb", "c-ucb"],
        50,
        2,
        env_kwargs={"rewards": "bernoulli", "n_arms": 3000},
    )
    assert_array_equal(results.regret("ucb"), results.regret("c-ucb"))


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"rewards": "gauss"}, "unknown rewards 'gauss': expected one of: normal, student"),
        ({"rewards": "beta", "sigma": 1}, "sigma with rewards='beta': expected means and conc"),
        ({"rewards": "finite", "means": [0, 1]}, "means with rewards='finite': expected pmf and"),
        ({"means": [0, 1], "n_arms": 2}, "means and n_arms: expected one of them"),
        ({"means": [0, 1], "problem_seed": 2}, "means and problem_seed: expected one of them"),
        ({"means": [0]}, r"means has shape \(1,\): expected \(K,\), one mean for each of K >= 2"),
        ({"means": [0, np.nan]}, r"means\[1\] is nan: expected finite numbers"),
        ({"means": [0, 1], "sigma": 0}, "sigma=0: expected a number above 0"),
        ({"rewards": "student", "freedom": 2}, "freedom=2: expected a number above 2; with fewer"),
        ({"freedom": 3}, "freedom with rewards='normal': expected means and sigma"),
        ({"rewards": "bernoulli", "means": [0, 1.5]}, r"means\[1\] is 1.5: .* from 0 to 1"),
        ({"rewards": "beta", "means": [0.5, 1]}, r"means\[1\] is 1: .* above 0 and below 1"),
        ({"rewards": "beta", "concentration": -1}, "concentration=-1: expected a number above 0"),
        ({"rewards": "finite", "pmf": [0.5, 0.5]}, r"pmf has shape \(2,\): expected \(K, R\)"),
        ({"rewards": "finite", "pmf": [[0.5, 0.5], [1, 1]]}, r"pmf\[1\] is \[1. 1.\]: expected"),
        (
            {"rewards": "finite", "pmf": [[0.5, 0.5], [1, 0]], "support": [0, 1, 2]},
            "support holds 3 rewards: expected 2, one for each column",
        ),
        ({"n_arms": 1}, "n_arms=1: expected an integer of at least 2"),
        ({"problem_seed": -1}, "problem_seed=-1: expected an integer of at least 0"),
        ({"bins": 0}, "bins=0: expected an integer of at least 1"),
    ],
)
def test_wrong_arguments_are_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        gym.make("CMAB-Independent-v0", **kwargs)


def test_a_model_may_have_names():
    law = FiniteLaw.bernoulli([0.1, 0.2])
    assert IndependentModel(law, arm_names=("a", "b")).arm_names == ("a", "b")
