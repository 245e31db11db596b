"""The bounds of Theorems 1 and 2, and C-UCB's pulls compared with them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import SEEDS

from cmab_gym import evaluate
from cmab_gym.envs.independent import independent_model
from cmab_gym.envs.latent import latent_model
from cmab_gym.envs.movielens import movielens_model
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.models import TabularModel
from cmab_gym.models.presets import TABULAR
from cmab_gym.theory import NoBoundError, c_ucb_bound
from cmab_gym.theory.upper_bounds import competitive_pulls, first_round, non_competitive_pulls


def test_theorem_2_agrees_with_the_bound_computed_by_hand():
    # K = 2, both gaps 1, T = 2: 8 ln 2 + 1 + pi^2 / 3 + 4 exp(-1/4) + 8 exp(-1/2).
    expected = 5.545177 + 4.289868 + 3.115203 + 4.852245
    assert competitive_pulls(2, 1.0, 1.0, 2) == pytest.approx(expected, abs=1e-6)


def test_theorem_1_agrees_with_the_bound_computed_by_hand():
    # K = 2, t0 = 2, T = 5: 4 + 8 (2 / 4 + 2 * 4 / 25) + 3 (1 + 1/8 + 1/27 + 1/64 + 1/125).
    expected = 4 + 8 * (0.5 + 0.32) + 3 * 1.185662
    assert non_competitive_pulls(5, 2, 2) == pytest.approx(expected, abs=1e-5)
    # Before round K t0 the middle sum is empty: T = 3 gives 4 + 3 (1 + 1/8 + 1/27).
    assert non_competitive_pulls(3, 2, 2) == pytest.approx(4 + 3 * 1.162037, abs=1e-5)


def test_t0_agrees_with_the_value_computed_by_hand():
    # gap 1, K = 2: ln(tau) / tau <= 1/64. At 377 it is .015735 and at 380 .015632; 1/64 = .015625,
    # which 381 is the first to meet with .015598.
    assert first_round(1.0, 2) == 381
    assert np.log(380) / 380 > 1 / 64 >= np.log(381) / 381


@given(st.floats(0.05, 1), st.integers(2, 60))
def test_t0_is_the_first_round_that_meets_the_theorems_condition(gap, n_arms):
    t0 = first_round(gap, n_arms)

    def enough(tau):
        return gap >= 4 * np.sqrt(2 * n_arms * np.log(tau) / tau)

    assert t0 >= 2
    assert t0 == int(t0)
    assert enough(t0 * (1 + 1e-12))
    assert not enough(t0 - 1)
    assert not enough(np.linspace(2, t0 - 1, 500)).any()


def test_t0_of_a_tiny_gap_is_found_quickly():
    assert 1e17 < first_round(1e-7, 2) < 1e18
    assert 1e204 < first_round(1e-100, 2) < 1e206


@settings(deadline=None)
@given(
    st.integers(1, 400),
    st.integers(2, 8),
    st.floats(1e-9, 1),
    st.floats(1, 3),
    st.integers(2, 60),
)
def test_closed_forms_equal_the_sums_of_the_theorems(rounds, n_arms, smallest, larger, t0):
    # Up to rounding errors: here term by term, as the theorems state them.
    gap = min(1.0, smallest * larger)
    each = range(1, rounds + 1)
    one = n_arms * t0 + sum(3 * t**-3 for t in each)
    one += n_arms**3 * sum(2 * (t / n_arms) ** -2 for t in range(n_arms * t0, rounds + 1))
    two = 8 * np.log(rounds) / gap**2 + 1 + np.pi**2 / 3
    two += sum(2 * n_arms * t * np.exp(-t * smallest**2 / (2 * n_arms)) for t in each)
    assert non_competitive_pulls(rounds, t0, n_arms) == pytest.approx(one, rel=1e-9)
    assert competitive_pulls(rounds, gap, smallest, n_arms) == pytest.approx(two, rel=1e-6)


def test_rounds_may_be_an_array():
    bound = c_ucb_bound(tabular_model("three-armed"))
    rounds = np.array([[1, 10, 5000], [10**6, 10**7, 10**9]])
    assert bound.pulls(rounds).shape == (2, 3, 3)
    assert bound.regret(rounds).shape == (2, 3)
    for position, T in np.ndenumerate(rounds):
        np.testing.assert_allclose(bound.pulls(rounds)[position], bound.pulls(T))
        assert bound.regret(T) == pytest.approx(bound.pulls(T) @ bound.gaps)
    assert (np.diff(bound.regret(rounds).ravel()) >= 0).all()


def test_theorem_2_bounds_a_competitive_arm_and_theorem_1_a_non_competitive_one():
    # B = 2, gaps .15 and .7, pseudo-gaps -.1 and .16. So Delta_min / B = .075 is less than the
    # pseudo-gap of arm 2 divided by B, .08, and determines its t0.
    bound = c_ucb_bound(tabular_model("three-armed"))
    np.testing.assert_array_equal(bound.competitive, [True, True, False])
    np.testing.assert_array_equal(np.isnan(bound.t0), [True, True, False])
    assert bound.t0[2] == first_round(0.075, 3)
    expected = [
        5000,
        competitive_pulls(5000, 0.075, 0.075, 3),
        non_competitive_pulls(5000, bound.t0[2], 3),
    ]
    np.testing.assert_allclose(bound.pulls(5000), expected)
    assert bound.regret(5000) == pytest.approx(0.15 * expected[1] + 0.7 * expected[2])
    assert bound.constant == pytest.approx(8 * 4 / 0.15)
    far = bound.regret([1e30, 1e40])
    assert (far[1] - far[0]) / np.log(1e10) == pytest.approx(bound.constant, rel=1e-6)


def test_regret_is_bounded_if_only_the_best_arm_is_competitive():
    bound = c_ucb_bound(tabular_model("table1-a"))
    assert bound.constant == 0
    assert bound.regret(1e12) == pytest.approx(bound.regret(1e9), rel=1e-6)


@settings(deadline=None)
@given(SEEDS, st.floats(0.1, 20), st.floats(-5, 5))
def test_the_unit_of_the_rewards_does_not_change_the_pulls(seed, factor, shift):
    rng = np.random.default_rng(seed)
    outcomes, probabilities = rng.integers(0, 5, (6, 3)).astype(float), rng.dirichlet(np.ones(6))
    one = TabularModel(outcomes, probabilities)
    other = TabularModel(factor * outcomes + shift, probabilities)
    assume(np.diff(np.sort(one.means))[-1] > 1e-3)
    here, there = c_ucb_bound(one), c_ucb_bound(other)
    np.testing.assert_allclose(there.pulls(5000), here.pulls(5000), rtol=1e-4)
    assert there.regret(5000) == pytest.approx(factor * here.regret(5000), rel=1e-4)


def test_a_larger_scale_has_a_larger_bound():
    model = tabular_model("table1-b")
    assert c_ucb_bound(model, B=2).regret(10**6) > c_ucb_bound(model).regret(10**6)


def test_the_scale_of_normal_rewards_is_twice_their_standard_deviation():
    model = independent_model(sigma=0.5)
    assert c_ucb_bound(model).scale == 1
    with pytest.raises(NoBoundError, match=r"are 1 apart, more than B = 0\.9"):
        c_ucb_bound(model, B=0.9)


def test_models_without_the_bound_are_refused():
    model = tabular_model("table1-a")
    with pytest.raises(NoBoundError, match=r"are 1 apart, more than B = 0\.5"):
        c_ucb_bound(model, B=0.5)
    with pytest.raises(ValueError, match="B=0: expected a number above 0"):
        c_ucb_bound(model, B=0)
    with pytest.raises(NoBoundError, match="arms 0 and 1 are both best"):
        c_ucb_bound(tabular_model(pmf=[[0.25, 0.25], [0.25, 0.25]]))
    # Arm 0 is best with a mean of .6, but its pseudo-rewards given arm 1 are 0.3.
    wrong = [[[0, 1], [0.3, 0.3]], [[1, 1], [0, 1]]]
    pmf = [[0.2, 0.2], [0.4, 0.2]]
    with pytest.raises(NoBoundError, match=r"arm 0, the best, given arm 1 average 0\.3 less"):
        c_ucb_bound(tabular_model(pmf=pmf, pseudo_rewards=wrong, allow_invalid=True))
    with pytest.raises(NoBoundError, match="need pseudo-rewards that are upper bounds"):
        c_ucb_bound(movielens_model("genre"))  # a survey of other users
    wide = [[[0, 1], [1, 1]], [[3, 1], [0, 1]]]
    with pytest.raises(NoBoundError, match="are 2 apart, more than B = 1"):
        c_ucb_bound(tabular_model(pmf=pmf, pseudo_rewards=wide))
    for gap in (2.0, 0.0, np.nan):
        with pytest.raises(ValueError, match="expected a number from 1e-100 to 1; divide it by B"):
            first_round(gap, 2)


def large_gap(competitive):
    """Make independent rewards 0 and 1 with means .95 and .05, so that the bounds are below T."""
    unknown = [1, 1]
    table = [[[0, 1], unknown], [unknown if competitive else [0.1, 0.1], [0, 1]]]
    return {"pmf": [[0.0475, 0.0025], [0.9025, 0.0475]], "pseudo_rewards": table}


def mean_pulls(env_id, env_kwargs, model, rounds):
    """Return the mean pulls of c-ucb in 20 trials, float64 (K,), and those in the second half.

    The pulls of the best arm and the regret determine the pulls of one or two others.
    """
    half = [rounds // 2, rounds]
    (run,) = evaluate(
        env_id, ["c-ucb"], rounds, 20, 1, env_kwargs=env_kwargs, checkpoints=half
    ).finished
    others = np.flatnonzero(~model.best_arms)
    best, pulls = run.best_arm_pulls.mean(axis=0), np.zeros((model.n_arms, 2))
    pulls[model.best_arms] = best
    equations = np.stack([np.ones(len(others)), model.gaps[others]])
    sums = np.stack([half - best, run.regret.mean(axis=0)])
    pulls[others] = np.linalg.lstsq(equations, sums)[0]
    np.testing.assert_allclose(equations @ pulls[others], sums, atol=1e-9)
    return pulls[:, 1], (pulls[:, 1] - pulls[:, 0]).round(6)


@pytest.mark.parametrize(("competitive", "gap"), [(False, 0.85), (True, 0.9)])
def test_c_ucb_stays_below_bounds_that_are_below_the_horizon(competitive, gap):
    # The bounds are about 1200 and 190 pulls of arm 1; an agent that plays at random pulls it 2500
    # times. The mean over 20 trials is below 30, so randomness alone cannot make this test fail.
    env_kwargs, rounds = large_gap(competitive), 5000
    model = tabular_model(**env_kwargs)
    bound = c_ucb_bound(model)
    assert bound.competitive[1] == competitive
    assert competitive or bound.t0[1] == first_round(gap, 2)
    pulls, _ = mean_pulls("CMAB-Tabular-v0", env_kwargs, model, rounds)
    assert 0 < pulls[1] <= bound.pulls(rounds)[1] < rounds / 4
    assert pulls[1] * model.gaps[1] <= bound.regret(rounds)


@pytest.mark.parametrize(
    ("preset", "rounds"),
    [
        ("table1-a", 10_000),
        ("table1-b", 10_000),
        ("three-armed", 15_000),
        ("appendix", 10_000),
        ("three-arm-b", 10_000),
    ],
)
def test_c_ucb_stays_below_the_bounds_on_the_papers_examples(preset, rounds):
    # The gaps are so small that the theorems' bounds are far above T. So this test demands more:
    # the pulls of a competitive arm stay below Theorem 2 without its sum, which is UCB1's bound and
    # below T, and those of a non-competitive arm end, as Theorem 1 says.
    if preset in TABULAR:
        env_id, model = "CMAB-Tabular-v0", tabular_model(preset)
    else:
        env_id, model = "CMAB-Latent-v0", latent_model(preset)
    bound = c_ucb_bound(model)
    gaps = bound.gaps / bound.scale
    pulls, late = mean_pulls(env_id, {"preset": preset}, model, rounds)
    for arm in np.flatnonzero(~model.best_arms):
        assert 1 <= pulls[arm] <= bound.pulls(rounds)[arm]
        if bound.competitive[arm]:
            assert late[arm] > 0
            assert pulls[arm] <= 8 * np.log(rounds) / gaps[arm] ** 2 + 1 + np.pi**2 / 3 < rounds
        else:
            assert late[arm] == 0
