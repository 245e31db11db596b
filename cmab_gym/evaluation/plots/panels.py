"""Several pictures of regret side by side, with one legend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cmab_gym.evaluation.plots.figure import name_missing, new_figure, save_figure
from cmab_gym.evaluation.plots.regret import Marks, draw_regret
from cmab_gym.evaluation.results.results import Results

if TYPE_CHECKING:
    from cmab_gym.theory import LowerBound


def plot_panels(
    panels: Sequence[Results],
    titles: Sequence[str],
    paths: Sequence[Path],
    title: str,
    lower_bounds: Sequence[LowerBound | None] | None = None,
    marks: Sequence[Marks | None] | None = None,
) -> None:
    """Plot several results side by side, as panels of one figure with one legend.

    Args:
        panels: results of the same agents.
        titles: one for each panel.
        paths: files to write; their extensions select the formats.
        title: of the figure.
        lower_bounds: one for each panel, drawn as by `plot_regret`.
        marks: for each panel, values from elsewhere.
    """
    figure = new_figure(max(6.5, 4.6 * len(panels)), 4.4)
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    bounds = [None] * len(panels) if lower_bounds is None else lower_bounds
    marked = [None] * len(panels) if marks is None else marks
    for axes, results, own, bound, mark in zip(every, panels, titles, bounds, marked, strict=True):
        draw_regret(axes, results, bound, mark)
        name_missing(axes, results)
        axes.set_title(own, fontsize=10)
    handles, labels = every[0].get_legend_handles_labels()
    about = every[0].get_legend().get_title().get_text()
    for axes in every:
        axes.get_legend().remove()
    rows = -(-len(labels) // (2 * len(panels)))
    figure.legend(
        handles,
        labels,
        title=about,
        loc="outside lower center",
        ncols=-(-len(labels) // rows),
        handlelength=4,
    )
    figure.suptitle(title, fontsize=11)
    for path in paths:
        save_figure(figure, path)
