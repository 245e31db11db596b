"""Run the paper's experiments, or others in the same form, beside what was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.agents.registry import published
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.play import find_environment, make_environment
from cmab_gym.evaluation.plot import plot_panels
from cmab_gym.evaluation.report import write_report
from cmab_gym.evaluation.results import Results
from cmab_gym.files import write_whole
from cmab_gym.models.base import BanditModel
from cmab_gym.paper import AGENTS, FIGURES, READ_AT, READING_ERROR, ROUNDS, TRIALS, Panel
from cmab_gym.theory import (
    LowerBound,
    NoBoundError,
    analyse,
    count_competitive,
    graves_lai_bound,
)

if TYPE_CHECKING:
    import pandas as pd

_DRAW_TRIALS = 20  # per draw of a random choice: enough for the range over draws
_MEASURED = 8  # runs of 5000 pulls whose C is reported, lowest to highest
# How far ours may be from a published mean where nothing else is random: the correlated agents'
# regret rests on fewer pulls, and on details of the survey that the paper does not give.
_TOLERANCE: Mapping[str, float] = {"ucb": 0.05, "ts": 0.05, "c-ucb": 0.2, "c-ts": 0.2}
_RANGE_TOLERANCE = 0.2  # by which the range over draws is widened at both ends


@dataclass(frozen=True, eq=False)
class Reproduced:
    """What one panel gave.

    Args:
        panel: the experiment.
        results: of its agents.
        competitive: the exact C.
        measured: the C of some runs of 5000 pulls of the best arm, as the paper measures it.
        ranges: by agent, and "C", the smallest and largest value over the panel's draws.
        lower_bound: on the regret of every agent; None where it cannot be computed.
    """

    panel: Panel
    results: Results
    competitive: int
    measured: tuple[int, ...]
    ranges: Mapping[str, tuple[float, float]]
    lower_bound: LowerBound | None = None


def reproduce(
    panels: Sequence[Panel],
    out: str | Path,
    rounds: int = ROUNDS,
    trials: int = TRIALS,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> pd.DataFrame:
    """Play panels and write what they gave, beside what was published.

    Writes for each panel a Parquet file, for each figure a `.png` and an `.svg` with its panels
    side by side, and for all `comparison.csv` and `report.md`.

    Args:
        panels: the experiments, such as `cmab_gym.paper.PANELS`.
        out: folder, made if need be.
        rounds: pulls per trial. Published values belong to round 4800: with fewer, nothing is
            compared.
        trials: trials of each agent.
        seed: of all of them.
        n_jobs: worker processes.
        progress: called with 1 after every panel.

    Returns:
        The comparison, one row for each panel and agent, and one for each panel's C.

    Raises:
        ValueError: there is no panel, or an argument is wrong.
    """
    if not panels:
        raise ValueError("no panels given: expected at least one, such as cmab_gym.paper.PANELS")
    rounds = checks.whole_number("rounds", rounds, 1)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = []
    for panel in panels:
        done.append(reproduce_panel(panel, rounds, trials, seed, n_jobs))
        frame = done[-1].results.to_pandas()
        path = folder / f"{panel.name}.parquet"
        write_whole(path, partial(frame.to_parquet, index=False))
        if progress is not None:
            progress(1)
    for figure in dict.fromkeys(panel.figure for panel in panels):
        own = [each for each in done if each.panel.figure == figure]
        titles = [f"({each.panel.letter}) {each.panel.title}" for each in own]
        for kind in ("png", "svg"):
            path = folder / f"fig{figure}.{kind}"
            title = f"Figure {figure}: {FIGURES.get(figure, '')}".rstrip(": ")
            bounds = [each.lower_bound for each in own]
            plot_panels([each.results for each in own], titles, path, title, bounds)
    table = comparison(done)
    write_whole(folder / "comparison.csv", partial(table.to_csv, index=False))
    write_report(folder / "report.md", done, table)
    return table


def reproduce_panel(
    panel: Panel, rounds: int, trials: int, seed: int, n_jobs: int = 1
) -> Reproduced:
    """Play one panel, and its draws."""
    results = _play(panel, rounds, trials, seed, n_jobs)
    model = _model(panel)
    measured = tuple(count_competitive(model, default_rng((seed, i))) for i in range(_MEASURED))
    exact = analyse(model).n_competitive
    ranges = _ranges(panel, rounds, trials, seed, n_jobs)
    return Reproduced(panel, results, exact, measured, ranges, _lower_bound(model))


def _lower_bound(model: BanditModel) -> LowerBound | None:
    try:
        return graves_lai_bound(model)
    except NoBoundError:
        return None


def comparison(done: Sequence[Reproduced]) -> pd.DataFrame:
    """Return one row for each panel and agent, and one for each panel's C.

    Columns: panel, what (an agent, or "C"), published, ours, ratio, low and high (the range over
    draws), verdict ("agrees", "in range", "differs", "other data", "not published" or "not
    compared").
    """
    import pandas as pd

    rows = []
    for each in done:
        last = each.results.checkpoints
        compared = READ_AT in last
        for agent in AGENTS:
            place = last.index(READ_AT) if compared else -1
            ours = float(each.results.regret(agent)[:, place].mean())
            value = each.panel.regret.get(agent)
            rows.append(_row(each, agent, value, ours, _TOLERANCE[agent], compared))
        rows.append(_row(each, "C", each.panel.competitive, float(each.competitive), 0.0, True))
    return pd.DataFrame(rows)


def _row(
    each: Reproduced,
    what: str,
    value: float | None,
    ours: float,
    tolerance: float,
    compared: bool,
) -> dict[str, Any]:
    low, high = each.ranges.get(what, (ours, ours))
    if what == "C":
        low, high = min(low, *each.measured), max(high, *each.measured)
    return {
        "panel": each.panel.name,
        "what": what,
        "published": value,
        "ours": ours,
        "ratio": None if not value else ours / value,
        "low": low,
        "high": high,
        "verdict": _verdict(each.panel, value, ours, (low, high), tolerance, compared),
    }


def _verdict(
    panel: Panel,
    value: float | None,
    ours: float,
    over_draws: tuple[float, float],
    tolerance: float,
    compared: bool,
) -> str:
    if value is None:
        return "not published"
    if not compared:
        return "not compared"
    if abs(ours / value - 1) <= tolerance + READING_ERROR * (tolerance > 0):
        return "agrees"
    if panel.stand_in:
        return "other data"
    low, high = over_draws
    widened = _RANGE_TOLERANCE if panel.draws[1] else 0.0
    if (panel.draws[1] or tolerance == 0) and (1 - widened) * low <= value <= (1 + widened) * high:
        return "in range"
    return "differs"


def _ranges(
    panel: Panel, rounds: int, trials: int, seed: int, n_jobs: int
) -> dict[str, tuple[float, float]]:
    name, values = panel.draws
    if rounds < READ_AT:
        return {}  # nothing is compared
    found: dict[str, list[float]] = {}
    for value in values:
        drawn = replace(panel, env_kwargs={**panel.env_kwargs, name: value})
        results = _play(drawn, rounds, min(trials, _DRAW_TRIALS), seed, n_jobs)
        place = results.checkpoints.index(READ_AT) if READ_AT in results.checkpoints else -1
        for agent in AGENTS:
            found.setdefault(agent, []).append(float(results.regret(agent)[:, place].mean()))
        found.setdefault("C", []).append(analyse(_model(drawn)).n_competitive)
    return {what: (min(each), max(each)) for what, each in found.items()}


def _play(panel: Panel, rounds: int, trials: int, seed: int, n_jobs: int) -> Results:
    agents = published(*AGENTS) if panel.settings == "published" else list(AGENTS)
    at = np.linspace(0, rounds, min(rounds, 100) + 1).astype(int)[1:].tolist()
    results = evaluate(
        panel.env_id,
        agents,
        rounds,
        trials,
        seed,
        n_jobs,
        panel.env_kwargs,
        checkpoints=sorted({*at, READ_AT} if rounds >= READ_AT else at),
        on_error="keep",
    )
    if results.manifest.get("interrupted"):
        raise KeyboardInterrupt
    return results


def _model(panel: Panel) -> Any:
    spec = find_environment(panel.env_id, panel.env_kwargs)
    return make_environment(spec, 1, 1, panel.env_kwargs).unwrapped.model
