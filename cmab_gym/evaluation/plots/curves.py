"""Curves over rounds: the centre of the trials, a band around it, and labels at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.evaluation.plots.agents import GREY, DrawnAgent
from cmab_gym.evaluation.results.results import Results, half_width, standard_deviation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Band: TypeAlias = Literal["sd", "interval", "quantiles", "none"]
Log: TypeAlias = Literal["none", "x", "y", "xy"]
Place: TypeAlias = Literal["upper left", "lower right", "best"]
Label: TypeAlias = tuple[float, str, str]  # height in data coordinates, text, colour
BANDS = {
    "sd": "mean of {} trials, band: ± 1 sd",
    "interval": "mean of {} trials, band: its 95 % interval",
    "quantiles": "median of {} trials, band: 5 % to 95 %",
    "none": "mean of {} trials",
}
LOGS = ("none", "x", "y", "xy")
_MARKS = 8  # markers per curve
_LINE = 0.045  # height of a label, as a share of that of the axes
_MOST_LABELS = 18


def centre_and_band(curves: AnyArray, band: Band) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the centre, the lower and the upper end of the band at each checkpoint.

    Args:
        curves: numbers (trials, C).
        band: "sd", mean and standard deviation of the trials; "interval", mean and its 95 %
            interval (Student's t); "quantiles", median and quantiles of 5 % and 95 %; or "none".
    """
    if band == "quantiles":
        low, centre, high = np.quantile(curves, [0.05, 0.5, 0.95], axis=0)
        return centre, low, high
    mean = curves.mean(axis=0)
    if band == "none" or len(curves) < 2:
        return mean, mean, mean
    width = standard_deviation(curves.astype(np.float64))
    if band == "interval":
        width = half_width(len(curves), 1.0) * width
    return mean, mean - width, mean + width


def draw_curve(
    axes: Axes, rounds: Sequence[int] | IntArray, curves: AnyArray, agent: DrawnAgent, band: Band
) -> float:
    """Draw an agent's curve and its band; return the height of its end.

    Args:
        axes: where to draw.
        rounds: C rounds.
        curves: numbers (trials, C).
        agent: whose curve it is; one that is not highlighted has no band.
        band: see `centre_and_band`.
    """
    centre, low, high = centre_and_band(curves, band)
    if agent.highlighted and (high > low).any():
        axes.fill_between(rounds, low, high, color=agent.colour, alpha=0.15, linewidth=0)
    style: dict[str, Any] = {"linewidth": 0.9, "zorder": 1.5}
    if agent.highlighted:
        # Matplotlib would hide a curve whose label starts with an underscore.
        style = {"marker": agent.marker, "markersize": 5, "label": f" {agent.name}"}
        style["markevery"] = max(1, len(rounds) // _MARKS)
    axes.plot(rounds, centre, color=agent.colour, linestyle=agent.dash, **style)
    return float(centre[-1])


def label_curves(axes: Axes, labels: Sequence[Label]) -> None:
    """Write each curve's label next to its end, moved apart where they would overlap."""
    ordered = sorted(labels)
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = [float(to_axes.transform((axes.get_xlim()[1], height))[1]) for height, _, _ in ordered]
    for height, (_, text, colour) in zip(spread(ends, _LINE), ordered, strict=True):
        style: dict[str, Any] = {"va": "center", "fontsize": 8, "color": colour}
        axes.annotate(
            text,
            (1, height),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            annotation_clip=False,
            **style,
        )


def spread(heights: Sequence[float], least: float) -> list[float]:
    """Move increasing heights apart by at least `least`, and below 1 as far as there is room."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + least) if moved else max(height, 0.0))
    top = max(1.0, least * (len(moved) - 1))
    for position in reversed(range(len(moved))):
        moved[position] = min(moved[position], top)
        top = moved[position] - least
    return moved


def end_labels(agents: Sequence[DrawnAgent], ends: Sequence[float]) -> list[Label]:
    """Return the labels of the curves; of many agents, only those of the highlighted ones."""
    few, names = len(agents) <= _MOST_LABELS, _without_parameters([each.name for each in agents])
    return [
        (end, f"{name} {_number(end)}", agent.colour if agent.highlighted else "0.45")
        for agent, name, end in zip(agents, names, ends, strict=True)
        if few or agent.highlighted
    ]


def _without_parameters(names: Sequence[str]) -> Sequence[str]:
    """Return the names without the parameters, which the legend has, if they stay different."""
    short = [name.partition("(")[0] for name in names]
    return short if len({*short}) == len(names) else names


def _number(value: float) -> str:
    return f"{value:,.{0 if value >= 10 or value.is_integer() else 2}f}"


def log_axes(results: Results, log: str | None) -> str:
    """Return which axes are logarithmic, "none", "x", "y" or "xy"; None follows the checkpoints.

    Raises:
        ValueError: `log` is not one of these.
    """
    if log is None:
        return "x" if results.manifest.get("log_checkpoints") else "none"
    return checks.choice("log", log, LOGS)


def style_rounds(axes: Axes, results: Results, log: str) -> None:
    """Scale the axes, and name the horizontal one.

    Args:
        axes: what to style.
        results: whose rounds are shown.
        log: the logarithmic axes: "none", "x", "y" or "xy".
    """
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("round")
    if "x" in log:
        axes.set_xscale("log")
        axes.set_xlim(1, max(results.checkpoints[-1], 2))
    else:
        axes.set_xlim(0, results.checkpoints[-1])
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    if "y" in log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3, linewidth=0.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def add_legend(axes: Axes, agents: Sequence[DrawnAgent], band: Band, loc: Place) -> None:
    """Add the legend: the highlighted agents, how many others, and what is drawn of each."""
    others = sum(not agent.highlighted for agent in agents)
    if others:
        what = f" {others} other agents" if others > 1 else " another agent"
        axes.plot([], [], color=GREY, linewidth=0.9, label=what)
    trials = len(agents[0].run.regret)
    axes.legend(
        title=BANDS[band].format(trials) if trials > 1 else "one trial",
        fontsize=8,
        title_fontsize=8,
        loc=loc,
        handlelength=4,
    )
