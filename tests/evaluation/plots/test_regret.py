from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy import stats

from cmab_gym.evaluation import AgentRun, Results, evaluate, plot_regret
from cmab_gym.evaluation.plots.agents import drawn_agents, drawn_names
from cmab_gym.evaluation.plots.curves import spread
from cmab_gym.evaluation.plots.panels import plot_panels
from cmab_gym.evaluation.plots.regret import Marks, draw_regret
from cmab_gym.theory import LowerBound


@pytest.fixture(scope="module")
def results():
    return evaluate("CMAB-Tabular-v0", ["ucb", "c-ucb", "random"], 200, 12, seed=1)


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_plot_is_written(results, tmp_path, kind):
    path = tmp_path / f"regret.{kind}"
    assert isinstance(plot_regret(results, path), Figure)
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if kind == "png" else b"svg" in start or b"xml" in start
    assert list(tmp_path.iterdir()) == [path]


def test_a_plot_has_names_units_and_a_band_and_can_be_read_without_colour(results):
    axes = Figure().add_subplot()
    draw_regret(axes, results)
    assert axes.get_xlabel() == "round"
    assert axes.get_ylabel() == "cumulative regret (reward)"
    looks = {(str(line.get_linestyle()), line.get_marker()) for line in axes.get_lines()}
    assert len(looks) == 3
    assert len(axes.collections) == 3  # one band each
    ucb = axes.get_lines()[0].get_ydata()
    assert_allclose(ucb[1:], results.regret("ucb").mean(axis=0))
    texts = [text.get_text() for text in axes.texts]
    assert any(text.startswith("ucb ") for text in texts)
    heights = sorted(text.xy[1] for text in axes.texts)
    assert np.diff(heights).min() > 0.04  # of the height of the axes


def test_values_from_elsewhere_are_hollow_marks_in_the_colour_of_their_agent(results):
    plain, axes = Figure().add_subplot(), Figure().add_subplot()
    draw_regret(plain, results)
    draw_regret(axes, results, marks=Marks(40, {"c-ucb": 7.5, "unknown": 1.0}, "published"))
    curves = {line.get_label().strip(): line for line in plain.get_lines()}
    mark, sample = axes.get_lines()[len(curves) :]
    assert mark.get_xydata().tolist() == [[40, 7.5]]
    assert mark.get_markerfacecolor() == "none"
    assert mark.get_markeredgecolor() == curves["c-ucb"].get_color()
    assert mark.get_marker() == curves["c-ucb"].get_marker()
    assert (sample.get_label(), len(sample.get_xdata())) == (" published", 0)


def test_a_lower_bound_is_a_thin_line_named_by_its_constant(results, tmp_path):
    bound = LowerBound(4.966, np.zeros(2))
    plain, axes = Figure().add_subplot(), Figure().add_subplot()
    draw_regret(plain, results)
    draw_regret(axes, results, bound)
    assert len(axes.get_lines()) == len(plain.get_lines()) + 1
    line = axes.get_lines()[-1]
    x, y = line.get_data()
    assert (x[0], x[-1]) == (1, results.checkpoints[-1])
    assert_allclose(y, 4.966 * np.log(x))
    assert line.get_linewidth() < axes.get_lines()[0].get_linewidth()
    assert "4.97 ln t" in [text.get_text() for text in axes.texts]
    assert "lower bound" in axes.get_legend().get_texts()[-1].get_text()
    path = tmp_path / "regret.png"
    plot_regret(results, path)
    without = path.read_bytes()
    plot_regret(results, path, lower_bound=bound)
    assert path.read_bytes() != without


def results_of(labels, **manifest):
    """Results in which each agent has more regret than the one before it."""
    one = np.ones((2, 3))
    runs = tuple(AgentRun(label, one * i, one.astype(int), 1) for i, label in enumerate(labels))
    return Results((1, 2, 3), runs, {"env_id": "x", **manifest})


