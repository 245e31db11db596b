"""`reproduce`: run the paper's experiments, or others in the same form, and report the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.agents.make import published
from cmab_gym.evaluation.batch import OnProgress, find_model
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.plot import plot_panels
from cmab_gym.evaluation.processes import Done, in_processes
from cmab_gym.evaluation.workers import count_workers
from cmab_gym.files import write_csv, write_whole
from cmab_gym.models.base import BanditModel
from cmab_gym.paper.comparison import Reproduced, comparison
from cmab_gym.paper.panels import AGENTS, FIGURES, READ_AT, ROUNDS, TRIALS, Panel
from cmab_gym.paper.report import write_report
from cmab_gym.theory import LowerBound, NoBoundError, analyse, count_competitive, graves_lai_bound

if TYPE_CHECKING:
    import pandas as pd

_DRAW_TRIALS = 20  # for each draw of a random choice: enough for the range over draws
_MEASUREMENTS = 8  # of C, from 5000 pulls each


def reproduce(
    panels: Sequence[Panel],
    out: str | Path,
    rounds: int = ROUNDS,
    trials: int = TRIALS,
    seed: int = 0,
    n_jobs: int = 1,
    progress: OnProgress | None = None,
) -> pd.DataFrame:
    """Run panels, and write their results next to the published values.

    Writes a Parquet file for each panel, a `.png` and an `.svg` for each figure with its panels
    side by side, `comparison.csv`, and `report.md`.

    Args:
        panels: the experiments, such as `cmab_gym.paper.PANELS`.
        out: folder; created if needed.
        rounds: pulls per trial. The published values belong to round 4800: the regret of shorter
            runs is not compared.
        trials: trials of each agent.
        seed: seed of all panels.
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
    reproduced = []
    for each in run_panels(panels, rounds, trials, seed, workers):
        reproduced.append(each)
        frame = each.results.to_pandas()
        path = folder / f"{each.panel.name}.parquet"
        write_whole(path, partial(frame.to_parquet, index=False))
        if progress is not None:
            progress(1)
    figures = dict.fromkeys(panel.figure for panel in panels)
    by_figure = [[each for each in reproduced if each.panel.figure == figure] for figure in figures]
    list(_in_parallel(_draw_figure, [(own, folder) for own in by_figure], workers))
    table = comparison(reproduced)
    write_csv(folder / "comparison.csv", table)
    write_report(folder / "report.md", reproduced, table)
    return table


def run_panels(
    panels: Sequence[Panel], rounds: int, trials: int, seed: int, workers: int
) -> Iterator[Reproduced]:
    """Run panels and their draws, which are independent of each other, and yield in order.

    Args:
        panels: the experiments.
        rounds: pulls per trial.
        trials: trials of each agent.
        seed: seed of all panels.
        workers: how many processes to use, 1 or more.
    """
    draws = {panel.name: _draws(panel) if rounds >= READ_AT else [] for panel in panels}
    jobs = []
    for panel in panels:
        jobs.append((panel, rounds, trials, seed))
        jobs += [(drawn, rounds, min(trials, _DRAW_TRIALS), seed) for drawn in draws[panel.name]]
    outcomes = _in_parallel(_run, jobs, workers)
    for panel in panels:
        own = next(outcomes)
        drawn = [next(outcomes) for _ in draws[panel.name]]
        yield replace(own, ranges=_ranges([own, *drawn]) if panel.draws[1] else {})


def _draws(panel: Panel) -> list[Panel]:
    """List the panel with every other value of its random choice."""
    name, values = panel.draws
    own = panel.env_kwargs.get(name)
    others = [value for value in values if value != own]
    return [replace(panel, env_kwargs={**panel.env_kwargs, name: value}) for value in others]


def _ranges(draws: Sequence[Reproduced]) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest of each value over draws."""
    rows = [each.values() for each in draws]
    return {
        what: (min(row[what] for row in rows), max(row[what] for row in rows)) for what in rows[0]
    }


def _in_parallel(
    function: Callable[..., Done], jobs: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Done]:
    """Call a function with each tuple of arguments, in processes if worthwhile; yield in order."""
    if workers == 1 or len(jobs) == 1:
        return (function(*job) for job in jobs)
    return in_processes(function, jobs, min(workers, len(jobs)))


def _run(panel: Panel, rounds: int, trials: int, seed: int) -> Reproduced:
    agents = published(*AGENTS) if panel.parameters == "published" else list(AGENTS)
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
    model = find_model(panel.env_id, panel.env_kwargs)
    measured = tuple(count_competitive(model, default_rng((seed, i))) for i in range(_MEASUREMENTS))
    exact = analyse(model).n_competitive
    return Reproduced(panel, results, exact, measured, {}, _lower_bound(model))


def _lower_bound(model: BanditModel) -> LowerBound | None:
    try:
        return graves_lai_bound(model)
    except NoBoundError:
        return None


def _draw_figure(own: Sequence[Reproduced], folder: Path) -> None:
    figure = own[0].panel.figure
    stand_in = any(each.panel.stand_in for each in own)
    plot_panels(
        [each.results for each in own],
        [f"({each.panel.letter}) {each.panel.title}" for each in own],
        [folder / f"fig{figure}.{kind}" for kind in ("png", "svg")],
        f"Figure {figure}: {FIGURES.get(figure, '')}".rstrip(": ")
        + (" (other ratings stand in)" if stand_in else ""),
        [each.lower_bound for each in own],
    )
