"""The distribution of final regret: every trial a point, and a box of quartiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.plots.agents import drawn_agents
from cmab_gym.evaluation.plots.figure import check_plot, drawn_unit, finished, new_figure
from cmab_gym.evaluation.results.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GOLDEN = (5**0.5 - 1) / 2
_POINT, _BOX, _MEAN = "#0072B2", "0.15", "#D55E00"
_HEIGHT, _SPREAD = 0.72, 0.56  # of the box and of the points, as a share of an agent's row


def plot_distribution(
    results: Results,
    path: str | Path | None = None,
    title: str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    highlight: Sequence[str] | None = None,
    log: bool = False,
    axes: Axes | None = None,
) -> Figure:
    """Plot the final regret of each trial, by agent.

    Each trial is a point; the box holds the middle half of the trials, its line is the median, and
    the diamond is the mean.

    Args:
        results: of `evaluate`.
        path: file to write; its extension selects the format. None writes none.
        title: above the axes; by default as for `plot_regret`.
        labels: names to draw, by the agents' labels.
        highlight: labels of the agents to draw in colour; by default all.
        log: whether the axis of regret is logarithmic.
        axes: where to draw; None makes a figure.

    Returns:
        The figure.

    Raises:
        ValueError: as `plot_regret`.
    """
    target = check_plot(results, path)
    every = [run.label for run in results.finished]
    agents = drawn_agents(results, labels, every if highlight is None else highlight)
    axes = new_figure(7.5, 1.4 + 0.38 * len(agents)).add_subplot() if axes is None else axes
    for row, agent in enumerate(agents):
        _draw_row(axes, row, agent.run.regret[:, -1], agent.highlighted)
    axes.set_yticks(range(len(agents)), [f" {agent.name}" for agent in agents], fontsize=8)
    axes.set_ylim(len(agents) - 0.4, -0.6)  # the first agent at the top
    if log:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    unit, trials = drawn_unit(results), len(agents[0].run.regret)
    what = f"{trials} trials, quartiles, mean" if trials > 1 else "one trial"
    axes.set_xlabel(f"regret after {results.checkpoints[-1]:,} rounds ({unit}): {what}")
    axes.grid(axis="x", alpha=0.3, linewidth=0.5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return finished(axes, results, title, target)


def _draw_row(axes: Axes, row: int, final: FloatArray, highlighted: bool) -> None:
    """Draw the points of an agent, and a box and a mean where they say more than the points."""
    point = _POINT if highlighted else "0.6"
    style: dict[str, Any] = {"s": 14, "alpha": 0.55, "linewidths": 0, "zorder": 2}
    axes.scatter(np.sort(final), row + heights(final.size), color=point, **style)
    if final.size < 2:
        return
    low, median, high = np.quantile(final, [0.25, 0.5, 0.75])
    box: dict[str, Any] = {"edgecolor": _BOX, "linewidth": 0.9, "fill": False, "zorder": 3}
    axes.barh(row, high - low, left=low, height=_HEIGHT, **box)
    middle = [row - _HEIGHT / 2, row + _HEIGHT / 2]
    axes.plot([median, median], middle, color=_BOX, linewidth=1.8, zorder=3)
    axes.plot([final.mean()], [row], "D", color=_MEAN, markersize=5, markeredgecolor="w", zorder=4)


def heights(count: int) -> FloatArray:
    """Return heights around 0 that keep neighbouring points apart, float64 (count,).

    They are multiples of the golden ratio: even, and the same every time.
    """
    if count == 1:
        return np.zeros(1)
    spread: FloatArray = _SPREAD * ((np.arange(count, dtype=np.float64) * _GOLDEN) % 1 - 0.5)
    return spread
