"""Run the paper's experiments, or others in the same form, beside what was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.agents.make import published
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.play import find_model
from cmab_gym.evaluation.plot import plot_panels
from cmab_gym.evaluation.results import Results
from cmab_gym.evaluation.workers import Done, count_workers, in_processes
from cmab_gym.files import write_whole
from cmab_gym.models.base import BanditModel
from cmab_gym.paper.panels import AGENTS, FIGURES, READ_AT, READING_ERROR, ROUNDS, TRIALS, Panel
from cmab_gym.paper.report import write_report
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
    workers = count_workers(n_jobs)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = []
    for each in _reproduced(panels, rounds, trials, seed, workers):
        done.append(each)
        frame = each.results.to_pandas()
        path = folder / f"{each.panel.name}.parquet"
        write_whole(path, partial(frame.to_parquet, index=False))
        if progress is not None:
            progress(1)
    figures = dict.fromkeys(panel.figure for panel in panels)
    by_figure = [[each for each in done if each.panel.figure == figure] for figure in figures]
    list(_in_parallel(_draw_figure, [(own, folder) for own in by_figure], workers))
    table = comparison(done)
    write_whole(folder / "comparison.csv", partial(table.to_csv, index=False))
    write_report(folder / "report.md", done, table)
    return table


def on_ratings(panels: Sequence[Panel], data: str | Path) -> list[Panel]:
    """Let panels for which other data stand in play the real ratings.

    Args:
        panels: any; those that are no stand-ins stay as they are.
        data: path of the ratings, such as `goodreads_interactions_poetry.json.gz`.
    """
    return [
        replace(
            panel,
            env_kwargs={**panel.env_kwargs, "data": str(data)},
            stand_in=False,
            note="the masked entries are random: see the range over draws",
        )
        if panel.stand_in
        else panel
        for panel in panels
    ]


def reproduce_panel(
    panel: Panel, rounds: int, trials: int, seed: int, n_jobs: int = 1
) -> Reproduced:
    """Play one panel, and its draws."""
    return next(_reproduced([panel], rounds, trials, seed, count_workers(n_jobs)))


def _reproduced(
    panels: Sequence[Panel], rounds: int, trials: int, seed: int, workers: int
) -> Iterator[Reproduced]:
    """Play panels and their draws, all of them independent of each other, and yield in order."""
    draws = {panel.name: _draws(panel) if rounds >= READ_AT else [] for panel in panels}
    jobs = []
    for panel in panels:
        jobs.append((panel, rounds, trials, seed))
        jobs += [(drawn, rounds, min(trials, _DRAW_TRIALS), seed) for drawn in draws[panel.name]]
    played = _in_parallel(_play, jobs, workers)
    for panel in panels:
        own = next(played)
        ranges = _ranges([own, *(next(played) for _ in draws[panel.name])], panel)
        yield replace(own, ranges=ranges)


def _draws(panel: Panel) -> list[Panel]:
    """List the panel with every other value of its random choice."""
    name, values = panel.draws
    own = panel.env_kwargs.get(name)
    others = [value for value in values if value != own]
    return [replace(panel, env_kwargs={**panel.env_kwargs, name: value}) for value in others]


def _in_parallel(
    function: Callable[..., Done], jobs: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Done]:
    """Call a function with each tuple of arguments, in processes if worthwhile; yield in order."""
    if workers == 1 or len(jobs) == 1:
        return (function(*job) for job in jobs)
    return in_processes(function, jobs, workers, in_order=True)


def _draw_figure(own: Sequence[Reproduced], folder: Path) -> None:
    figure = own[0].panel.figure
    plot_panels(
        [each.results for each in own],
        [f"({each.panel.letter}) {each.panel.title}" for each in own],
        [folder / f"fig{figure}.{kind}" for kind in ("png", "svg")],
        f"Figure {figure}: {FIGURES.get(figure, '')}".rstrip(": ") + _stand_in(own),
        [each.lower_bound for each in own],
    )


def _stand_in(own: Sequence[Reproduced]) -> str:
    return " (other ratings stand in)" if any(each.panel.stand_in for each in own) else ""


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


def _ranges(draws: Sequence[Reproduced], panel: Panel) -> dict[str, tuple[float, float]]:
    """Find the smallest and largest values over draws; none where there are no draws."""
    if len(draws) == 1 and not panel.draws[1]:
        return {}
    found = {"C": [float(each.competitive) for each in draws]}
    for agent in AGENTS:
        found[agent] = []
        for each in draws:
            at = each.results.checkpoints
            place = at.index(READ_AT) if READ_AT in at else -1
            found[agent].append(float(each.results.regret(agent)[:, place].mean()))
    return {what: (min(values), max(values)) for what, values in found.items()}


def _play(panel: Panel, rounds: int, trials: int, seed: int) -> Reproduced:
    agents = published(*AGENTS) if panel.settings == "published" else list(AGENTS)
    at = np.linspace(0, rounds, min(rounds, 100) + 1).astype(int)[1:].tolist()
    results = evaluate(
        panel.env_id,
        agents,
        rounds,
        trials,
        seed,
        env_kwargs=panel.env_kwargs,
        checkpoints=sorted({*at, READ_AT} if rounds >= READ_AT else at),
        on_error="keep",
    )
    if results.manifest.get("interrupted"):
        raise KeyboardInterrupt
    model = find_model(panel.env_id, panel.env_kwargs)
    measured = tuple(count_competitive(model, default_rng((seed, i))) for i in range(_MEASURED))
    exact = analyse(model).n_competitive
    return Reproduced(panel, results, exact, measured, {}, _lower_bound(model))
