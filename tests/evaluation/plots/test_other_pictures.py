"""The distribution of regret, the pulls of each arm and the competitive sets."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cmab_gym.evaluation import (
    AgentRun,
    Results,
    evaluate,
    plot_competitive,
    plot_distribution,
    plot_pulls,
)
from cmab_gym.evaluation.plots.distribution import heights
from cmab_gym.evaluation.plots.pulls import shown_arms

PLOTS = [plot_distribution, plot_pulls, plot_competitive]


@pytest.fixture(scope="module")
def results():
    return evaluate("CMAB-MovieLens-v0", ["ucb", "c-ucb"], 60, 6, checkpoints=6)


@pytest.mark.parametrize("plot", PLOTS)
def test_hostile_names_are_drawn_as_text(hostile_results, tmp_path, plot):
    plot(hostile_results, tmp_path / "x.png")  # warnings are errors


@pytest.mark.parametrize("plot", PLOTS)
def test_each_picture_has_a_title_and_says_who_is_missing(results, tmp_path, plot):
    failed = AgentRun.failed("mine", "agent 'mine': no")
    both = replace(results, runs=(*results.runs, failed))
    axes = plot(both, tmp_path / "x.svg").axes[0]
    assert axes.get_title() == "CMAB-MovieLens-v0"
    assert axes.get_xlabel().endswith("not finished: mine")
    assert (tmp_path / "x.svg").exists()
    assert plot(results, title="mine").axes[0].get_title() == "mine"
    with pytest.raises(ValueError, match="no agent finished"):
        plot(replace(results, runs=(failed,)))


@pytest.mark.parametrize("plot", PLOTS)
def test_labels_of_unknown_agents_are_refused(results, plot):
    with pytest.raises(ValueError, match=r"unknown agent 'ubc': .*ucb"):
        plot(results, labels={"ubc": "x"})


@pytest.mark.parametrize("plot", PLOTS)
def test_one_trial_can_be_drawn(tmp_path, plot):
    one = evaluate("CMAB-Tabular-v0", ["c-ucb"], 9, 1)
    plot(one, tmp_path / "x.png", labels={"c-ucb": "ours"})


def test_every_trial_is_a_point(results):
    axes = plot_distribution(results).axes[0]
    for row, name in enumerate(("ucb", "c-ucb")):
        x, y = axes.collections[row].get_offsets().T
        assert_allclose(x, np.sort(results.final(name)))
        assert (np.abs(y - row) < 0.3).all()
    assert [text.get_text() for text in axes.get_yticklabels()] == [" ucb", " c-ucb"]
    boxes = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches]
    assert_allclose(boxes[1], np.quantile(results.final("c-ucb"), [0.25, 0.75]))
    assert plot_distribution(results, log=True).axes[0].get_xscale() == "log"


def test_equal_trials_do_not_hide_each_other():
    own = heights(100)
    assert np.diff(np.sort(own)).min() > 0.002
    assert np.abs(np.diff(own)).min() > 0.1  # neighbours are far apart
    assert heights(1).tolist() == [0]


def test_pulls_are_those_of_the_results(results):
    axes = plot_pulls(results).axes[0]
    shown = axes.images[0].get_array().filled(0)
    order = np.argsort(-np.array(results.manifest["means"]))
    for column, name in enumerate(("ucb", "c-ucb")):
        assert_allclose(shown[:, column], results.pulls(name).mean(axis=0)[order])
    assert axes.get_yticklabels()[0].get_text() == "Film-Noir  4.15"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["ucb", "c-ucb"]


def test_of_many_arms_the_best_and_the_most_pulled_are_shown(results):
    means, pulls = np.array([1.0, 3, 2, 4]), np.array([[9.0, 0], [0, 1], [0, 8], [0, 0]])
    assert shown_arms(pulls, means, 3).tolist() == [3, 2, 0]  # 3 is best, 2 and 0 pulled most
    assert shown_arms(pulls, means, 4).tolist() == [3, 1, 2, 0]
    axes = plot_pulls(results, most_arms=5).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()][5:] == ["13 other arms"]
    assert_allclose(axes.images[0].get_array().filled(0).sum(axis=0), 60)


def test_pulls_that_were_not_recorded_are_refused():
    without = evaluate("CMAB-Tabular-v0", ["ucb"], 9, 2, record_pulls=False)
    with pytest.raises(ValueError, match="no pulls were recorded"):
        plot_pulls(without)


def test_only_correlated_agents_have_a_competitive_set(results):
    axes = plot_competitive(results, band="quantiles").axes[0]
    (line,) = axes.get_lines()
    assert_array_equal(line.get_ydata(), np.median(results.competitive("c-ucb"), axis=0))
    with pytest.raises(ValueError, match="no agent rules arms out: expected a correlated agent"):
        plot_competitive(evaluate("CMAB-Tabular-v0", ["ucb"], 9, 2))


def test_a_picture_of_nothing_names_the_remedy():
    with pytest.raises(ValueError, match=r"see results\.failures"):
        plot_pulls(Results((1,), (), {}))
