"""Pictures of a leaderboard: performance profiles, and the distribution of ranks over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.plots.agents import GREY, drawn_names, look
from cmab_gym.evaluation.plots.figure import new_figure, save_figure
from cmab_gym.evaluation.results.results import short_labels
from cmab_gym.leaderboard.board import ranked_rows, stacked
from cmab_gym.leaderboard.records import Records, Row
from cmab_gym.leaderboard.scores import STATISTICS, interval, profile, resampled, task_ranks
from cmab_gym.leaderboard.suite import QUICK_AGENTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = ("profile.png", "ranks.png")
_BEST = 3  # agents that are coloured in the profile, next to `QUICK_AGENTS`
_ROWS = 30  # agents in the picture of ranks
_LEAST = 1e-3  # where the axis of the profile begins at the latest
_RESAMPLES = 200  # for the bands, which a reader cannot see more exactly
_POINT, _BOX, _GIVEN = "#0072B2", "0.15", "#D55E00"


def plot_profile(
    records: Records, path: str | Path | None = None, given: Sequence[str] = (), by: str = "iqm"
) -> Figure:
    """Plot the share of trials of all tasks whose normalised regret is at most so much.

    Args:
        records: of the agents; those that have a place are drawn.
        path: file to write; None writes none.
        given: agents to colour, next to the three best, random and the paper's; the others are
            grey.
        by: as for `leaderboard`.

    Raises:
        ValueError: no agent has a place, or `by` is unknown.
        OSError: the file cannot be written.
    """
    rows, regret, score = _ranked(records, by)
    best = {rows[i].agent for i in np.argsort(score, kind="stable")[:_BEST]}
    least = max(_LEAST, regret[regret > 0].min(initial=1))
    levels = np.geomspace(least, max(1.5, regret.max()), 150)
    curves = profile(regret, levels)
    figure = new_figure(7.5, 4.8)
    axes = figure.add_subplot()
    names = drawn_names(short_labels([row.agent for row in rows]))
    coloured = [i for i, row in enumerate(rows) if row.agent in {*best, *QUICK_AGENTS, *given}]
    for i in set(range(len(rows))) - {*coloured}:
        axes.plot(levels, curves[i], color=GREY, linewidth=0.5, alpha=0.6, zorder=1)
    for position, i in enumerate(sorted(coloured, key=lambda i: score[i])):
        colour, dash, marker = look(position)
        band = resampled(regret[[i]], lambda own: profile(own, levels), _RESAMPLES, 0)[:, 0]
        axes.fill_between(levels, *interval(band), color=colour, alpha=0.15, linewidth=0)
        style: dict[str, Any] = {"color": colour, "linestyle": dash, "marker": marker}
        every = (4 * position % 25, 25)
        axes.plot(levels, curves[i], label=f" {names[i]}", markersize=4, markevery=every, **style)
    others = len(rows) - len(coloured)
    if others:
        axes.plot([], [], color=GREY, linewidth=0.9, label=f" {others} other agents")
    axes.axvline(1, color="0.4", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlim(levels[0], levels[-1])
    axes.set_ylim(0, 1)
    axes.set_xlabel("normalised regret (0: the best arm always; 1: random pulls)")
    axes.set_ylabel("share of trials with at most so much")
    axes.grid(alpha=0.3, linewidth=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(fontsize=8, loc="upper left", handlelength=4)
    axes.set_title(f"{_suite(records)}; bands: 95 %", fontsize=10)
    return _saved(figure, path)


def plot_ranks(
    records: Records, path: str | Path | None = None, given: Sequence[str] = (), by: str = "iqm"
) -> Figure:
    """Plot the rank of each agent on each task as a point, with a box of quartiles.

    Args:
        records: of the agents; of those that have a place, the best 30 and `given` are drawn.
        path: file to write; None writes none.
        given: agents to draw in another colour.
        by: as for `leaderboard`.

    Raises:
        ValueError: no agent has a place, or `by` is unknown.
        OSError: the file cannot be written.
    """
    from matplotlib.ticker import MaxNLocator

    rows, regret, score = _ranked(records, by)
    ranks, order = task_ranks(regret), np.argsort(score, kind="stable")
    chosen = [i for at, i in enumerate(order) if at < _ROWS or rows[i].agent in given]
    figure = new_figure(7.5, 1.4 + 0.24 * len(chosen))
    axes = figure.add_subplot()
    for height, i in enumerate(chosen):
        colour = _GIVEN if rows[i].agent in given else _POINT
        style: dict[str, Any] = {"s": 14, "alpha": 0.45, "linewidths": 0, "zorder": 2}
        axes.scatter(ranks[i], np.full(ranks.shape[1], height), color=colour, **style)
        low, median, high = np.quantile(ranks[i], [0.25, 0.5, 0.75])
        box: dict[str, Any] = {"edgecolor": _BOX, "linewidth": 0.9, "fill": False, "zorder": 3}
        axes.barh(height, high - low, left=low, height=0.7, **box)
        axes.plot([median] * 2, [height - 0.35, height + 0.35], color=_BOX, linewidth=1.8)
    names = drawn_names(short_labels([row.agent for row in rows]))
    axes.set_yticks(range(len(chosen)), [f" {names[i]}" for i in chosen], fontsize=8)
    axes.set_ylim(len(chosen) - 0.4, -0.6)
    axes.set_xlim(0.5, len(rows) + 0.5)  # without a tick at 0, which is not a rank
    axes.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10], integer=True))
    axes.set_xlabel(f"rank among {len(rows)} agents, a point for each task; box: quartiles")
    axes.grid(axis="x", alpha=0.3, linewidth=0.5)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(_suite(records), fontsize=10)
    return _saved(figure, path)


def _ranked(records: Records, by: str) -> tuple[list[Row], FloatArray, FloatArray]:
    """Return the rows that have a place, their regret, and what decides the place."""
    statistic = STATISTICS[checks.choice("by", by, STATISTICS)]
    rows = ranked_rows(records)
    regret = stacked(rows, rows[0].played)
    return rows, regret, statistic(regret)


def _suite(records: Records) -> str:
    suite = records.suite
    return f"{len(suite.tasks)} tasks, {suite.trials} trials of {suite.rounds:,} rounds each"


def _saved(figure: Figure, path: str | Path | None) -> Figure:
    if path is not None:
        save_figure(figure, Path(path))
    return figure
