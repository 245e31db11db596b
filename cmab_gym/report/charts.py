"""The charts of a report: Altair's specifications and the rows that they draw.

Text of users, such as names of agents, is only ever data of a chart, never part of an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.evaluation.comparison.statistics import QUANTILES
from cmab_gym.evaluation.results.results import standard_deviation
from cmab_gym.text import shown

if TYPE_CHECKING:
    import altair as alt

Rows = list[dict[str, Any]]

# At least 3 : 1 against the light and the dark background, and safe for colour-blind readers
# (after Okabe and Ito). With 7 colours, 5 dashes and 5 shapes, the first 35 agents look different.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#9A7B00", "#8A63D2", "#808080")
DASHES = ((1, 0), (7, 3), (2, 2), (8, 2, 2, 2), (12, 4))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
_LABEL = 50  # columns of a terminal, at most
_DIGITS = 5  # significant ones of a number in a chart

# Vega-Lite 6.4 shows names as "undefined" where it looks for the nearest point: there the row is
# one level deeper.
_ROW = "(datum.datum || datum)"
_CURVE_TOOLTIP = (
    f"{{agent: {_ROW}.name, round: format({_ROW}.round, ',d'), mean: format({_ROW}.mean, ',.1f'), "
    f"'± 1 sd': isValid({_ROW}.high) ? "
    f"format({_ROW}.low, ',.1f') + ' to ' + format({_ROW}.high, ',.1f') : '-'}}"
)


@dataclass(frozen=True)
class Chart:
    """A chart, which redraws when a reader hides agents or changes an axis.

    Args:
        description: the text alternative.
        specs: Vega-Lite specifications by the axes that are logarithmic: "", "x", "y" or "xy".
        data: the rows that they draw, by name; "agents" has the index and the name of each agent.
        marks: "lines", "boxes" or "points", for the legend.
        agents: indices of the agents in it.
        log_axes: what the axes that can be logarithmic show, by "x" and "y".
        log: those that are logarithmic at first.
    """

    description: str
    specs: Mapping[str, Mapping[str, Any]]
    data: Mapping[str, Rows]
    marks: str
    agents: Sequence[int]
    log_axes: Mapping[str, str]
    log: str = ""


def agent_rows(names: Sequence[str]) -> Rows:
    """Return the rows that give each agent's index its name."""
    return [{"agent": index, "name": name} for index, name in enumerate(_distinct(names))]


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names as drawn, with numbers if some of them look the same."""
    short = [shown(name, most=_LABEL) for name in names]
    if len({*short}) == len(short):
        return short
    return [f"{number}: {name}" for number, name in enumerate(short, start=1)]


def curves(
    names: Sequence[str],
    checkpoints: Sequence[int],
    values: Mapping[int, FloatArray],
    axis: str,
    what: str,
    most: int,
) -> Chart:
    """Draw means over trials as lines over rounds, with bands of one standard deviation.

    Args:
        names: of all agents of the section.
        checkpoints: C rounds.
        values: float64 (trials, C), by the index of the agent.
        axis: title of the vertical axis.
        what: what it shows, in one word.
        most: the most points of a curve.
    """
    at = _spread(len(checkpoints), most)
    rows: Rows = []
    for agent, own in values.items():
        mean, sd = own.mean(axis=0)[at], standard_deviation(own)[at]
        for t, centre, half in zip(np.array(checkpoints)[at], mean, sd, strict=True):
            band = {"low": _short(centre - half), "high": _short(centre + half)}
            rows.append(
                {
                    "agent": agent,
                    "round": int(t),
                    "mean": _short(centre),
                    **(band if np.isfinite(half) else {}),
                }
            )
    floor = min((row["mean"] for row in rows if row["mean"] > 0), default=1.0)
    specs = {
        axes: _from(floor, _curves_spec(axis, len(names), "x" in axes, "y" in axes))
        for axes in ("", "x", "y", "xy")
    }
    description = f"Line chart: {axis} of each agent, mean over trials, by round."
    data = {"agents": agent_rows(names), "curves": rows}
    return Chart(description, specs, data, "lines", [*values], {"x": "rounds", "y": what})


def distributions(names: Sequence[str], final: Sequence[FloatArray], axis: str, most: int) -> Chart:
    """Draw the quantiles of final regret over trials as boxes, and trials as ticks.

    Args:
        names: of the agents.
        final: the final regret of each, float64 (trials,).
        axis: title of the horizontal axis.
        most: the most ticks of an agent.
    """
    boxes, ticks = [], []
    for agent, own in enumerate(final):
        quantiles = [_short(value) for value in np.quantile(own, QUANTILES)]
        box = {
            f"q{100 * share:.0f}": value for share, value in zip(QUANTILES, quantiles, strict=True)
        }
        boxes.append({"agent": agent, **box, "mean": _short(own.mean())})
        ordered = np.sort(own)[_evenly(own.size, most)]
        ticks += [{"agent": agent, "regret": _short(value)} for value in ordered]
    floor = min((row["regret"] for row in ticks if row["regret"] > 0), default=1.0)
    specs = {
        axes: _from(floor, _distributions_spec(axis, len(names), bool(axes))) for axes in ("", "x")
    }
    description = (
        f"Box plot: {axis} of each agent; boxes from the 25 % to the 75 % quantile over trials, "
        "lines from the 5 % to the 95 % quantile."
    )
    data = {"agents": agent_rows(names), "boxes": boxes, "ticks": ticks}
    return Chart(description, specs, data, "boxes", range(len(final)), {"x": "regret"})


def pulls(names: Sequence[str], arms: Sequence[str], mean_pulls: Mapping[int, FloatArray]) -> Chart:
    """Draw the mean pulls of each arm as points.

    Args:
        names: of all agents of the section.
        arms: names of K arms, in the order to draw.
        mean_pulls: float64 (K,), by the index of the agent.
    """
    rows = [
        {"agent": agent, "arm": arm, "pulls": _short(value)}
        for agent, own in mean_pulls.items()
        for arm, value in enumerate(own)
    ]
    data = {
        "agents": agent_rows(names),
        "arms": [{"arm": arm, "arm_name": name} for arm, name in enumerate(_distinct(arms))],
        "pulls": rows,
    }
    specs = {axes: _pulls_spec(len(names), len(arms), bool(axes)) for axes in ("", "x")}
    description = "Dot plot: mean pulls of each arm by each agent."
    return Chart(description, specs, data, "points", [*mean_pulls], {"x": "pulls"}, log="x")


@cache
def _curves_spec(axis: str, n_agents: int, log_x: bool, log_y: bool) -> dict[str, Any]:
    """Return the specification; a vertical axis that is logarithmic starts at `floor`."""
    import altair as alt

    base = _base("curves")
    if log_x:
        base = base.transform_filter(alt.datum["round"] > 0)
    if log_y:
        base = base.transform_filter(alt.datum["mean"] > 0)
        base = base.transform_calculate(low="max(datum.low, floor)")
    x = alt.X("round:Q", title="round", scale=_scale(log_x), axis=alt.Axis(tickCount=6))
    y_scale = _scale(log_y, from_floor=log_y)
    y = alt.Y("mean:Q", title=axis, scale=y_scale)
    colour = _colour(n_agents)
    band = (
        base.transform_filter(alt.expr.isValid(alt.datum["high"]))
        .mark_area(opacity=0.15, clip=True)
        .encode(x=x, y=alt.Y("low:Q", title=axis, scale=y_scale), y2="high:Q", color=colour)
    )
    line = base.mark_line(clip=True).encode(x=x, y=y, color=colour, strokeDash=_dash(n_agents))
    hover = alt.selection_point(
        name="hover",
        fields=["round", "agent"],
        nearest=True,
        on="pointermove",
        clear="pointerout",
        empty=False,
    )
    points = (
        base.mark_point(filled=True, size=80, clip=True)
        .encode(
            x=x,
            y=y,
            color=colour,
            opacity=alt.when(hover).then(alt.value(1)).otherwise(alt.value(0)),
            tooltip=alt.value(alt.expr(_CURVE_TOOLTIP)),
        )
        .add_params(hover)
    )
    return _finished(alt.layer(band, line, points), n_agents, height=360)


@cache
def _distributions_spec(axis: str, n_agents: int, log: bool) -> dict[str, Any]:
    import altair as alt

    shares = [f"q{100 * share:.0f}" for share in QUANTILES]
    lowest, low, middle, high, highest = shares
    boxes, ticks = _base("boxes"), _base("ticks")
    if log:
        ticks = ticks.transform_filter(alt.datum["regret"] > 0)
        boxes = boxes.transform_calculate(
            **{share: f"max(datum.{share}, floor)" for share in shares}
        )
    scale, colour = _scale(log, from_floor=log), _colour(n_agents)
    y = alt.Y(
        "name:N",
        title=None,
        sort=alt.EncodingSortField("agent", op="min"),
        axis=_name_axis(),
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=axis, scale=scale)

    tooltip = [
        alt.Tooltip("name:N", title="agent"),
        alt.Tooltip("mean:Q", format=",.1f"),
        *(alt.Tooltip(f"{share}:Q", title=f"{share[1:]} %", format=",.1f") for share in shares),
    ]
    layers = [
        ticks.mark_tick(opacity=0.35, thickness=1, bandSize=20).encode(
            x=x("regret"), y=y, color=colour
        ),
        boxes.mark_rule(strokeWidth=2).encode(x=x(lowest), x2=highest, y=y, color=colour),
        boxes.mark_bar(size=12).encode(x=x(low), x2=high, y=y, color=colour, tooltip=tooltip),
        boxes.mark_tick(thickness=3, bandSize=12, color="white").encode(
            x=x(middle), y=y, tooltip=tooltip
        ),
    ]
    return _finished(alt.layer(*layers), n_agents, height=40 + 30 * n_agents)


@cache
def _pulls_spec(n_agents: int, n_arms: int, log: bool) -> dict[str, Any]:
    import altair as alt

    arms = alt.LookupData(alt.NamedData("arms"), key="arm", fields=["arm_name"])
    base = _base("pulls").transform_lookup(lookup="arm", from_=arms)
    if log:
        base = base.transform_filter(alt.datum["pulls"] > 0)
    sort = alt.EncodingSortField("arm", op="min")
    points = base.mark_point(filled=True, size=70, opacity=0.85).encode(
        x=alt.X("pulls:Q", title="mean pulls per trial", scale=_scale(log)),
        y=alt.Y(
            "arm_name:N",
            title=None,
            sort=sort,
            axis=_name_axis(),
        ),
        color=_colour(n_agents),
        shape=_by_agent(alt.Shape, SHAPES, n_agents),
        tooltip=[
            alt.Tooltip("arm_name:N", title="arm"),
            alt.Tooltip("name:N", title="agent"),
            alt.Tooltip("pulls:Q", title="mean pulls", format=",.1f"),
        ],
    )
    return _finished(points, n_agents, height=40 + 22 * n_arms)


def _base(data: str) -> alt.Chart:
    """Return a chart of the rows of the agents that the reader has not hidden, with their names."""
    import altair as alt

    agents = alt.LookupData(alt.NamedData("agents"), key="agent", fields=["name"])
    return (
        alt.Chart(alt.NamedData(data))
        .transform_filter("indexof(shown, datum.agent) >= 0")
        .transform_lookup(lookup="agent", from_=agents)
    )


def _name_axis() -> alt.Axis:
    """Return an axis of names, with a line for each, that take at most a quarter of the width."""
    import altair as alt

    return alt.Axis(labelLimit=alt.ExprRef("max(110, containerSize()[0] / 4)"), grid=True)


def _scale(log: bool, from_floor: bool = False) -> alt.Scale:
    import altair as alt

    if not log:
        return alt.Scale(type="linear", nice=False, domainMin=0)  # a band may reach below
    lowest = alt.ExprRef("floor") if from_floor else alt.Undefined
    return alt.Scale(type="log", nice=False, domainMin=lowest)


def _from(floor: float, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a specification with the number at which logarithmic axes start."""
    return {**spec, "params": [{"name": "floor", "value": floor}, *spec["params"]]}


