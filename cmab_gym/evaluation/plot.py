"""The regret plot: mean over trials with a band of one standard deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.evaluation.agent_run import AgentRun
from cmab_gym.evaluation.results import Results, short_labels, standard_deviation
from cmab_gym.files import write_whole
from cmab_gym.text import drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cmab_gym.theory import LowerBound

# Colours of different lightness (Okabe and Ito's, safe for colour-blind readers), dashes and
# markers, so that curves differ in black and white too. With 7, 5 and 11 of them, the first 385
# curves look different.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
_MARKS = 8  # per curve
_TITLE, _LABEL, _UNIT = 90, 50, 30  # columns of a terminal, at most


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
    path: str | Path,
    title: str | None = None,
    lower_bound: LowerBound | None = None,
) -> Path:
    """Plot the regret of every agent that finished; the file appears whole or not at all.

    Args:
        results: of `evaluate`.
        path: file to write; its extension selects the format (.png, .svg, .pdf).
        title: above the axes, where `$` encloses mathematics; by default the environment and its
            keyword arguments.
        lower_bound: drawn as a thin grey line, such as
            `cmab_gym.theory.graves_lai_bound(model)`.

    Raises:
        ValueError: no agent finished, or Matplotlib cannot write files with this extension.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    kind = _format(path)
    if not results.finished:
        raise ValueError("no agent finished: expected results to plot; see results.failures")
    figure = Figure(figsize=(7.5, 4.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw_regret(axes, results, lower_bound)
    axes.set_title(default_title(results) if title is None else title, fontsize=10)
    write_whole(path, lambda part: figure.savefig(part, format=kind))
    return path


def _format(path: Path) -> str:
    from matplotlib.backend_bases import FigureCanvasBase

    kind, known = path.suffix.lstrip(".").lower(), FigureCanvasBase.get_supported_filetypes()
    if kind not in known:
        raise ValueError(
            f"path={str(path)!r}: expected a file name with an extension for pictures, such as "
            f"{path.stem}.png; known are {', '.join(f'.{each}' for each in sorted(known))}"
        )
    return kind


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(6.5, 4.6 * len(panels)), 4.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    bounds = [None] * len(panels) if lower_bounds is None else lower_bounds
    marked = [None] * len(panels) if marks is None else marks
    for axes, results, own, bound, mark in zip(every, panels, titles, bounds, marked, strict=True):
        draw_regret(axes, results, bound, mark)
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
        write_whole(path, partial(figure.savefig, format=_format(path)))


def draw_regret(
    axes: Axes,
    results: Results,
    lower_bound: LowerBound | None = None,
    marks: Marks | None = None,
) -> None:
    """Draw the curves, their bands and their labels into given axes."""
    rounds = np.array([0, *results.checkpoints])
    names = _drawn_labels([run.label for run in results.finished])
    final = [
        _draw_curve(axes, rounds, name, at_end, run, position)
        for position, (name, at_end, run) in enumerate(
            zip(names, _without_parameters(names), results.finished, strict=True)
        )
    ]
    if lower_bound is not None:
        at = np.linspace(1, rounds[-1], 200)
        bound, grey = lower_bound.regret(at), "0.45"
        axes.plot(at, bound, color=grey, linewidth=0.8, label=" lower bound, for large t")
        final.append((float(bound[-1]), f"{lower_bound.constant:.3g} ln t", grey))
    if marks is not None:
        _draw_marks(axes, [run.label for run in results.finished], marks)
    _style_axes(axes, results)
    _label_curves(axes, final)
    trials = len(results.finished[0].regret)
    axes.legend(
        title=f"mean of {trials} trials, band: ± 1 sd" if trials > 1 else "one trial",
        fontsize=8,
        title_fontsize=8,
        loc="upper left",
        handlelength=4,
    )


def _drawn_labels(labels: Sequence[str]) -> list[str]:
    """Return the labels as drawn, with numbers if some of them look the same."""
    names = [drawn(label, most=_LABEL) for label in short_labels(labels)]
    if len({*names}) == len(names):
        return names
    return [f"{number}: {name}" for number, name in enumerate(names, start=1)]


def _without_parameters(names: Sequence[str]) -> Sequence[str]:
    """Return the names without the parameters, which the legend has, if they stay different."""
    short = [name.partition("(")[0] for name in names]
    return short if len({*short}) == len(names) else names


def _draw_curve(
    axes: Axes, rounds: IntArray, name: str, at_end: str, run: AgentRun, position: int
) -> tuple[float, str, str]:
    """Draw one agent's mean and band; return the final mean, its label and the colour."""
    colour = _COLOURS[position % len(_COLOURS)]
    label = f" {name}"  # Matplotlib would hide a curve whose label starts with an underscore
    mean, sd = (_from_zero(f) for f in (run.regret.mean(axis=0), standard_deviation(run.regret)))
    if len(run.regret) > 1:
        axes.fill_between(rounds, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        rounds,
        mean,
        color=colour,
        linestyle=_DASHES[position % len(_DASHES)],
        marker=_MARKERS[position % len(_MARKERS)],
        markersize=5,
        markevery=max(1, len(rounds) // _MARKS),
        label=label,
    )
    last = float(mean[-1])
    digits = 0 if last >= 10 else 2
    return last, f"{at_end} {last:,.{digits}f}", colour


def _draw_marks(axes: Axes, labels: Sequence[str], marks: Marks) -> None:
    """Draw a hollow mark for each value, of the shape and colour of the agent's curve."""
    style: dict[str, Any] = {"linestyle": "none", "markersize": 10, "markeredgewidth": 1.6}
    hollow: dict[str, Any] = {**style, "markerfacecolor": "none", "zorder": 5}
    for position, label in enumerate(labels):
        if label in marks.values:
            colour, marker = (many[position % len(many)] for many in (_COLOURS, _MARKERS))
            axes.plot(
                [marks.at],
                [marks.values[label]],
                marker=marker,
                markeredgecolor=colour,
                clip_on=False,
                **hollow,
            )
    if marks.values:  # clipped: an empty line that is not leaves the layout no room
        axes.plot([], [], marker="o", markeredgecolor="0.3", label=f" {marks.name}", **hollow)


def _style_axes(axes: Axes, results: Results) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("round")
    unit = drawn(results.manifest.get("reward_unit", "reward"), most=_UNIT)
    axes.set_ylabel(f"cumulative regret ({unit})")
    if results.manifest.get("log_checkpoints"):
        axes.set_xscale("log")
        axes.set_xlim(1, results.checkpoints[-1])
    else:
        axes.set_xlim(0, results.checkpoints[-1])
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3, linewidth=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _label_curves(axes: Axes, final: Sequence[tuple[float, str, str]]) -> None:
    """Write each curve's label next to its final value, moved apart where they would overlap."""
    top = axes.get_ylim()[1]
    line = 0.045 * top
    heights: list[float] = []
    for value, _, _ in sorted(final):
        heights.append(max(value, heights[-1] + line) if heights else value)
    for height, (_, text, colour) in zip(heights, sorted(final), strict=True):
        style: dict[str, Any] = {"va": "center", "fontsize": 8, "color": colour}
        axes.annotate(
            text,
            (axes.get_xlim()[1], height),
            xytext=(4, 0),
            textcoords="offset points",
            annotation_clip=False,
            **style,
        )


def _from_zero(curve: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], curve])


def default_title(results: Results) -> str:
    """Return the title that names the environment and its keyword arguments."""
    env_kwargs = results.manifest.get("env_kwargs", {})
    inside = ", ".join(f"{key}={value}" for key, value in env_kwargs.items())
    name = str(results.manifest.get("env_id", ""))
    return drawn(f"{name} ({inside})" if inside else name, most=_TITLE)
