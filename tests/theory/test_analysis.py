"""Gaps, phi and competitive arms, against the paper and against laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import tabular_models

from cmab_gym.envs.latent import latent_model
from cmab_gym.envs.movielens import movielens_model
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.models import TabularModel
from cmab_gym.theory import analyse, analyse_means, analyse_without_bins, count_competitive

# What the paper prints or implies: means, some phi[l, k], C.
TABULAR = {
    "table1-a": ([0.6, 0.4], {(1, 0): 0.52}, 1),
    "table1-b": ([0.4, 0.5], {(0, 1): 0.65}, 2),
    "three-armed": ([1.4, 1.25, 0.7], {(1, 0): 1.5, (2, 0): 1.24}, 2),
    "appendix": ([0.7, 0.6], {(1, 0): 0.8}, 2),
}
LATENT = {
    "two-arm-a": ([6, 3], {(1, 0): 395 / 72}, 1),
    "two-arm-b": ([36 / 13, 45 / 13], {(0, 1): 11.0039}, 2),
    "three-arm-a": ([0.888889, 0.687724, 0.5], {(1, 0): 0.888889 - 0.0980, (2, 0): 0.5}, 1),
    "three-arm-b": ([0.714286, 0.473189, 0.5], {(1, 0): 0.714286 + 0.1179, (2, 0): 0.5}, 2),
    "three-arm-c": ([0.476190, 0.304066, 0.5], {(0, 2): 1.0, (1, 2): 0.9179}, 3),
}


@pytest.mark.parametrize("preset", TABULAR)
def test_the_analysis_of_the_papers_tables_agrees_with_the_paper(preset):
    check(analyse(tabular_model(preset)), *TABULAR[preset], tolerance=1e-9)


@pytest.mark.parametrize("preset", LATENT)
def test_the_analysis_of_the_papers_latent_examples_agrees_with_the_paper(preset):
    model = latent_model(preset)
    check(analyse_without_bins(model), *LATENT[preset], tolerance=5e-4)
    check(analyse(model), *LATENT[preset], tolerance=6e-3)  # of rewards from -1 to 13


def test_bins_only_raise_phi():
    model = latent_model("two-arm-a", bins=10)
    coarse, exact = analyse(model), analyse_without_bins(model)
    assert (coarse.n_competitive, exact.n_competitive) == (2, 1)
    assert (coarse.phi >= exact.phi - 1e-12).all()
    finite = tabular_model("three-armed")
    np.testing.assert_array_equal(analyse(finite).phi, analyse_without_bins(finite).phi)


def check(analysis, means, phi, n_competitive, tolerance):
    np.testing.assert_allclose(analysis.means, means, atol=tolerance)
    np.testing.assert_allclose(analysis.gaps, max(means) - np.array(means), atol=2 * tolerance)
    for position, value in phi.items():
        assert analysis.phi[position] == pytest.approx(value, abs=tolerance)
    np.testing.assert_allclose(np.diag(analysis.phi), analysis.means)
    assert analysis.n_competitive == n_competitive


@given(tabular_models())
def test_with_exact_conditional_means_only_the_best_arms_are_competitive(model):
    analysis = analyse(model)
    ties = np.isclose(model.means, model.means.max(), atol=1e-9)
    np.testing.assert_array_equal(analysis.competitive, ties)


@given(tabular_models(), st.randoms(use_true_random=False))
def test_relabelling_the_arms_relabels_the_analysis(model, random):
    order = random.sample(range(model.n_arms), model.n_arms)
    other = TabularModel(np.asarray(model.outcomes)[:, order], model.probabilities)
    original, relabelled = analyse(model), analyse(other)
    np.testing.assert_allclose(relabelled.gaps, original.gaps[order], atol=1e-12)
    np.testing.assert_allclose(relabelled.phi, original.phi[np.ix_(order, order)], atol=1e-9)


@given(tabular_models(), st.floats(-5, 5))
def test_shifting_all_rewards_does_not_change_the_gaps(model, shift):
    other = TabularModel(np.asarray(model.outcomes) + shift, model.probabilities)
    np.testing.assert_allclose(analyse(other).gaps, analyse(model).gaps, atol=1e-9)


@pytest.mark.parametrize(("pad", "low", "high"), [(0.1, 6, 8), (0.4, 22, 27), (0.6, 38, 40)])
def test_the_number_of_competitive_movies_is_as_published(pad, low, high):
    model = movielens_model("movie", pad=pad)
    counts = [count_competitive(model, np.random.default_rng(seed)) for seed in range(8)]
    assert low <= min(counts)
    assert max(counts) <= high
    assert low <= analyse(model).n_competitive <= high


@pytest.mark.parametrize(("pad", "expected"), [(0.1, 11), (0.4, 30), (0.6, 40)])
def test_the_number_of_competitive_movies_with_a_tenth_of_the_data_is_known(pad, expected):
    model = movielens_model("movie", train_share=0.1, pad=pad)
    assert analyse(model).n_competitive == expected


def test_c_is_measured_against_the_mean_of_the_rewards_seen():
    # The player does not know the true mean. Of table 1 (b), after one reward 1 of the best arm the
    # other arm has phi 0.5 and is not competitive: 0.5 < 1. The true mean is 0.5, so against it C
    # would be 2 for every reward.
    model = tabular_model("table1-b")
    counts = {count_competitive(model, np.random.default_rng(seed), 1) for seed in range(12)}
    assert counts == {1, 2}


def test_an_arm_whose_bound_is_the_best_mean_is_counted_whatever_the_rounding():
    rewards = [0.1, 0.2, 0.7]
    model = TabularModel([[r, r] for r in rewards], [0.3, 0.3, 0.4])
    counts = {count_competitive(model, np.random.default_rng(seed), 50) for seed in range(20)}
    assert counts == {2}


def test_counting_without_a_pull_is_refused():
    with pytest.raises(ValueError, match="rounds=0: expected an integer of at least 1"):
        count_competitive(tabular_model(), np.random.default_rng(0), rounds=0)


def test_a_phi_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"phi has shape \(2, 3\): expected \(K, K\) with K = 2"):
        analyse_means(np.ones(2), np.ones((2, 3)))
