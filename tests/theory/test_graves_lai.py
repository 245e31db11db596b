"""The Graves-Lai bound, compared with other ways to compute it."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import bernoulli_kl
from scipy.optimize import minimize
from strategies import SEEDS, tabular_models

from cmab_gym.envs.latent import latent_model
from cmab_gym.envs.movielens import movielens_model
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.models import TabularModel
from cmab_gym.theory import NoBoundError, graves_lai_bound, lai_robbins_bound


# Given arm 0's rewards, arm 1's mean is at most .6 * .4 + .4 * .7 = .52 < .6 in table 1 (a), and
# 3 * .2 = .6 < .7 in the appendix: d <= 2 b and b <= .2, so b + d <= 3 b. In (b) arm 0's mean may
# reach 9/14 > .5, and no constraint excludes its nearest distribution: as without structure.
@pytest.mark.parametrize(
    ("preset", "constant"), [("table1-a", 0), ("table1-b", 4.966), ("appendix", 0)]
)
def test_the_constants_of_the_papers_tables_are_known(preset, constant):
    bound = graves_lai_bound(tabular_model(preset))
    assert bound.constant == pytest.approx(constant, abs=5e-4)
    assert bound.error <= 1e-4
    assert bound.pulls[tabular_model(preset).means.argmax()] == 0


def test_an_arm_that_can_only_equal_the_best_costs_nothing():
    # Arm 1's mean is at most .5 * .2 + .5 * s: with s = 1 that is .6, the best arm's mean is .5.
    # With s = .8 both are .5, and arm 1 is never better.
    def constant(s):
        table = [[[0, 1], [1, 1]], [[0.2, s], [0, 1]]]
        model = tabular_model(pmf=[[0.45, 0.05], [0.3, 0.2]], pseudo_rewards=table)
        return graves_lai_bound(model).constant

    assert constant(0.8) == 0
    assert constant(0.8 + 1e-4) == pytest.approx(0.25 / bernoulli_kl(0.25, 0.5), rel=1e-4)
    assert constant(1) == pytest.approx(0.25 / bernoulli_kl(0.25, 0.5), rel=1e-4)


# SciPy up to 1.11 warns when its SLSQP leaves the bounds and returns.
STEPS_BACK = "ignore:Values in x were outside bounds:RuntimeWarning"


def random_model(seed, n_arms, size, loosen=(0, 0.1, 0.3, 9)):
    """Draw a joint distribution over all outcomes; loosen each entry of the table at random."""
    rng = np.random.default_rng(seed)
    axes = np.meshgrid(*[np.arange(size)] * n_arms, indexing="ij")
    outcomes = np.stack(axes, axis=-1).reshape(-1, n_arms).astype(float)
    probabilities = rng.dirichlet(np.full(len(outcomes), 0.5))
    table = TabularModel(outcomes, probabilities).problem.pseudo_rewards
    table = np.minimum(table + rng.choice(loosen, table.shape), size - 1)
    table[np.arange(n_arms), np.arange(n_arms)] = np.arange(size)
    return TabularModel(outcomes, probabilities, table)


def least_information(model, eta, rival):
    """Minimise sum_k eta_k KL(P_k, Q_k) over Q, from the definition, with a general solver."""
    best, problem = int(model.means.argmax()), model.problem
    outcomes = np.asarray(model.outcomes)
    index = problem.reward_index(outcomes)
    n_arms, size = model.reward_pmf.shape
    marginal = np.stack([[index[:, k] == j for j in range(size)] for k in range(n_arms)]).astype(
        float
    )  # (K, R, N)
    limits = [
        marginal[k, j] * (problem.pseudo_rewards[l, k, j] - outcomes[:, l])
        for k in range(n_arms)
        for l in range(n_arms)  # noqa: E741
        for j in range(size)
        if l != k
    ]
    limits.append(outcomes[:, rival] - model.means[best])
    others = [k for k in range(n_arms) if k != best]

    def information(q):
        ratio = model.reward_pmf / (marginal @ q)
        return float(sum(eta[k] * (model.reward_pmf[k] @ np.log(ratio[k])) for k in others))

    def slope(q):
        ratio = model.reward_pmf / (marginal @ q)
        return -sum(eta[k] * (ratio[k] @ marginal[k]) for k in others)

    found = minimize(
        information,
        np.asarray(model.probabilities),
        jac=slope,
        method="SLSQP",
        bounds=[(1e-10, 1)] * len(outcomes),
        constraints=[
            {
                "type": "eq",
                "fun": lambda q: marginal[best] @ q - model.reward_pmf[best],
                "jac": lambda q: marginal[best],
            },
            {"type": "ineq", "fun": lambda q: limits @ q, "jac": lambda q: np.array(limits)},
        ],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return found.fun if found.success else np.inf


# With these seeds pseudo-rewards lower the constant, but not to 0.
@pytest.mark.filterwarnings(STEPS_BACK)
@pytest.mark.parametrize("seed", [6, 111, 323])
def test_two_arms_with_three_rewards_agree_with_a_general_solver(seed):
    model = random_model(seed, 2, 3)
    bound = graves_lai_bound(model)
    arm = int(model.means.argmin())
    assert 0.05 < bound.constant < 0.99 * lai_robbins_bound(model).constant
    information = least_information(model, np.ones(2), arm)
    assert bound.constant == pytest.approx(model.gaps[arm] / information, rel=1e-3)


# With these seeds pseudo-rewards lower the constant, and both arms are explored, with other numbers
# of pulls than without structure.
@pytest.mark.filterwarnings(STEPS_BACK)
@pytest.mark.parametrize("seed", [92, 271])
def test_three_arms_agree_with_a_search_over_all_explorations(seed):
    model = random_model(seed, 3, 2, (0.05, 0.1, 0.2, 9))
    bound = graves_lai_bound(model)
    others = np.flatnonzero(model.gaps)
    assert (bound.pulls[others] > 0.1).all()
    assert 0 < bound.constant < 0.9 * lai_robbins_bound(model).constant

    def cost(eta):  # after scaling eta so that it distinguishes every Q
        return eta @ model.gaps / min(least_information(model, eta, arm) for arm in others)

    assert cost(bound.pulls) == pytest.approx(bound.constant, rel=1e-3)
    searched = []
    for share in np.linspace(0, 1, 41):
        eta = np.zeros(3)
        eta[others] = np.array([share, 1 - share]) / model.gaps[others]
        searched.append(cost(eta))
    assert bound.constant * (1 - 1e-4) <= min(searched) <= bound.constant * 1.02


@pytest.mark.parametrize("seed", range(4))
def test_without_knowledge_the_bound_is_that_without_structure(seed):
    # With three arms, this needs the mixture over the arms that become best.
    model = random_model(seed, 3, 3, loosen=(9,))
    without = lai_robbins_bound(model)
    bound = graves_lai_bound(model)
    assert bound.constant == pytest.approx(without.constant, rel=1e-4)
    np.testing.assert_allclose(bound.pulls, without.pulls, rtol=0.02, atol=1e-2)


def has_clear_gaps(model):
    """Tell whether the gaps are large enough for the accuracy of linear programs."""
    return np.sort(model.gaps)[1] > 0.02 * model.problem.reward_range


@settings(max_examples=50, deadline=None)
@given(tabular_models(max_arms=3, max_outcomes=5))
def test_conditional_means_as_pseudo_rewards_allow_bounded_regret(model):
    assume(has_clear_gaps(model))
    assert graves_lai_bound(model).constant == 0


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from([(2, 2), (2, 4), (3, 2), (3, 3)]))
def test_a_looser_table_never_lowers_the_constant(seed, sizes):
    model = random_model(seed, *sizes)
    assume(has_clear_gaps(model))
    rng = np.random.default_rng(seed)
    table = model.problem.pseudo_rewards.copy()
    table[rng.random(table.shape) < 0.5] = sizes[1] - 1
    arms = np.arange(sizes[0])
    table[arms, arms] = model.problem.reward_support
    looser = TabularModel(model.outcomes, model.probabilities, table)
    tight, loose = graves_lai_bound(model), graves_lai_bound(looser)
    without = lai_robbins_bound(model).constant
    slack = 1 + 1e-4
    assert 0 <= tight.constant <= loose.constant * slack <= without * slack**2
    assert tight.error <= 1e-4 * tight.constant
    assert tight.pulls @ model.gaps == pytest.approx(tight.constant, rel=1e-4)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.floats(0.1, 20), st.floats(-5, 5))
def test_the_constant_has_the_unit_of_the_rewards(seed, factor, shift):
    model = random_model(seed, 2, 3)
    assume(has_clear_gaps(model))
    table = factor * model.problem.pseudo_rewards + shift
    other = TabularModel(factor * np.asarray(model.outcomes) + shift, model.probabilities, table)
    here, there = graves_lai_bound(model), graves_lai_bound(other)
    assert there.constant == pytest.approx(factor * here.constant, rel=1e-4)


def test_models_without_the_bound_are_refused():
    with pytest.raises(NoBoundError, match=r"50 arms of 5 rewards have .* at most 256"):
        graves_lai_bound(movielens_model("movie"))
    with pytest.raises(NoBoundError, match="the rewards are continuous"):
        graves_lai_bound(latent_model("two-arm-a"))
    with pytest.raises(NoBoundError, match="arms 0 and 1 are both best"):
        graves_lai_bound(tabular_model(pmf=[[0.25, 0.25], [0.25, 0.25]]))
    table = [[[0, 1], [0.3, 0.3]], [[1, 1], [0, 1]]]  # arm 0's mean is .6, not .3 at most
    wrong = tabular_model(pmf=[[0.2, 0.2], [0.4, 0.2]], pseudo_rewards=table, allow_invalid=True)
    with pytest.raises(NoBoundError, match="no joint distribution has these rewards"):
        graves_lai_bound(wrong)
