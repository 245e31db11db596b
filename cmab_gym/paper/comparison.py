"""The comparison of reproduced values with the published ones, and its verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.results.results import Results
from cmab_gym.paper.claims import CLAIMS, ERRORS, Claim, judge
from cmab_gym.paper.known import KNOWN_DIFFERENCES
from cmab_gym.paper.panels import AGENTS, READ_AT, READING_ERROR, TRIALS, Panel
from cmab_gym.theory import LowerBound

if TYPE_CHECKING:
    import pandas as pd

# By how much the range over draws is widened at both ends, beyond the reading error: five draws
# rarely hold the extremes. A level varies by half over the draws, a ratio within a draw less.
LEVEL_WIDENED, RATIO_WIDENED = 0.1, 0.05
RATIOS = tuple(f"{agent}/ucb" for agent in AGENTS if agent != "ucb")

AGREES, IN_RANGE, DIFFERS = "agrees", "in range", "differs"
OTHER_DATA, NOT_PUBLISHED, NOT_COMPARED = "other data", "not published", "not compared"


@dataclass(frozen=True, eq=False)
class Reproduced:
    """The outcome of one panel.

    Args:
        panel: the experiment.
        results: the results of its agents.
        competitive: C by the table that the agents know.
        measured: C in several runs of 5000 pulls of the best arm, as the paper measures it.
        options: for the keyword of each choice, the values with each option, see `values`; empty
            in runs that are too short.
        lower_bound: the lower bound on any agent's regret; None where it cannot be computed.
        without_bins: C by the exact pseudo-rewards, where the table has bins and it differs; None
            where it does not.
    """

    panel: Panel
    results: Results
    competitive: int
    measured: tuple[int, ...]
    options: Mapping[str, Mapping[Any, Mapping[str, float]]]
    lower_bound: LowerBound | None = None
    without_bins: int | None = None

    @property
    def reaches_read_at(self) -> bool:
        """Whether the regret at round `READ_AT` is known."""
        return READ_AT in self.results.checkpoints

    def regret(self, agent: str) -> FloatArray:
        """Return an agent's regret at `READ_AT`, or in shorter runs at the end, (trials,)."""
        at = self.results.checkpoints.index(READ_AT) if self.reaches_read_at else -1
        return self.results.regret(agent)[:, at]

    @property
    def compared(self) -> list[Mapping[str, float]]:
        """The values with each option of the choices that are compared, see `Choice.kind`."""
        choices = [c for c in self.panel.choices if c.kind != "shown"]
        return [values for c in choices for values in self.options.get(c.keyword, {}).values()] or [
            self.values()
        ]

    def values(self) -> dict[str, float]:
        """Return C, each agent's mean regret at `READ_AT`, and the `RATIOS` of these means."""
        regret = {agent: float(self.regret(agent).mean()) for agent in AGENTS}
        return {**with_ratios(regret), "C": float(self.competitive)}


def with_ratios(regret: Mapping[str, float]) -> dict[str, float]:
    """Add the regret of each agent divided by UCB's to that of all agents; NaN if UCB's is 0."""
    ucb = regret["ucb"] or np.nan
    return {**regret, **{ratio: regret[ratio.split("/")[0]] / ucb for ratio in RATIOS}}


