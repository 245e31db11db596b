"""What a report says about one environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.evaluation.comparison.compare import Comparison, Pair, compare
from cmab_gym.evaluation.plots.pulls import shown_arms
from cmab_gym.evaluation.results.results import Results, short_labels
from cmab_gym.evaluation.tables import Table, distribution_table, pairs_table, summary_table
from cmab_gym.report.again import run_again
from cmab_gym.report.charts import Chart, curves, distributions, pulls
from cmab_gym.report.pooling import pooled
from cmab_gym.report.settings import settings_of
from cmab_gym.text import shown

_COLUMNS = 6  # rounds in the table of a curve
_ARMS = 20  # in the figure of pulls
_WIDEST_TITLE = 90  # columns of a terminal
_CLOSEST = 3  # agents with which the verdict compares the first


@dataclass(frozen=True)
class Figure:
    """A part of a section: a chart and the table with its numbers, or why there is none."""

    title: str
    note: str
    chart: Chart | None = None
    table: Table | None = None


@dataclass(frozen=True)
class Section:
    """What a report says about one environment; agents are in the order of their mean regret.

    Args:
        title: the environment and its keyword arguments.
        names: of the agents.
        verdict: sentences that say which agent has the least regret.
        notes: sentences about what was left out.
        summary: the final regret of each agent.
        leading: the comparisons of the first agent with the others.
        pairs: all comparisons; without rows if they are the same or too many.
        regret: the figure of regret.
        others: further figures.
        settings: tables of settings, by their titles.
        again: what runs the evaluation again.
    """

    title: str
    names: Sequence[str]
    verdict: Sequence[str]
    notes: Sequence[str]
    summary: Table
    leading: Table
    pairs: Table
    regret: Figure
    others: Sequence[Figure]
    settings: Mapping[str, Table]
    again: Sequence[str]


def section_of(group: Sequence[Results], most_points: int, most_pairs: int) -> Section:
    """Describe the results on one environment.

    Args:
        group: the results; at least one agent finished.
        most_points: the most points of a curve.
        most_pairs: the most rows of the table of all pairs.
    """
    results = _by_regret(pooled(group))
    names = [shown(name) for name in short_labels([run.label for run in results.finished])]
    summary = summary_table(results)
    comparison, notes = _compared(_worst_first(group, results))
    pairs = [_safe(pair) for pair in comparison.pairs] if comparison else []
    leading = [pair for pair in pairs if names[0] in (pair.first, pair.second)]
    leading.sort(key=lambda pair: names.index(_other(pair, names[0])))
    several = len(leading) < len(pairs) <= most_pairs
    return Section(
        title=shown(results.title, most=_WIDEST_TITLE),
        names=names,
        verdict=[_least(results, summary), *(f"{pair.sentence}." for pair in leading[:_CLOSEST])],
        notes=[*notes, *_told_more(group)],
        summary=summary,
        leading=_in_words(leading),
        pairs=_in_words(pairs if several else []),
        regret=_regret(results, names, most_points),
        others=[
            _distribution(results, names, most_points),
            _pulls(results, names),
            _competitive(results, names, most_points),
        ],
        settings=settings_of(group),
        again=run_again(group),
    )


def _told_more(group: Sequence[Results]) -> list[str]:
    told: dict[str, str] = {}
    for results in group:
        told |= results.manifest.get("told_more", {})
    return [f"{label} was told more than other agents: {what}" for label, what in told.items()]


def _by_regret(results: Results) -> Results:
    runs = sorted(results.finished, key=lambda run: float(run.regret[:, -1].mean()))
    return Results(results.checkpoints, tuple(runs), results.manifest)


def _worst_first(group: Sequence[Results], by_regret: Results) -> list[Results]:
    """Order the runs so that a pair's difference is the worse agent minus the better one."""
    position = {run.label: index for index, run in enumerate(by_regret.runs)}
    single = [replace(results, runs=(run,)) for results in group for run in results.runs]
    return sorted(single, key=lambda results: -position.get(results.runs[0].label, -1))


def _compared(group: Sequence[Results]) -> tuple[Comparison | None, list[str]]:
    """Return the comparison, None if there is nothing to compare, and notes."""
    try:
        comparison = compare(group)
    except ValueError as error:
        failures = [text for results in group for text in results.failures.values()]
        return None, [*dict.fromkeys(failures), f"The agents are not compared: {error}"]
    return comparison, list(comparison.notes)


def _safe(pair: Pair) -> Pair:
    """Return the pair with names that do not reorder the words after them."""
    return replace(pair, first=shown(pair.first), second=shown(pair.second))


def _other(pair: Pair, name: str) -> str:
    return pair.second if pair.first == name else pair.first


