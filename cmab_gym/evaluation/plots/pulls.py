"""Pulls of each arm: a table of arms and agents, coloured by the mean over trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.evaluation.plots.agents import drawn_agents
from cmab_gym.evaluation.plots.figure import check_plot, figure_of, finished, new_figure
from cmab_gym.evaluation.results.results import Results
from cmab_gym.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

_MOST_ARMS = 50
_NAME = 40  # columns of a terminal, at most
_COLOURS = "viridis_r"  # as readable for colour-blind readers
_NONE = "white"  # of arms that an agent never pulled


def plot_pulls(
    results: Results,
    path: str | Path | None = None,
    title: str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    most_arms: int = _MOST_ARMS,
    axes: Axes | None = None,
) -> Figure:
    """Plot how often each agent pulled each arm, the mean over trials.

    The arms are ordered by their mean reward, the best at the top; the colour is logarithmic, and
    white where an agent never pulled an arm.

    Args:
        results: of `evaluate`.
        path: file to write; its extension selects the format. None writes none.
        title: above the axes; by default as for `plot_regret`.
        labels: names to draw, by the agents' labels.
        most_arms: of more arms than that, the best arm and those that some agent pulled most are
            shown, and the others together in the last row.
        axes: where to draw; None makes a figure.

    Returns:
        The figure.

    Raises:
        ValueError: as `plot_regret`, or no agent's pulls were recorded.
    """
    target = check_plot(results, path)
    checks.whole_number("most_arms", most_arms, 1)
    every = drawn_agents(results, labels)
    agents = [agent for agent in every if agent.run.pulls is not None]
    if not agents:
        raise ValueError("no pulls were recorded: run the agents again, with record_pulls=True")
    pulls = np.array([results.pulls(agent.run.label).mean(axis=0) for agent in agents]).T
    means = np.array(results.manifest.get("means", np.zeros(len(pulls))))
    arms = shown_arms(pulls, means, most_arms)
    rest = np.delete(pulls, arms, axis=0).sum(axis=0, keepdims=True)
    table = pulls[arms] if len(arms) == len(pulls) else np.concatenate([pulls[arms], rest])
    names = _arm_names(results, arms, means, len(pulls))
    if axes is None:
        width, height = 3.6 + 0.52 * len(agents), 2.2 + 0.17 * len(names)
        axes = new_figure(max(width, 6.5), max(height, 3.2)).add_subplot()
    _draw_table(axes, table, names, [agent.name for agent in agents])
    return finished(axes, results, title, target)


def shown_arms(pulls: FloatArray, means: FloatArray, most: int) -> IntArray:
    """Return the arms to show, in the order of their means, the best first.

    Args:
        pulls: float64 (K, agents).
        means: float64 (K,).
        most: how many.
    """
    best_first = np.argsort(-means, kind="stable")
    if len(means) <= most:
        return best_first
    value = pulls.max(axis=1)
    value[best_first[0]] = np.inf
    chosen = np.argsort(-value, kind="stable")[:most]
    return best_first[np.isin(best_first, chosen)]


def _arm_names(results: Results, arms: IntArray, means: FloatArray, n_arms: int) -> list[str]:
    given = results.manifest.get("arm_names") or [f"arm {arm}" for arm in range(n_arms)]
    names = [f"{drawn(given[arm], most=_NAME)}  {means[arm]:.2f}" for arm in arms.tolist()]
    others = n_arms - len(arms)
    return [*names, f"{others:,} other arms"] if others else names


def _draw_table(axes: Axes, table: FloatArray, names: Sequence[str], agents: Sequence[str]) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import FuncFormatter, NullFormatter

    colours = colormaps[_COLOURS].with_extremes(bad=_NONE)
    least, most = float(table[table > 0].min()), float(table.max())
    norm = LogNorm(least, most if most > least else least * 10)
    drawn_table = axes.imshow(
        np.where(table > 0, table, np.nan), aspect="auto", cmap=colours, norm=norm
    )
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xticks(range(len(agents)), agents, fontsize=8, rotation=40, ha="right")
    axes.set_xticks(np.arange(len(agents) - 1) + 0.5, minor=True)
    axes.grid(which="minor", axis="x", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    axes.set_ylabel("arm and its mean reward")
    if len(agents) <= 8:
        _write_numbers(axes, table, norm)
    bar = figure_of(axes).colorbar(drawn_table, ax=axes, aspect=30, pad=0.02)
    bar.set_label("pulls, mean over trials", fontsize=8)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.tick_params(labelsize=7)


def _write_numbers(axes: Axes, table: FloatArray, norm: LogNorm) -> None:
    for (row, column), value in np.ndenumerate(table):
        if value > 0:
            text = f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
            colour = "white" if norm(value) > 0.55 else "black"
            axes.text(column, row, text, ha="center", va="center", fontsize=6, color=colour)
