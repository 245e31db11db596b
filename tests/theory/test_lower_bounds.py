"""Lower bounds without structure, and Theorem 3 of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import bernoulli_kl
from scipy.optimize import minimize

from cmab_gym.envs.latent import latent_model
from cmab_gym.envs.movielens import movielens_model
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.models import TabularModel
from cmab_gym.theory import (
    NoBoundError,
    analyse,
    c_ucb_bound,
    lai_robbins_bound,
    latent_bound,
)
from cmab_gym.theory.lower_bounds import k_inf


# Gap / kl(mean, best mean): .2 / kl(.4, .6) = .2 / (.2 ln 1.5) = 1 / ln 1.5, and so on.
@pytest.mark.parametrize(
    ("preset", "constant", "by_hand"),
    [
        ("table1-a", 2.466, 1 / np.log(1.5)),
        ("table1-b", 4.966, 0.1 / bernoulli_kl(0.4, 0.5)),
        ("appendix", 4.428, 0.1 / bernoulli_kl(0.6, 0.7)),
    ],
)
def test_the_constants_of_the_papers_tables_are_known(preset, constant, by_hand):
    bound = lai_robbins_bound(tabular_model(preset))
    assert bound.constant == pytest.approx(constant, abs=5e-4)
    assert bound.constant == pytest.approx(by_hand, rel=1e-9)
    assert bound.error == 0


@given(st.floats(0.01, 0.98), st.floats(0.005, 0.995))
def test_k_inf_of_two_rewards_is_the_bernoulli_divergence(p, share):
    q = p + share * (1 - p)
    value = k_inf(np.array([1 - p, p]), np.array([0.0, 1.0]), q)
    assert value == pytest.approx(bernoulli_kl(p, q), rel=1e-7, abs=1e-12)


# SciPy up to 1.11 warns when its SLSQP leaves the bounds and returns.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("seed", range(10))
def test_k_inf_is_the_least_divergence(seed):
    rng = np.random.default_rng(seed)
    support = np.sort(rng.uniform(-3, 3, 4))
    pmf = rng.dirichlet(np.full(4, 2.0))
    mean = float(pmf @ support)
    mean += rng.uniform(0.1, 0.8) * (support[-1] - mean)
    found = minimize(  # from the definition, with a general solver
        lambda q: pmf @ np.log(pmf / q),
        np.full(4, 0.25),
        jac=lambda q: -pmf / q,
        method="SLSQP",
        bounds=[(1e-9, 1)] * 4,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "ineq", "fun": lambda q: q @ support - mean},
        ],
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert found.success
    assert k_inf(pmf, support, mean) == pytest.approx(found.fun, rel=1e-5)


def test_k_inf_takes_rewards_into_account_that_only_other_arms_give():
    # Arm 1 gives 0 or 1, but 2 is a possible reward: K_inf = max over lambda <= 1/(2 - mu*) of
    # E ln(1 - lambda (R - mu*)), at the end lambda = 2 for mu* = 1.5: .5 ln 4 + .5 ln 2 = 1.5 ln 2.
    model = TabularModel([[1, 0], [2, 1]], [0.5, 0.5])
    assert k_inf(model.reward_pmf[1], model.problem.reward_support, 1.5) == pytest.approx(
        1.5 * np.log(2)
    )
    assert lai_robbins_bound(model).constant == pytest.approx(1 / (1.5 * np.log(2)))


def test_a_best_arm_that_always_gives_the_largest_reward_makes_the_bound_0():
    assert lai_robbins_bound(TabularModel([[1, 0], [1, 1]], [0.5, 0.5])).constant == 0


def test_the_constant_is_the_sum_over_the_arms_that_are_not_best():
    bound = lai_robbins_bound(movielens_model("genre"))
    model = movielens_model("genre")
    assert bound.constant == pytest.approx(bound.pulls @ model.gaps)
    np.testing.assert_array_equal(bound.pulls == 0, model.best_arms)
    assert bound.regret([1, np.e]) == pytest.approx([0, bound.constant])
    tie = tabular_model(pmf=[[0.25, 0.25], [0.25, 0.25]])
    assert lai_robbins_bound(tie).constant == 0


@pytest.mark.parametrize("rounds", [0, [10, -1], np.nan, np.inf, None])
def test_rounds_below_1_or_without_end_are_refused(rounds):
    for bound in (lai_robbins_bound, c_ucb_bound):
        with pytest.raises(ValueError, match=r"rounds=.*: expected numbers from 1 to 1e\+100"):
            bound(tabular_model()).regret(rounds)


def test_continuous_rewards_are_refused():
    with pytest.raises(NoBoundError, match="the rewards are continuous"):
        lai_robbins_bound(latent_model("two-arm-a"))


def test_theorem_3_agrees_with_the_bound_computed_by_hand():
    # Gaps .2411 and .2143; only arm 1 is competitive, so arm 2's divergence is ignored.
    two = analyse(latent_model("three-arm-b"))
    assert latent_bound(two, [0, 0.5, 0]) == pytest.approx(two.gaps[1] / 0.5)
    one, three = analyse(latent_model("three-arm-a")), analyse(latent_model("three-arm-c"))
    assert latent_bound(one, [0, 0.5, 0.5]) == 0
    assert latent_bound(three, [0.1, 0.1, 0]) == pytest.approx(three.gaps[1] / 0.1)
    with pytest.raises(ValueError, match="above 0 for the competitive arms"):
        latent_bound(two, [0, 0, 1])
    with pytest.raises(ValueError, match=r"divergences has shape \(2,\): expected \(3,\)"):
        latent_bound(two, [1, 1])