def _least(results: Results, summary: Table) -> str:
    """Return a sentence about the first agent."""
    (_, regret, _, interval, *_), *_ = summary.rows
    name, trials = short_labels([results.finished[0].label])[0], len(results.finished[0].regret)
    over = f"95 % interval {interval}, {trials:,} trials" if trials > 1 else "one trial"
    unit = "" if _unit(results) == "reward" else f" {_unit(results)}"
    after = f"{regret}{unit} after {results.checkpoints[-1]:,} rounds ({over})"
    if len(results.finished) == 1:
        return f"{name} has a mean regret of {after}."
    return f"{name} has the least mean regret: {after}."


def _in_words(pairs: Sequence[Pair]) -> Table:
    (name, *header), rows = pairs_table(pairs)
    whole = [
        (first, pair.sentence, *rest) for pair, (first, *rest) in zip(pairs, rows, strict=True)
    ]
    return Table((name, "in words", *header), whole)


def _unit(results: Results) -> str:
    return str(results.manifest.get("reward_unit", "reward"))


def _regret(results: Results, names: Sequence[str], most: int) -> Figure:
    values = {index: run.regret for index, run in enumerate(results.finished)}
    axis = f"cumulative regret ({_unit(results)})"
    chart = curves(names, (0, *results.checkpoints), _from_zero(values), axis, "regret", most)
    note = "Mean over trials; the band is one standard deviation to each side."
    return Figure("Regret", note, chart, _curve_table(names, results.checkpoints, values))


def _from_zero(values: Mapping[int, FloatArray]) -> dict[int, FloatArray]:
    """Return curves with a first column of 0, for round 0."""
    return {index: np.pad(own, ((0, 0), (1, 0))) for index, own in values.items()}


def _curve_table(
    names: Sequence[str], checkpoints: Sequence[int], values: Mapping[int, Any]
) -> Table:
    at = np.unique(np.linspace(0, len(checkpoints) - 1, _COLUMNS).round().astype(int))
    header = ("agent", *(f"round {checkpoints[column]:,}" for column in at))
    rows = [
        (names[index], *(f"{value:.1f}" for value in own.mean(axis=0)[at]))
        for index, own in values.items()
    ]
    return Table(header, rows)


def _distribution(results: Results, names: Sequence[str], most: int) -> Figure:
    final = [run.regret[:, -1] for run in results.finished]
    chart = distributions(names, final, f"final regret ({_unit(results)})", most)
    note = (
        "Each box goes from the 25 % to the 75 % quantile over trials, with a mark at the median, "
        "and its line from the 5 % to the 95 % quantile; thin ticks are trials."
    )
    table = distribution_table(zip(names, final, strict=True))
    return Figure("Distribution of final regret", note, chart, table)


def _pulls(results: Results, names: Sequence[str]) -> Figure:
    title = "Pulls of each arm"
    runs = {i: run.pulls for i, run in enumerate(results.finished) if run.pulls is not None}
    if not runs:
        return Figure(title, "They were not recorded: run the agents again.")
    mean = np.array([own.counts().mean(axis=0) for own in runs.values()])
    arms = shown_arms(mean.T, np.array(results.manifest["means"]), _ARMS)
    arm_names = _arm_names(results, arms)
    others = mean.shape[1] - len(arms)
    rest = [mean.sum(axis=1, keepdims=True) - mean[:, arms].sum(axis=1, keepdims=True)]
    values = np.hstack([mean[:, arms], *(rest if others else [])])
    chart = pulls(names, arm_names, dict(zip(runs, values, strict=True)))
    note = (
        "Mean over trials; arms by their mean reward, the best first. An agent that never pulled "
        "an arm has no point on a logarithmic axis."
    )
    rows = [
        (name, *(f"{value:,.1f}" for value in own))
        for name, own in zip(arm_names, values.T, strict=True)
    ]
    return Figure(title, note, chart, Table(("arm", *(names[i] for i in runs)), rows))


def _arm_names(results: Results, arms: IntArray) -> list[str]:
    given, means = results.manifest["arm_names"], results.manifest["means"]
    names = [f"{given[arm]} ({means[arm]:.2f})" for arm in arms.tolist()]
    others = len(means) - len(arms)
    return [*names, f"{others:,} other arms"] if others else names


def _competitive(results: Results, names: Sequence[str], most: int) -> Figure:
    title = "Size of the competitive set"
    runs = {i: run for i, run in enumerate(results.finished) if run.competitive.size}
    values = {i: run.competitive.astype(np.float64) for i, run in runs.items()}
    if not values:
        return Figure(title, "No agent rules arms out, or it was not recorded.")
    axis = "arms that are not ruled out"
    chart = curves(names, results.checkpoints, values, axis, "arms", most)
    note = (
        "Among how many arms an agent chooses, mean over trials, with a band of one standard "
        "deviation; only of agents that rule arms out."
    )
    return Figure(title, note, chart, _curve_table(names, results.checkpoints, values))
