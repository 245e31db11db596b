"""`reproduce`: run the paper's experiments, or others in the same form, and report the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.playing.batch import find_model
from cmab_gym.evaluation.playing.progress import OnProgress
from cmab_gym.evaluation.plots.panels import plot_panels
from cmab_gym.evaluation.plots.regret import Marks
from cmab_gym.evaluation.processes.calls import Done, in_processes
from cmab_gym.evaluation.results.results import Results
from cmab_gym.evaluation.workers.choose import count_workers
from cmab_gym.files import write_csv, write_whole
from cmab_gym.models.base import BanditModel
from cmab_gym.paper.comparison import DIFFERS, Reproduced, comparison
from cmab_gym.paper.panels import READ_AT, ROUNDS, TRIALS, Choice, Panel, figure_title
from cmab_gym.paper.report import write_report
from cmab_gym.theory import (
    LowerBound,
    NoBoundError,
    analyse,
    analyse_without_bins,
    count_competitive,
    graves_lai_bound,
)

if TYPE_CHECKING:
    import pandas as pd

_DRAW_TRIALS = 20  # for each draw of a random choice: enough for the range over draws
_MEASUREMENTS = 100  # of C, from 5000 pulls each
_ON_RATINGS = frozenset({"CMAB-MovieLens-v0", "CMAB-Goodreads-v0"})
_OF_PSEUDO_REWARDS = frozenset({"mask", "pad", "mask_seed"})  # arguments that change only them


def reproduce(
    panels: Sequence[Panel],
    out: str | Path,
    rounds: int = ROUNDS,
    trials: int = TRIALS,
    seed: int = 0,
    n_jobs: int = 1,
    progress: OnProgress | None = None,
) -> pd.DataFrame:
    """Run panels, and compare their results with the published values and statements.

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
        The comparison, see `cmab_gym.paper.comparison.Row`. Its column `unexpected` is True where
        a row should agree and does not, or the reverse.

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
    table = comparison(reproduced)
    titles = [[panel_title(each, table) for each in own] for own in by_figure]
    drawn = [(own, folder, title) for own, title in zip(by_figure, titles, strict=True)]
    list(_in_parallel(_draw_figure, drawn, workers))
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
    jobs = []
    for panel in panels:
        jobs.append((panel, rounds, trials, seed))
        jobs += [(other, rounds, n, seed) for other, n in _others(panel, rounds, trials)]
    outcomes = _in_parallel(_run, jobs, workers)
    for panel in panels:
        own = next(outcomes)
        options = {}
        for choice in _compared_choices(panel, rounds):
            values = {option: next(outcomes).values() for option in choice.others}
            options[choice.keyword] = {choice.options[0]: own.values(), **values}
        yield replace(own, options=options)


def _compared_choices(panel: Panel, rounds: int) -> tuple[Choice, ...]:
    """Return the choices whose other options are run: none in short runs, without their regret."""
    return panel.choices if rounds >= READ_AT else ()


def _others(panel: Panel, rounds: int, trials: int) -> Iterator[tuple[Panel, int]]:
    """List the panel with the options of its choices but the first, and their trials."""
    for choice in _compared_choices(panel, rounds):
        own_trials = min(trials, _DRAW_TRIALS) if len(choice.others) > 1 else trials
        for option in choice.others:
            yield panel.with_option(choice, option), own_trials


def _in_parallel(
    function: Callable[..., Done], jobs: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Done]:
    """Call a function with each tuple of arguments, in processes if worthwhile; yield in order."""
    if workers == 1 or len(jobs) == 1:
        return (function(*job) for job in jobs)
    return in_processes(function, jobs, min(workers, len(jobs)))


def _run(panel: Panel, rounds: int, trials: int, seed: int) -> Reproduced:
    run = (rounds, trials, seed)
    if panel.env_id in _ON_RATINGS:
        # Panels that differ in their pseudo-rewards only share the agents that do not see them.
        shared = {k: v for k, v in panel.env_kwargs.items() if k not in _OF_PSEUDO_REWARDS}
        agents = tuple(panel.agents.items())
        plain = _evaluate_once(panel.env_id, agents[:2], tuple(shared.items()), *run)
        results = _evaluate(panel.env_id, dict(agents[2:]), panel.env_kwargs, *run)
        results = replace(results, runs=plain.runs + results.runs)
    else:
        results = _evaluate(panel.env_id, panel.agents, panel.env_kwargs, *run)
    model = find_model(panel.env_id, panel.env_kwargs)
    measured = tuple(count_competitive(model, default_rng((seed, i))) for i in range(_MEASUREMENTS))
    known, exact = (f(model).n_competitive for f in (analyse, analyse_without_bins))
    without_bins = exact if exact != known else None
    return Reproduced(panel, results, known, measured, {}, _lower_bound(model), without_bins)


def _evaluate(
    env_id: str,
    agents: Mapping[str, str],
    env_kwargs: Mapping[str, Any],
    rounds: int,
    trials: int,
    seed: int,
) -> Results:
    at = np.linspace(0, rounds, min(rounds, 100) + 1).astype(int)[1:].tolist()
    return evaluate(
        env_id,
        agents,
        rounds,
        trials,
        seed,
        env_kwargs=env_kwargs,
        checkpoints=sorted({*at, READ_AT} if rounds >= READ_AT else at),
    )


@lru_cache(maxsize=32)
def _evaluate_once(
    env_id: str,
    agents: tuple[tuple[str, str], ...],
    env_kwargs: tuple[tuple[str, Any], ...],
    rounds: int,
    trials: int,
    seed: int,
) -> Results:
    return _evaluate(env_id, dict(agents), dict(env_kwargs), rounds, trials, seed)


def _lower_bound(model: BanditModel) -> LowerBound | None:
    try:
        return graves_lai_bound(model)
    except NoBoundError:
        return None


def panel_title(each: Reproduced, table: pd.DataFrame) -> str:
    """Return the title of a panel, which names what differs from the paper."""
    rows = table[(table["panel"] == each.panel.name) & (table["verdict"] == DIFFERS)]
    differs = f"\ndiffers: {', '.join(rows['what'])}" if len(rows) else ""
    return f"({each.panel.letter}) {each.panel.title}{differs}"


def _draw_figure(own: Sequence[Reproduced], folder: Path, titles: Sequence[str]) -> None:
    figure = own[0].panel.figure
    stand_in = any(each.panel.stand_in for each in own)
    parameters = ", ".join(dict.fromkeys(each.panel.parameters for each in own))
    plot_panels(
        [labelled(each) for each in own],
        titles,
        [folder / f"fig{figure}.{kind}" for kind in ("png", "svg")],
        f"{figure_title(figure)}, {parameters} parameters of the agents"
        + (" (other ratings stand in)" if stand_in else ""),
        [each.lower_bound for each in own],
        [marks(each) for each in own],
    )


def labelled(each: Reproduced) -> Results:
    """Return the results with the agents' parameters in their labels."""
    labels = each.panel.agents
    runs = [replace(run, label=labels.get(run.label, run.label)) for run in each.results.runs]
    return replace(each.results, runs=tuple(runs))


def marks(each: Reproduced) -> Marks | None:
    """Return the published values as marks; None without any, or if the run is too short."""
    values = {each.panel.agents[agent]: value for agent, value in each.panel.regret.items()}
    name = "published, other data" if each.panel.stand_in else "published"
    return Marks(READ_AT, values, name) if values and each.reaches_read_at else None
