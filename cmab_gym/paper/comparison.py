"""The comparison of reproduced values with the published ones, and its verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cmab_gym.evaluation.results import Results
from cmab_gym.paper.panels import AGENTS, READ_AT, READING_ERROR, Panel
from cmab_gym.theory import LowerBound

if TYPE_CHECKING:
    import pandas as pd

# Relative differences from a published value that count as agreement where nothing else is random.
# The correlated agents' are larger: their regret rests on fewer pulls, and on details of the survey
# that the paper does not give.
_TOLERANCE: Mapping[str, float] = {"ucb": 0.05, "ts": 0.05, "c-ucb": 0.2, "c-ts": 0.2, "C": 0.0}
_RANGE_TOLERANCE = 0.2  # by which the range over draws is widened at both ends


@dataclass(frozen=True, eq=False)
class Reproduced:
    """The outcome of one panel.

    Args:
        panel: the experiment.
        results: the results of its agents.
        competitive: the exact C.
        measured: C in several runs of 5000 pulls of the best arm, as the paper measures it.
        ranges: for each agent and "C", the smallest and largest value over the panel's draws;
            empty without draws.
        lower_bound: the lower bound on any agent's regret; None where it cannot be computed.
    """

    panel: Panel
    results: Results
    competitive: int
    measured: tuple[int, ...]
    ranges: Mapping[str, tuple[float, float]]
    lower_bound: LowerBound | None = None

    @property
    def reaches_read_at(self) -> bool:
        """Whether the regret at round `READ_AT` is known."""
        return READ_AT in self.results.checkpoints

    def values(self) -> dict[str, float]:
        """Return C, and each agent's mean regret at `READ_AT`.

        In shorter runs the regret is that at the last round.
        """
        at = self.results.checkpoints.index(READ_AT) if self.reaches_read_at else -1
        regret = {agent: float(self.results.regret(agent)[:, at].mean()) for agent in AGENTS}
        return {**regret, "C": float(self.competitive)}


def comparison(reproduced: Sequence[Reproduced]) -> pd.DataFrame:
    """Compare panels with the published values.

    Returns:
        One row for each panel and agent, and one for each panel's C. Columns: panel, what (an
        agent, or "C"), published, ours, ratio, low and high (the range over draws), verdict
        ("agrees", "in range", "differs", "other data", "not published" or "not compared").
    """
    import pandas as pd

    return pd.DataFrame([_row(each, what) for each in reproduced for what in (*AGENTS, "C")])


def _row(each: Reproduced, what: str) -> dict[str, Any]:
    ours = each.values()[what]
    published = {**each.panel.regret, "C": each.panel.competitive}.get(what)
    low, high = each.ranges.get(what, (ours, ours))
    if what == "C":
        low, high = min(low, *each.measured), max(high, *each.measured)
    return {
        "panel": each.panel.name,
        "what": what,
        "published": published,
        "ours": ours,
        "ratio": None if not published else ours / published,
        "low": low,
        "high": high,
        "verdict": _verdict(each, what, published, ours, (low, high)),
    }


def _verdict(
    each: Reproduced,
    what: str,
    published: float | None,
    ours: float,
    over_draws: tuple[float, float],
) -> str:
    if published is None:
        return "not published"
    if what != "C" and not each.reaches_read_at:
        return "not compared"
    tolerance = _TOLERANCE[what]
    reading_error = 0.0 if what == "C" else READING_ERROR  # C is printed in the paper
    if abs(ours / published - 1) <= tolerance + reading_error:
        return "agrees"
    if each.panel.stand_in:
        return "other data"
    low, high = over_draws
    has_draws = bool(each.panel.draws[1])
    widened = _RANGE_TOLERANCE if has_draws else 0.0
    in_range = (1 - widened) * low <= published <= (1 + widened) * high
    return "in range" if in_range and (has_draws or what == "C") else "differs"
