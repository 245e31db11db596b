"""Tables of results as text, for the command line and for reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.comparison.compare import Pair, rounded
from cmab_gym.evaluation.comparison.statistics import describe
from cmab_gym.evaluation.identify import Identification
from cmab_gym.evaluation.results.results import Results, short_labels

PAIRS_LEGEND = (
    "Difference and ratio: mean regret of the first agent minus, or over, that of the second. "
    "Wins: share of trials in which the first has less regret. The intervals of all pairs hold "
    "together with probability 95 % (Bonferroni); p is corrected for all pairs (Holm); differences "
    "as large as in the last column are shown with a power of 80 %."
)


class Table(NamedTuple):
    """A table of cells; the first column names what a row is about."""

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def summary_table(results: Results) -> Table:
    """Return the final regret of every agent, as `Results.summary` does."""
    header = ("agent", "final regret", "sd", "95 % interval", "best arm", "rounds/s")
    names = short_labels([run.label for run in results.finished])
    rows = [
        (
            name,
            f"{row['regret']:.1f}",
            _cell(row["sd"], ".1f"),
            _interval(row["low"], row["high"], "{:.1f}".format),
            f"{100 * row['best_arm_share']:.1f} %",
            f"{row['rounds_per_second']:,.0f}",
        )
        for name, row in zip(names, results.summary().to_dict("records"), strict=True)
    ]
    missing = short_labels([*results.failures])
    rows += [(name, "not finished", "-", "-", "-", "-") for name in missing]
    return Table(header, rows)


def distribution_table(regret: Iterable[tuple[str, FloatArray]]) -> Table:
    """Return the mean, the quantiles and the worst tenth of final regret.

    Args:
        regret: names of agents, each with its final regret, float64 (trials,).
    """
    header = ("agent", "mean", "IQM", "5 %", "25 %", "50 %", "75 %", "95 %", "worst tenth")
    rows = [(name, *(f"{value:.1f}" for value in describe(own).values())) for name, own in regret]
    return Table(header, rows)


def pairs_table(pairs: Iterable[Pair]) -> Table:
    """Return a row for each pair of agents; `PAIRS_LEGEND` explains the columns."""
    header = (
        "pair",
        "difference",
        "interval",
        "p",
        "wins",
        "ratio",
        "ratio's interval",
        "can show",
    )
    return Table(header, [_pair(pair) for pair in pairs])


def _pair(pair: Pair) -> tuple[str, ...]:
    return (
        f"{pair.first} - {pair.second}",
        rounded(pair.difference),
        _interval(pair.low, pair.high, rounded),
        _cell(pair.p, ".4f"),
        _cell(100 * pair.win_rate, ".0f") + " %",
        _cell(pair.ratio, ".2f"),
        _interval(pair.ratio_low, pair.ratio_high, "{:.2f}".format),
        rounded(pair.detectable) if math.isfinite(pair.detectable) else "-",
    )


def identification_table(found: Iterable[Identification]) -> Table:
    """Return the pulls that each agent needed, and how often it was wrong or undecided."""
    header = ("agent", "pulls", "95 % interval", "wrong", "95 % interval", "undecided")
    return Table(header, [_identification(each) for each in found])


def _identification(found: Identification) -> tuple[str, ...]:
    low, high = found.samples_interval
    least, most = (100 * rate for rate in found.error_interval)
    pulls, interval = f"{found.mean_samples:,.0f}", _interval(low, high, "{:,.0f}".format)
    if found.undecided:
        pulls, interval = f"over {pulls}", "-"
    return (
        found.agent,
        pulls,
        interval,
        f"{100 * found.error_rate:.1f} %",
        f"{least:.1f} to {most:.1f} %",
        f"{found.undecided:,}",
    )


def _interval(low: float, high: float, written: Callable[[float], str]) -> str:
    return "-" if math.isnan(low) else f"{written(low)} to {written(high)}"


def _cell(value: float, form: str) -> str:
    return f"{value:{form}}" if math.isfinite(value) else "-"
