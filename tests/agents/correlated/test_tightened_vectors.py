"""Tightened pseudo-rewards: known vectors, and the laws of the linear programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import SEEDS

from cmab_gym import BanditProblem
from cmab_gym.agents.correlated.tightened.vectors import TightenedVectors, round_marginals
from cmab_gym.envs.movielens import movielens_model
from cmab_gym.envs.tabular import tabular_model


def feasible_vectors(problem, arm, given, relaxation):
    """Return the vectors of an arm for a fine grid of marginals, rounded to four digits."""
    tightening = TightenedVectors(problem, relaxation)
    vectors = set()
    for ones in range(1, 128, 2):
        before = tightening.infeasible
        counts = 32 * np.array([128 - ones, ones])  # so many that 1/128 is not rounded
        vector = tuple(np.round(tightening.vectors(given, counts)[arm], 4).tolist())
        if tightening.infeasible == before:
            vectors.add(vector)
    assert tightening.solved == 64
    return vectors


@pytest.mark.parametrize("relaxation", ["pairs", "all"])
@pytest.mark.parametrize(
    ("name", "arm", "known", "expected"),
    [
        ("appendix", 1, 0, {(2 / 3, 6 / 7), (2, 0), (9, -3)}),
        ("appendix", 0, 1, {(3 / 4, 2 / 3), (1, 1 / 2)}),
        ("table1-a", 1, 0, {(0.7, 0.4), (1.4, 0), (8 / 3, -2 / 3)}),
        ("table1-a", 0, 1, {(0.8, 0.5), (1, 2 / 7), (7 / 3, -1)}),
    ],
)
def test_the_vectors_of_two_arms_are_those_found_by_hand(name, arm, known, expected, relaxation):
    """The vertices of the dual, which for two arms and two rewards can be listed."""
    vectors = feasible_vectors(tabular_model(name).problem, arm, known, relaxation)
    assert vectors == {tuple(np.round(vector, 4).tolist()) for vector in expected}


def test_the_appendix_arm_can_be_ruled_out():
    """P(R0 = 1) = .7: mean 1 <= 3 P(0, 1) <= 3 * .2 = .6 by two of the constraints."""
    tightening = TightenedVectors(tabular_model("appendix").problem)
    np.testing.assert_allclose(tightening.bounds(0, np.array([0.3, 0.7])), [0.7, 0.6])
    # No joint distribution with P(R0 = 1) above 3/4 satisfies the table.
    np.testing.assert_array_equal(tightening.bounds(0, np.array([0.2, 0.8])), [0.8, -np.inf])


def test_table_1_b_stays_competitive():
    bounds = TightenedVectors(tabular_model("table1-b").problem).bounds(1, np.array([0.5, 0.5]))
    np.testing.assert_allclose(bounds, [9 / 14, 0.5])  # the plain bound is .65, the best mean .5


def test_an_infeasible_program_returns_the_plain_table_and_is_counted():
    problem = tabular_model("appendix").problem
    tightening = TightenedVectors(problem)
    vectors = tightening.vectors(0, np.array([0, 25]))  # arm 0 gave only ones
    np.testing.assert_array_equal(vectors, problem.pseudo_rewards[:, 0])
    assert (tightening.solved, tightening.infeasible) == (1, 1)
    tightening.vectors(0, np.array([0, 25]))
    assert tightening.solved == 1  # not solved again


@st.composite
def tables_of_two_joints(draw):
    """Draw two joint distributions on the same rewards, and a table that both satisfy."""
    n_arms, n_rewards = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(SEEDS))
    shape = (n_rewards,) * n_arms
    share = draw(st.sampled_from([0.3, 1.0]))  # how even the distributions are
    pmfs = rng.dirichlet(np.full(n_rewards**n_arms, share), 2)
    models = [tabular_model(pmf=(pmf / pmf.sum()).reshape(shape)) for pmf in pmfs]
    supports = {model.problem.reward_support.size for model in models}
    if supports != {n_rewards}:  # the probability of a reward was rounded to 0
        return draw(tables_of_two_joints())
    table = np.maximum(*(model.problem.pseudo_rewards for model in models))
    masked = rng.random(table.shape) < draw(st.sampled_from([0.0, 0.5]))
    masked[np.arange(n_arms), np.arange(n_arms)] = False
    table = np.where(masked, n_rewards - 1.0, table)
    return models, BanditProblem(table, models[0].problem.reward_support, (0, n_rewards - 1))


@settings(deadline=None, max_examples=40)
@given(tables_of_two_joints())
def test_bounds_lie_between_the_mean_and_the_plain_bound(drawn):
    models, problem = drawn
    pairs, every = TightenedVectors(problem, "pairs"), TightenedVectors(problem, "all")
    for model in models:
        for known in range(problem.n_arms):
            marginal = model.reward_pmf[known]
            plain = problem.pseudo_rewards[:, known] @ marginal
            by_pairs, by_all = pairs.bounds(known, marginal), every.bounds(known, marginal)
            assert (by_pairs <= plain + 1e-6).all()
            assert (by_all <= by_pairs + 1e-6).all()
            assert (by_all >= model.means - 1e-6).all()


@settings(deadline=None, max_examples=40)
@given(tables_of_two_joints(), st.sampled_from(["pairs", "all"]), st.integers(1, 500), SEEDS)
def test_a_vector_bounds_the_mean_for_every_distribution_that_satisfies_the_table(
    drawn, relaxation, pulls, seed
):
    """It is computed from rewards of one distribution, and must hold for the other too."""
    models, problem = drawn
    tightening = TightenedVectors(problem, relaxation)
    rng = np.random.default_rng(seed)
    for known in range(problem.n_arms):
        counts = rng.multinomial(pulls, models[0].reward_pmf[known])
        vectors = tightening.vectors(known, counts)
        np.testing.assert_array_equal(vectors[known], problem.reward_support)
        for model in models:
            assert (vectors @ model.reward_pmf[known] >= model.means - 1e-6).all()


def test_only_the_program_of_all_arms_follows_chains_of_arms():
    """Nothing is known about arm 2 given arm 0, but arm 1 is between them: R2 <= R1 <= R0."""
    support = np.array([0.0, 1.0])
    table = np.ones((3, 3, 2))
    for low, up in ((1, 0), (2, 1)):
        table[low, up] = support
    table[np.arange(3), np.arange(3)] = support
    problem = BanditProblem(table, support, (0, 1))
    marginal = np.array([0.7, 0.3])
    pairs, every = TightenedVectors(problem, "pairs"), TightenedVectors(problem, "all")
    np.testing.assert_allclose(pairs.bounds(0, marginal), [0.3, 0.3, 1])
    np.testing.assert_allclose(every.bounds(0, marginal), [0.3, 0.3, 0.3])
    assert TightenedVectors(problem).relaxation == "all"


@given(st.lists(st.integers(0, 2000), min_size=2, max_size=7).filter(any))
def test_a_marginal_is_rounded_to_a_power_of_two_parts(counts):
    counts = np.array(counts)
    rounded = round_marginals(counts[None])[0]
    parts, least = rounded.sum(), 2.0 ** (3 - counts.size) * np.sqrt(counts.sum())
    assert parts == 1 or least <= parts < 2 * least
    assert parts.bit_count() == 1
    assert (rounded >= 0).all()
    assert (np.abs(rounded / parts - counts / counts.sum()) < 1 / parts).all()


def test_marginals_are_rounded_one_by_one():
    counts = np.random.default_rng(0).integers([1, 0, 0, 0], [2, 4, 16, 400], (200, 4))
    alone = [round_marginals(own[None])[0] for own in counts]
    np.testing.assert_array_equal(round_marginals(counts), alone)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (BanditProblem(np.ones((2, 2, 1)), [0.5], (0, 1), [0, 1]), "2 arms and rewards in bins"),
        (BanditProblem(np.ones((1, 1, 2)), [0, 1], (0, 1)), "1 arms"),
        (BanditProblem(np.ones((2, 2, 21)), np.linspace(0, 1, 21), (0, 1)), "2 to 20 rewards"),
    ],
)
def test_a_problem_that_cannot_be_tightened_is_refused(problem, message):
    with pytest.raises(ValueError, match=message):
        TightenedVectors(problem)


def two_arms(problem, arms):
    """Return the problem of two of the arms."""
    table = problem.pseudo_rewards[np.ix_(arms, arms)]
    return BanditProblem(table, problem.reward_support, problem.reward_bounds)


def test_programs_of_pairs_have_the_values_and_vectors_that_highs_finds():
    """The programs of all arms are those of HiGHS, and with two arms the same as of pairs."""
    problem, rng = movielens_model("genre").problem, np.random.default_rng(0)
    pairs = TightenedVectors(problem, "pairs")
    n_infeasible = 0
    for given_arm, arm in ((0, 7), (4, 3), (12, 17), (8, 9)):
        one = TightenedVectors(two_arms(problem, [given_arm, arm]), "all")
        counts = np.array([rng.multinomial(n, rng.dirichlet(np.ones(5))) for n in (4, 40, 400)])
        for own, vectors in zip(counts, pairs.of_each(np.full(3, given_arm), counts), strict=True):
            np.testing.assert_allclose(vectors[arm], one.vectors(0, own)[1], atol=1e-5)
            marginal = own / own.sum()
            value = one.bounds(0, marginal)[1]
            assert pairs.bounds(given_arm, marginal)[arm] == pytest.approx(value, abs=1e-7)
            n_infeasible += np.isneginf(value)
    assert 0 < n_infeasible < 12


def test_a_vector_does_not_depend_on_the_programs_that_are_solved_with_it():
    problem, rng = movielens_model("genre").problem, np.random.default_rng(1)
    arms = rng.integers(18, size=30)
    counts = rng.multinomial(60, np.full(5, 0.2), size=30)
    together = TightenedVectors(problem).of_each(arms, counts)
    alone = TightenedVectors(problem)
    for arm, own, vectors in zip(arms.tolist(), counts, together, strict=True):
        np.testing.assert_array_equal(vectors, alone.vectors(arm, own))


def test_an_unknown_relaxation_is_refused():
    with pytest.raises(
        ValueError, match=r"unknown relaxation 'joint': expected one of: auto, pairs, all"
    ):
        TightenedVectors(tabular_model("appendix").problem, "joint")