def _colour(n_agents: int) -> alt.Color:
    import altair as alt

    return _by_agent(alt.Color, COLOURS, n_agents)


def _dash(n_agents: int) -> alt.StrokeDash:
    import altair as alt

    return _by_agent(alt.StrokeDash, DASHES, n_agents)


def _by_agent(channel: Any, looks: Sequence[Any], n_agents: int) -> Any:
    """Encode the agent by looks that repeat."""
    import altair as alt

    every = list(range(n_agents))
    scale = alt.Scale(domain=every, range=[looks[agent % len(looks)] for agent in every])
    return channel("agent:N", scale=scale, legend=None)


def _finished(chart: Any, n_agents: int, height: int) -> dict[str, Any]:
    """Return the specification, in the colours of the text around it."""
    import altair as alt

    ink: dict[str, Any] = dict.fromkeys(
        ("labelColor", "titleColor", "gridColor", "domainColor", "tickColor"), "currentColor"
    )
    spec: dict[str, Any] = (
        chart.add_params(alt.param(name="shown", value=list(range(n_agents))))
        .properties(width="container", height=height)
        .configure(background="transparent", font="system-ui, sans-serif")
        .configure_axis(
            **ink,
            gridOpacity=0.15,
            labelFontSize=12,
            labelSeparation=8,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_view(stroke=None)
        .to_dict()
    )
    return spec


def _spread(n: int, most: int) -> IntArray:
    """Return at most about `most` of n positions, the last included, for linear and log axes."""
    if n <= most:
        return np.arange(n)
    even, log = np.linspace(0, n - 1, most // 2), np.geomspace(1, n, most // 2) - 1
    return np.unique(np.concatenate([even, log]).round().astype(np.int64))


def _evenly(n: int, most: int) -> IntArray:
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def _short(value: AnyArray | float) -> float:
    return float(f"{float(value):.{_DIGITS}g}")
