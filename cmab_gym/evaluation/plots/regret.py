"""The regret plot: the centre of the trials with a band around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.plots.agents import DrawnAgent, drawn_agents
from cmab_gym.evaluation.plots.curves import (
    BANDS,
    Band,
    Label,
    Log,
    add_legend,
    draw_curve,
    end_labels,
    label_curves,
    log_axes,
    style_rounds,
)
from cmab_gym.evaluation.plots.figure import check_plot, drawn_unit, finished, new_figure
from cmab_gym.evaluation.results.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cmab_gym.theory import LowerBound


@dataclass(frozen=True)
class Marks:
    """Values from elsewhere, drawn as hollow marks on the curves of the agents.

    Args:
        at: their round.
        values: by the agent's label.
        name: what they are, for the legend.
    """

    at: int
    values: Mapping[str, float]
    name: str


def plot_regret(
    results: Results,
    path: str | Path | None = None,
    title: str | None = None,
    lower_bound: LowerBound | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    highlight: Sequence[str] | None = None,
    band: Band = "sd",
    log: Log | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Plot the regret of every agent that finished.

    Args:
        results: of `evaluate`.
        path: file to write, whole or not at all; its extension selects the format (.png, .svg,
            .pdf). None writes none.
        title: above the axes, where `$` encloses mathematics; by default the environment, its
            keyword arguments, and delay and draws if they are not the usual ones.
        lower_bound: drawn as a thin grey line, such as
            `cmab_gym.theory.graves_lai_bound(model)`.
        labels: names to draw, by the agents' labels.
        highlight: labels of the agents to draw in colour, with a band; the others are thin grey
            lines. By default all of at most eight agents, or the five with the least final regret.
        band: "sd", one standard deviation around the mean; "interval", the 95 % interval of the
            mean (Student's t); "quantiles", 5 % to 95 % of the trials around their median; or
            "none".
        log: the logarithmic axes, "none", "x", "y" or "xy"; by default "x" if the checkpoints are
            "log", else "none".
        axes: where to draw, such as a subplot of a figure of yours; None makes a figure.

    Returns:
        The figure.

    Raises:
        ValueError: no agent finished, no agent has a given label, an argument is unknown, or
            Matplotlib cannot write files with this extension.

    Examples:
        >>> import cmab_gym
        >>> results = cmab_gym.evaluate("CMAB-Tabular-v0", ["ucb", "c-ucb"], 100, trials=5)
        >>> figure = cmab_gym.plot_regret(results, labels={"c-ucb": "with correlations"})
        >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        [' ucb', ' with correlations']
    """
    target = check_plot(results, path)
    axes = new_figure(7.5, 4.5).add_subplot() if axes is None else axes
    draw_regret(axes, results, lower_bound, None, labels, highlight, band, log)
    return finished(axes, results, title, target)


def draw_regret(
    axes: Axes,
    results: Results,
    lower_bound: LowerBound | None = None,
    marks: Marks | None = None,
    labels: Mapping[str, str] | None = None,
    highlight: Sequence[str] | None = None,
    band: Band = "sd",
    log: Log | None = None,
) -> None:
    """Draw the curves, their bands and their labels into given axes: see `plot_regret`."""
    checks.choice("band", band, BANDS)
    scales = log_axes(results, log)
    agents = drawn_agents(results, labels, highlight)
    first = 0 if "y" not in scales else 1  # regret is 0 in round 0
    rounds = np.array([0, *results.checkpoints])[first:]
    ends = [
        draw_curve(axes, rounds, _from_zero(agent.run.regret)[:, first:], agent, band)
        for agent in agents
    ]
    final = end_labels(agents, ends)
    if lower_bound is not None:
        final.append(_draw_bound(axes, rounds[-1], lower_bound))
    if marks is not None:
        _draw_marks(axes, agents, marks)
    style_rounds(axes, results, scales)
    axes.set_ylabel(f"cumulative regret ({drawn_unit(results)})")
    label_curves(axes, final)
    add_legend(axes, agents, band, "lower right" if "y" in scales else "upper left")


def _from_zero(curves: FloatArray) -> FloatArray:
    return np.pad(curves, ((0, 0), (1, 0)))


def _draw_bound(axes: Axes, last: int, bound: LowerBound) -> Label:
    at = np.linspace(1, last, 200)
    regret, grey = bound.regret(at), "0.45"
    axes.plot(at, regret, color=grey, linewidth=0.8, label=" lower bound, for large t")
    return float(regret[-1]), f"{bound.constant:.3g} ln t", grey


def _draw_marks(axes: Axes, agents: Sequence[DrawnAgent], marks: Marks) -> None:
    """Draw a hollow mark for each value, of the shape and colour of the agent's curve."""
    style: dict[str, Any] = {"linestyle": "none", "markersize": 10, "markeredgewidth": 1.6}
    hollow: dict[str, Any] = {**style, "markerfacecolor": "none", "zorder": 5}
    for agent in agents:
        if agent.run.label in marks.values:
            look: dict[str, Any] = {"marker": agent.marker or "o", "markeredgecolor": agent.colour}
            value = marks.values[agent.run.label]
            axes.plot([marks.at], [value], clip_on=False, **look, **hollow)
    if marks.values:  # clipped: an empty line that is not leaves the layout no room
        axes.plot([], [], marker="o", markeredgecolor="0.3", label=f" {marks.name}", **hollow)
