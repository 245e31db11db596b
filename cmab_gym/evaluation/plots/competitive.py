"""The size of the competitive set over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cmab_gym import checks
from cmab_gym.evaluation.plots.agents import drawn_agents
from cmab_gym.evaluation.plots.curves import (
    BANDS,
    Band,
    Log,
    add_legend,
    draw_curve,
    end_labels,
    label_curves,
    log_axes,
    style_rounds,
)
from cmab_gym.evaluation.plots.figure import check_plot, finished, new_figure
from cmab_gym.evaluation.results.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_competitive(
    results: Results,
    path: str | Path | None = None,
    title: str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    highlight: Sequence[str] | None = None,
    band: Band = "none",
    log: Log | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Plot among how many arms each correlated agent chose.

    Agents that rule no arms out are left out.

    Args:
        results: of `evaluate`.
        path: file to write; its extension selects the format. None writes none.
        title: above the axes; by default as for `plot_regret`.
        labels: names to draw, by the agents' labels.
        highlight: labels of the agents to draw in colour, as for `plot_regret`.
        band: as for `plot_regret`.
        log: the logarithmic axes, as for `plot_regret`.
        axes: where to draw; None makes a figure.

    Returns:
        The figure.

    Raises:
        ValueError: as `plot_regret`, or no agent rules arms out.
    """
    from matplotlib.ticker import MaxNLocator

    target = check_plot(results, path)
    checks.choice("band", band, BANDS)
    every = drawn_agents(results, labels, highlight)
    agents = [agent for agent in every if agent.run.competitive.size]
    if not agents:
        raise ValueError("no agent rules arms out: expected a correlated agent, such as c-ucb")
    axes = new_figure(7.5, 4.5).add_subplot() if axes is None else axes
    ends = [
        draw_curve(axes, results.checkpoints, agent.run.competitive, agent, band)
        for agent in agents
    ]
    style_rounds(axes, results, log_axes(results, log))
    if axes.get_yscale() == "linear":
        top = max(axes.get_ylim()[1], 2.0)
        axes.set_ylim(1 - 0.04 * (top - 1), top)  # the least size is 1
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_ylabel("arms that are not ruled out")
    label_curves(axes, end_labels(agents, ends))
    add_legend(axes, agents, band, "best")
    return finished(axes, results, title, target)