def test_eight_agents_with_odd_names_can_be_told_apart():
    labels = [*"abcde", "_hidden", "cost $5 and $6", "x/y.py:Mine"]
    axes = plot_regret(results_of(labels, env_kwargs={"pmf": np.ones((9, 9))})).axes[0]
    lines = axes.get_lines()
    looks = {(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in lines}
    assert len(looks) == len(labels)
    texts = [text.get_text().strip() for text in axes.get_legend().get_texts()]
    assert texts[-3:] == ["_hidden", r"cost \$5 and \$6", "Mine"]


def test_of_many_agents_the_five_best_are_coloured_and_all_named():
    labels = [f"a{number}" for number in range(14)]
    axes = plot_regret(results_of(labels)).axes[0]
    texts = [text.get_text().strip() for text in axes.get_legend().get_texts()]
    assert texts == [*labels[:5], "9 other agents"]
    assert [text.get_text().split()[0] for text in axes.texts] == labels
    heights = [text.xy[1] for text in axes.texts]
    assert np.diff(heights).min() > 0.04
    assert max(heights) <= 1
    few = plot_regret(results_of([f"a{number}" for number in range(30)])).axes[0]
    assert len(few.texts) == 5  # more would not fit


def test_chosen_agents_are_coloured_and_renamed(results):
    figure = plot_regret(results, labels={"c-ucb": "ours", "ucb": "UCB"}, highlight=["c-ucb"])
    legend = figure.axes[0].get_legend().get_texts()
    assert [text.get_text().strip() for text in legend] == ["ours", "2 other agents"]
    assert [text.get_text().split()[0] for text in figure.axes[0].texts] == [
        "ours",
        "UCB",
        "random",
    ]
    for wrong in ({"labels": {"ubc": "x"}}, {"highlight": ["ubc"]}):
        with pytest.raises(ValueError, match=r"unknown agent 'ubc': .*ucb"):
            plot_regret(results, **wrong)


def test_bands_by_hand(results):
    final = results.final("random")
    mean, sd = final.mean(), final.std(ddof=1)
    expected = {
        "sd": (mean - sd, mean, mean + sd),
        "interval": (*stats.t.interval(0.95, 11, mean, sd / 12**0.5), mean),
        "quantiles": np.quantile(final, [0.05, 0.5, 0.95]),
    }
    for band, values in expected.items():
        axes = plot_regret(results, band=band, highlight=["random"]).axes[0]
        edges = axes.collections[0].get_paths()[0].vertices
        at_end = edges[edges[:, 0] == 200][:, 1]
        centre = axes.get_lines()[2].get_ydata()[-1]
        low, middle, high = sorted(values)
        assert_allclose([at_end.min(), centre, at_end.max()], [low, middle, high])
    assert not plot_regret(results, band="none").axes[0].collections
    with pytest.raises(ValueError, match="unknown band 'sem': expected one of: sd"):
        plot_regret(results, band="sem")


def test_given_axes_are_drawn_into(results):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot_regret(results, axes=right, title="mine") is figure
    assert (right.get_title(), len(left.get_lines())) == ("mine", 0)


def test_a_picture_says_who_did_not_finish(results):
    failed = AgentRun.failed("my.py:Mine", "agent 'my.py:Mine', trial 0, round 3: no")
    axes = plot_regret(replace(results, runs=(*results.runs, failed))).axes[0]
    assert axes.get_xlabel() == "round\nnot finished: Mine"


def test_the_title_names_what_is_not_usual(results):
    title = plot_regret(results).axes[0].get_title()
    assert title == "CMAB-Tabular-v0"
    manifest = {**results.manifest, "delay": 5, "draws": "rounds", "env_kwargs": {"preset": "x"}}
    title = plot_regret(replace(results, manifest=manifest)).axes[0].get_title()
    assert title == "CMAB-Tabular-v0 (preset=x), delay=5, draws=rounds"


def test_one_trial_has_no_band():
    axes = plot_regret(evaluate("CMAB-Tabular-v0", ["ucb"], 20, 1)).axes[0]
    assert not axes.collections
    assert axes.get_legend().get_title().get_text() == "one trial"


def test_labels_move_apart_and_stay_inside():
    assert spread([0.2, 0.2, 0.9], 0.1) == pytest.approx([0.2, 0.3, 0.9])
    assert spread([0.97, 0.98, 0.99], 0.1) == pytest.approx([0.8, 0.9, 1.0])
    assert spread([0.0], 0.1) == [0.0]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_hostile_names_are_drawn_as_text(hostile_results, tmp_path, kind):
    # Warnings, such as those of missing glyphs or of a layout without room, are errors.
    path = tmp_path / f"regret.{kind}"
    plot_regret(hostile_results, path)
    if kind == "svg":
        assert ET.parse(path).getroot().tag.endswith("svg")  # noqa: S314


def test_labels_that_look_alike_are_numbered():
    labels = ["ucb", "a\x00", "a\x01", "n" * 500]
    assert drawn_names(labels) == ["1: ucb", "2: a\ufffd", "3: a\ufffd", f"4: {'n' * 49}…"]
    assert drawn_names(labels[:2]) == ["ucb", "a\ufffd"]


@pytest.mark.parametrize("name", ["plot", "plot.", "plot.xyz", ".png"])
def test_a_plot_needs_an_extension_for_pictures(results, tmp_path, name):
    with pytest.raises(ValueError, match=r"expected a file name with an extension for pictures"):
        plot_regret(results, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize(
    "names",
    [
        ("a name of some length", "another one", "third", "the fourth of them"),
        ("ucb(B=5.0)", "ts(B=4.0, beta=1.0)", "c-ucb(B=5.0)", "c-ts(B=4.0, beta=1.0)"),
    ],
)
def test_the_legend_of_a_figure_is_whole(results, tmp_path, number, names, monkeypatch):
    """And the panels have room: Matplotlib would warn, which is an error here."""
    boxes = []

    def look(figure, *_, **__):
        figure.draw_without_rendering()
        boxes.append((figure.legends[0].get_window_extent(), figure.bbox))
        (tmp_path / "picture").touch()

    monkeypatch.setattr(Figure, "savefig", lambda figure, part, **_: (look(figure), part.touch()))
    runs = tuple(replace(results.runs[0], label=name) for name in names)
    panel = replace(results, runs=runs)
    bounds, marks = LowerBound(1.0, np.zeros(2)), Marks(40, {names[0]: 7.5}, "published")
    plot_panels(
        [panel] * number,
        ["title"] * number,
        [tmp_path / "p.png"],
        "Figure",
        [bounds] * number,
        [marks] * number,
    )
    legend, whole = boxes[0]
    assert whole.x0 <= legend.x0
    assert legend.x1 <= whole.x1


def test_log_checkpoints_are_drawn_on_a_logarithmic_axis():
    for checkpoints, scale in (("log", "log"), (10, "linear")):
        results = evaluate("CMAB-Tabular-v0", ["ucb"], 100, 2, checkpoints=checkpoints)
        axes = plot_regret(results).axes[0]
        assert axes.get_xscale() == scale
        assert axes.get_xlim()[1] == 100


@pytest.mark.parametrize("log", ["none", "x", "y", "xy"])
def test_axes_are_logarithmic_as_chosen(results, tmp_path, log):
    axes = plot_regret(results, tmp_path / "x.png", log=log).axes[0]
    scales = {True: "log", False: "linear"}
    assert (axes.get_xscale(), axes.get_yscale()) == (scales["x" in log], scales["y" in log])
    with pytest.raises(ValueError, match="unknown log 'z': expected one of: none"):
        plot_regret(results, log="z")


def test_nothing_to_plot(tmp_path):
    with pytest.raises(ValueError, match="no agent finished"):
        plot_regret(Results((1,), (), {}), tmp_path / "x.png")


def test_agents_of_files_may_be_named_as_they_are_drawn():
    both = results_of(["ucb", "x/y.py:Mine", "c-x/y.py:Mine"])
    agents = drawn_agents(both, {"Mine": "ours", "c-x/y.py:Mine": "C-ours"}, ["Mine"])
    assert [agent.name for agent in agents] == ["ucb", "ours", "C-ours"]
    assert [agent.highlighted for agent in agents] == [False, True, False]
