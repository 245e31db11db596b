"""Measure which changes of the agents the comparison with figures 10 and 11 would notice.

python benchmarks/power.py [--strict]    (about ten minutes on one core)

It reproduces the panels with one change at a time, and writes for each row of the comparison the
smallest change that makes it differ into the table of docs/paper.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import page
from process import HERE

from cmab_gym.agents import TS, UCB, CBandit
from cmab_gym.arrays import BoolArray, IntArray
from cmab_gym.history import CorrelatedHistory
from cmab_gym.paper import Panel, find_panels
from cmab_gym.paper.comparison import DIFFERS, NOT_COMPARED, comparison
from cmab_gym.paper.reproduce import run_panels
from cmab_gym.problem import BanditProblem

PAGE = HERE.parent / "docs" / "paper.md"
ROUNDS, TRIALS, SEED = 4800, 100, 0
# Values of each parameter, from the published one on.
B = ((4.5, 4.0, 3.54, 2.5), (5.5, 6.0, 8.0, 50.0))
VARIANCE = ((3.6, 3.2, 2.4), (4.4, 5.0, 8.0))
PAD = ((-0.02, -0.05, -0.1), (0.02, 0.05, 0.1))


class StrictHistory(CorrelatedHistory):
    """An arm is significant with more than t/K pulls; all arms are if no arm has more."""

    @property
    def significant(self) -> BoolArray:
        """Return the significant arms, bool (B, K)."""
        pulls: IntArray = self.pulls
        more = pulls * pulls.shape[1] > self.t
        found: BoolArray = np.where(more.any(axis=1, keepdims=True), more, True)
        return found


class Strict(CBandit):
    """A C-Bandit with the strict rule of Section 3.2, n > t/K."""

    def _new_history(self, problem: BanditProblem, trials: int) -> CorrelatedHistory:
        return StrictHistory(problem, trials, self.lower_bounds)


@dataclass(frozen=True)
class Changed(Panel):
    """A panel with other agents.

    Args:
        replaced: agents in place of those of the panel, by name.
    """

    replaced: Mapping[str, Any] = field(default_factory=dict)

    @property
    def agents(self) -> dict[str, Any]:
        """The agents by name."""
        return {**super().agents, **self.replaced}


def changed(panel: Panel, replaced: Mapping[str, Any], pad: float = 0.0) -> Panel:
    """Return a panel with other agents or another pad."""
    env_kwargs = dict(panel.env_kwargs)
    if pad:
        env_kwargs["pad"] = round(max(0.0, env_kwargs.get("pad", 0.0) + pad), 3)
    values = {**vars(panel), "env_kwargs": env_kwargs, "replaced": replaced}
    # Without the variants of the agents, which these changes replace.
    values["choices"] = tuple(choice for choice in panel.choices if choice.kind == "draws")
    return Changed(**values)


def b(value: float) -> dict[str, Any]:
    """Return the agents with another B of UCB."""
    return {"ucb": f"ucb(B={value})", "c-ucb": f"c-ucb(B={value})"}


def variance(value: float) -> dict[str, Any]:
    """Return the agents with another variance of Thompson sampling, value / (n + 1)."""
    return {"ts": f"ts(B={value})", "c-ts": f"c-ts(B={value})"}


STRICT = {"c-ucb": Strict(UCB(B=5.0)), "c-ts": Strict(TS(B=4.0))}


def differs(panels: Sequence[Panel]) -> dict[tuple[str, str], bool]:
    """Return whether each row of the comparison differs."""
    table = comparison(list(run_panels(panels, ROUNDS, TRIALS, SEED, workers=1)))
    table = table[table["verdict"] != NOT_COMPARED]
    rows = zip(table["panel"], table["what"], table["verdict"], strict=True)
    return {(panel, what): verdict == DIFFERS for panel, what, verdict in rows}


def first_that_differs(panels: Sequence[Panel], values: Sequence[float], kind: str) -> Any:
    """Return for each row the first value that makes it differ."""
    found: dict[tuple[str, str], str] = {}
    for value in values:
        replaced = {"B": b, "variance": variance}.get(kind, lambda _: {})(value)
        pad = value if kind == "pad" else 0.0
        for row, is_other in differs([changed(each, replaced, pad) for each in panels]).items():
            if is_other:
                found.setdefault(row, f"{value:+g}" if kind == "pad" else f"{value:g}")
        print(kind, value, sorted(found), flush=True)
    return found


def table(panels: Sequence[Panel]) -> Iterator[Sequence[str]]:
    """Yield the rows of the table."""
    columns = {
        "B below 5": first_that_differs(panels, B[0], "B"),
        "B above 5": first_that_differs(panels, B[1], "B"),
        "variance below 4": first_that_differs(panels, VARIANCE[0], "variance"),
        "variance above 4": first_that_differs(panels, VARIANCE[1], "variance"),
        "smaller pad": first_that_differs(panels, PAD[0], "pad"),
        "larger pad": first_that_differs(panels, PAD[1], "pad"),
    }
    if "--strict" in sys.argv:  # takes as long as all others, since it is not compiled
        strict = differs([changed(each, STRICT) for each in panels])
        columns["n > t/K"] = {row: "differs" for row, is_other in strict.items() if is_other}
    yield ["panel", "row", *columns]
    unchanged = differs([changed(each, {}) for each in panels])
    for row, is_other in unchanged.items():
        if any(row in column for column in columns.values()) and not is_other:
            yield [*row, *(column.get(row, "") for column in columns.values())]


if __name__ == "__main__":
    page.replace({"power": page.markdown(table(find_panels("10", "11")))}, PAGE)
