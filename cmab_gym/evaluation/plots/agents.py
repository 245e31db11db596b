"""How each agent is drawn: its name, and a colour, dashes and marker of its own, or grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cmab_gym import checks
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.results import Results, short_labels
from cmab_gym.text import drawn

# Colours of different lightness (Okabe and Ito's, safe for colour-blind readers), dashes and
# markers, so that curves differ in black and white too. With 7, 5 and 11 of them, the first 385
# curves look different.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
GREY = "0.6"
_MOST_COLOURED = 8  # agents; of more, only the best are coloured
_BEST = 5
_LABEL = 50  # columns of a terminal, at most


@dataclass(frozen=True)
class DrawnAgent:
    """An agent and how it is drawn.

    Args:
        run: its run.
        name: its name, safe to draw.
        colour, dash, marker: of its curve.
        highlighted: whether it is coloured; if not, it is a thin grey line.
    """

    run: AgentRun
    name: str
    colour: str
    dash: Any
    marker: str | None
    highlighted: bool


def drawn_agents(
    results: Results,
    labels: Mapping[str, str] | None = None,
    highlight: Sequence[str] | None = None,
) -> list[DrawnAgent]:
    """Return the agents that finished and how to draw them, in the order of the results.

    Args:
        results: of the agents.
        labels: names to draw, by the agents' labels, or by those as shortened in pictures.
        highlight: such labels of the agents to colour; by default all if they are at most eight,
            else the five with the least final regret.

    Raises:
        ValueError: no agent of this label finished.
    """
    runs, given = results.finished, labels or {}
    known = [run.label for run in runs]
    short = short_labels(known)
    for label in [*given, *(highlight or ())]:
        if label not in {*known, *short}:
            raise ValueError(checks.unknown("agent", label, known))
    both = zip(known, short, strict=True)
    names = drawn_names([given.get(label, given.get(brief, brief)) for label, brief in both])
    chosen = _best(runs) if highlight is None else set(highlight)
    agents: list[DrawnAgent] = []
    position = 0  # of the colour, the dashes and the marker
    for run, brief, name in zip(runs, short, names, strict=True):
        if {run.label, brief} & chosen:
            agents.append(DrawnAgent(run, name, *look(position), highlighted=True))
            position += 1
        else:
            agents.append(DrawnAgent(run, name, GREY, "-", None, highlighted=False))
    return agents


def look(position: int) -> tuple[str, Any, str]:
    """Return the colour, dashes and marker of a highlighted curve."""
    return (
        _COLOURS[position % len(_COLOURS)],
        _DASHES[position % len(_DASHES)],
        _MARKERS[position % len(_MARKERS)],
    )


def _best(runs: Sequence[AgentRun]) -> set[str]:
    """Return the labels to colour by default."""
    if len(runs) <= _MOST_COLOURED:
        return {run.label for run in runs}
    by_regret = sorted(runs, key=lambda run: float(run.regret[:, -1].mean()))
    return {run.label for run in by_regret[:_BEST]}


def drawn_names(names: Sequence[str]) -> list[str]:
    """Return the names of agents as drawn, with numbers if some of them look the same."""
    safe = [drawn(name, most=_LABEL) for name in names]
    if len({*safe}) == len(safe):
        return safe
    return [f"{number}: {name}" for number, name in enumerate(safe, start=1)]