@dataclass(frozen=True)
class Row:
    """A row of the comparison.

    Args:
        panel: its name.
        what: an agent (its regret), "C", a ratio of regrets, "order" (of the agents by regret), or
            a statement of the paper.
        published: the published value; None for a statement.
        ours: ours; of a statement, what it is judged by.
        low: the smallest value over the options of a choice, and of 95 % of the measurements; of a
            statement, `ours` minus 4 standard errors.
        high: the largest, or plus 4 standard errors.
        verdict: "agrees", "in range", "differs", "other data", "not published" or "not compared".
        place: where the paper says it.
        known: the reason, if a difference is expected; else "".
    """

    panel: str
    what: str
    published: float | None
    ours: float
    low: float
    high: float
    verdict: str
    place: str = ""
    known: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours divided by the published value."""
        return self.ours / self.published if self.published else None

    @property
    def unexpected(self) -> bool:
        """Whether it differs although it should not, or agrees although it should not."""
        if self.known:
            return self.verdict in (AGREES, IN_RANGE)
        return self.verdict == DIFFERS


def comparison(reproduced: Sequence[Reproduced]) -> pd.DataFrame:
    """Compare panels with the published values, and with what the paper says.

    Returns:
        The rows of each panel, with the attributes of `Row` and `ratio` and `unexpected` as
        columns; NaN stands for None.
    """
    import pandas as pd

    by_name = {each.panel.name: each for each in reproduced}
    rows = [row for each in reproduced for row in rows_of(each, by_name)]
    derived = [{"ratio": row.ratio, "unexpected": row.unexpected} for row in rows]
    table = pd.DataFrame([{**asdict(row), **more} for row, more in zip(rows, derived, strict=True)])
    return table.astype({"published": float, "ratio": float})


def rows_of(each: Reproduced, by_name: Mapping[str, Reproduced]) -> list[Row]:
    """Compare a panel.

    Args:
        each: the panel.
        by_name: all panels, for statements about two of them.
    """
    claims = CLAIMS.get(each.panel.name, ())
    published = dict(each.panel.regret)
    said = {claim.agent for claim in claims} | {claim.other for claim in claims}
    agents = [agent for agent in AGENTS if agent in published or agent not in said]
    rows = [_value_row(each, what, published.get(what)) for what in agents]
    rows.append(_value_row(each, "C", each.panel.competitive))
    if published and each.panel.has_draws:
        ratios = with_ratios(published)
        rows += [_value_row(each, what, ratios[what]) for what in RATIOS]
        rows.append(_order_row(each))
    return rows + [_claim_row(each, claim, by_name.get(claim.earlier)) for claim in claims]


def _value_row(each: Reproduced, what: str, published: float | None) -> Row:
    ours = each.values()[what]
    seen = [values[what] for values in each.compared]
    if what == "C":
        # Most of the measurements: all of them would reach further, the more there are.
        seen += np.quantile(each.measured, (0.025, 0.975), method="inverted_cdf").tolist()
    low, high = float(min(seen)), float(max(seen))
    verdict = _verdict(each, what, published, low, high)
    return _row(each, what, published, (ours, low, high), verdict)


def _row(
    each: Reproduced,
    what: str,
    published: float | None,
    seen: tuple[float, float, float],
    verdict: str,
    place: str = "",
) -> Row:
    known = KNOWN_DIFFERENCES.get((each.panel.name, what), "")
    return Row(each.panel.name, what, published, *seen, verdict, place, known)


def _verdict(each: Reproduced, what: str, published: float | None, low: float, high: float) -> str:
    if published is None:
        return NOT_PUBLISHED
    if each.panel.stand_in:
        return OTHER_DATA
    if what == "C":
        if published == each.competitive:
            return AGREES
        in_range = low <= published <= high
        # Short runs have no other draws, whose C may be the published one.
        outside = NOT_COMPARED if each.panel.has_draws and not each.options else DIFFERS
        return IN_RANGE if in_range else outside
    if not each.reaches_read_at or len(each.regret("ucb")) < 2:
        return NOT_COMPARED
    margin = tolerance(each, what, published) if what in AGENTS else 0.0
    if abs(each.values()[what] - published) <= margin:
        return AGREES
    if each.panel.has_draws:
        widened = READING_ERROR + (LEVEL_WIDENED if what in AGENTS else RATIO_WIDENED)
        low, high, margin = (1 - widened) * low, (1 + widened) * high, 0.0
    return IN_RANGE if low - margin <= published <= high + margin else DIFFERS


def tolerance(each: Reproduced, agent: str, published: float) -> float:
    """Return the difference from a published regret that reading and sampling errors explain.

    The reading error, and 4 standard errors of the difference of two means: of our trials and of
    the paper's 100.
    """
    regret = each.regret(agent)
    sampling = float(regret.std(ddof=1) * np.sqrt(1 / len(regret) + 1 / TRIALS))
    return READING_ERROR * published + ERRORS * sampling


def _order_row(each: Reproduced) -> Row:
    """Compare the order of the agents with the published one, in each draw.

    Pairs whose published values are closer than the reading error are left out.
    """
    published = each.panel.regret
    pairs = [
        (a, b)
        for a in AGENTS
        for b in AGENTS
        if published[a] < (1 - 2 * READING_ERROR) * published[b]
    ]
    right = [sum(values[a] < values[b] for a, b in pairs) / len(pairs) for values in each.compared]
    verdict = AGREES if right[0] == 1 else IN_RANGE if max(right) == 1 else DIFFERS
    if each.panel.stand_in:
        verdict = OTHER_DATA
    elif not each.reaches_read_at:
        verdict = NOT_COMPARED
    return _row(each, "order", 1.0, (right[0], min(right), max(right)), verdict)


def _claim_row(each: Reproduced, claim: Claim, earlier: Reproduced | None) -> Row:
    before = None if earlier is None else _curves(earlier)
    measured = judge(claim, _curves(each), each.results.checkpoints, before)
    verdict = AGREES if measured.holds else DIFFERS
    if each.panel.stand_in:
        verdict = OTHER_DATA
    elif measured.holds is None or not each.reaches_read_at:
        verdict = NOT_COMPARED
    value, low, high = (
        float(np.round(number, 12)) for number in (measured.value, measured.low, measured.high)
    )
    return _row(each, claim.what, None, (value, low, high), verdict, claim.place)


def _curves(each: Reproduced) -> dict[str, FloatArray]:
    return {agent: each.results.regret(agent) for agent in AGENTS}
