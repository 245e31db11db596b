"""`sweep`: run independent tasks, save each one at its end, and resume after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmab_gym import checks
from cmab_gym.agents.make import named_agent
from cmab_gym.evaluation.evaluate import (
    WAIT_FOR_WORKERS,
    batch_size_of,
    checkpoint_rounds,
    trial_ranges,
)
from cmab_gym.evaluation.manifest import describe_environment, describe_run
from cmab_gym.evaluation.playing.batch import Batch, find_environment, make_environment
from cmab_gym.evaluation.playing.progress import OnBatch, OnProgress, combined
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.results import Results
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep, Task, columns_of
from cmab_gym.evaluation.workers.choose import Workers, workers_of
from cmab_gym.files import write_csv
from cmab_gym.text import write
from cmab_gym.told_problem import TOLD
from cmab_gym.user_code import line_of_user

if TYPE_CHECKING:
    import pandas as pd

SUMMARY = "summary.csv"
FINISHED, FAILED, MISSING = "finished", "failed", "missing"
_NUMBERS = ["regret", "sd", "low", "high", "best_arm_share", "rounds_per_second"]
Say = Callable[[str], None]
OnFailure = Callable[[AgentRun], None]


def sweep(
    plan: Sweep | str | Path,
    out: str | Path,
    n_jobs: int = 1,
    scheduler: str | None = None,
    *,
    summary_only: bool = False,
    progress: OnProgress | None = None,
    say: Say = write,
    on_failure: OnFailure | None = None,
    timeout: float | None = None,
    wait_for_workers: float = WAIT_FOR_WORKERS,
) -> pd.DataFrame:
    """Run the tasks of a sweep that are not finished yet, and summarise all of them.

    A task has the numbers that `evaluate` would give. It is saved at its end in its own folder,
    which `Results.load` reads. Finished tasks survive an error, Ctrl-C, kill -9 and a full disk:
    run the sweep again, and it runs only the tasks that are missing.

    Args:
        plan: a `Sweep`, or a YAML file for `Sweep.from_file`.
        out: folder that gets one folder per task, and `summary.csv`.
        n_jobs: number of worker processes; -1 is one per core.
        scheduler: address of a Dask scheduler, as for `evaluate`.
        summary_only: run nothing, and only write the summary of the finished tasks.
        progress: called with the number of rounds played since the last call; the first call
            counts the rounds of tasks that were finished before.
        say: called with messages, such as how many tasks are finished.
        on_failure: called with the run of an agent that failed.
        timeout: as for `evaluate`.
        wait_for_workers: as for `evaluate`.

    Returns:
        One row per task, as in `summary.csv`. Columns: folder; env_id, the environment's keyword
        arguments ("env.pad"), agent, its parameters ("agent.beta"), seed, rounds, trials; regret,
        sd, low, high, best_arm_share and rounds_per_second as in `Results.summary`; status,
        "finished", "failed" or "missing"; and failure, the reason why the agent failed.

    Raises:
        ValueError: the plan is wrong, or another sweep is writing to the folder.
        OSError: a task could not be saved; the tasks finished before it are kept.
    """
    if timeout is not None:
        timeout = checks.positive("timeout", timeout)
    tasks = (plan if isinstance(plan, Sweep) else Sweep.from_file(plan)).tasks()
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        _delete_partial_files(tasks, out)
        rows = finished_rows(tasks, out, say)
        left = [task for task in tasks if task.name not in rows]
        say(f"{len(tasks)} tasks: {len(rows)} finished before, {len(left)} to run")
        if left and not summary_only:
            descriptions = check_tasks(left)
            if progress is not None and rows:
                progress(sum(task.rounds * task.trials for task in tasks if task.name in rows))
            on_batch = combined(progress, None)
            try:
                with workers_of(n_jobs, scheduler, wait_for_workers, timeout) as workers:
                    for run in _run(left, out, descriptions, workers, timeout, on_batch, rows):
                        if on_failure is not None:
                            on_failure(run)
            except KeyboardInterrupt:
                # Ctrl-C may have come after a task was saved and before its row was added.
                rows |= finished_rows(tasks, out, lambda text: None)
                _write_summary(tasks, rows, out)
                raise
        return _write_summary(tasks, rows, out)


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    try:
        with FileLock(out / ".lock", timeout=0):
            yield
    except Timeout:
        raise ValueError(
            f"another sweep is writing to {out}: wait for it, or choose another folder"
        ) from None


def _delete_partial_files(tasks: Sequence[Task], out: Path) -> None:
    for task in tasks:
        for part in (out / task.name).glob(".*.partial"):
            part.unlink()


def finished_rows(tasks: Sequence[Task], out: Path, say: Say) -> dict[str, dict[str, Any]]:
    """Return the rows of the tasks with complete files."""
    rows = {}
    for task in tasks:
        folder = out / task.name
        if not folder.is_dir():
            continue
        try:
            rows[task.name] = _row(Results.load(folder))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            say(f"task {task.name} is incomplete and has to run again: {error}")
    return rows


def _row(results: Results) -> dict[str, Any]:
    summary = results.summarise(results.finished[0])
    return {**{name: summary[name] for name in _NUMBERS}, "status": FINISHED}


def _run(
    tasks: Sequence[Task],
    out: Path,
    descriptions: Mapping[int, Mapping[str, Any]],
    workers: Workers,
    timeout: float | None,
    progress: OnBatch | None,
    rows: dict[str, dict[str, Any]],
) -> Iterator[AgentRun]:
    """Run tasks; save each one at its end, and add its row to `rows`; yield those that failed."""
    run = describe_run()
    share = max(1, workers.n_workers // len(tasks))  # workers for one task
    size = batch_size_of(None, tasks[0].trials, share)
    batches = [batch for task in tasks for batch in batches_of(task, size, timeout)]
    by_name = {task.name: task for task in tasks}
    parts: dict[str, list[AgentRun]] = {name: [] for name in by_name}
    for part in workers.run(batches, progress):
        task, own = by_name[part.label], parts[part.label]
        if task.name in rows:
            continue  # another of its batches has failed
        own.append(part)
        if part.failure:
            rows[task.name] = {"status": FAILED, "failure": part.failure}
            yield part
        elif sum(len(each.regret) for each in own) == task.trials:
            manifest = {**descriptions[id(task.env_kwargs)], **run}
            manifest |= {"n_jobs": workers.n_workers, "batch_size": size}
            results = _results(task, own, manifest)
            _save(results, out / task.name)
            rows[task.name] = _row(results)
            own.clear()


def check_tasks(tasks: Sequence[Task]) -> dict[int, dict[str, Any]]:
    """Check that every environment and every agent can be made.

    Returns:
        Each environment's part of the manifest, by the `id` of its keyword arguments.

    Raises:
        ValueError, FileNotFoundError: one cannot be made; the error names its key.
    """
    descriptions: dict[int, dict[str, Any]] = {}
    for task in tasks:
        if id(task.env_kwargs) not in descriptions:
            with _key_in_errors(task.keys[0]):
                spec = find_environment(task.env_id, task.located_kwargs)
                env = make_environment(spec, 1, task.rounds, task.located_kwargs)
            described = describe_environment(task.env_id, task.located_kwargs, env)
            descriptions[id(task.env_kwargs)] = described
    for task in {task.agent: task for task in tasks}.values():
        with _key_in_errors(task.keys[1]):
            named_agent(task.agent, task.folder)()
    return descriptions


@contextmanager
def _key_in_errors(key: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{key}: {error}") from error
    except Exception as error:
        what = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{key}: {what}{error}{line_of_user(error)}") from error


def batches_of(task: Task, size: int, timeout: float | None = None) -> list[Batch]:
    """Divide the trials of a task into batches of `size`."""
    spec = find_environment(task.env_id, task.located_kwargs)
    make = named_agent(task.agent, task.folder)
    at = checkpoint_rounds(task.checkpoints, task.rounds)
    return [
        Batch(
            *(task.name, make, trials, spec, task.located_kwargs, at, task.seed, timeout),
            arrivals=task.arrivals,
            agent=task.agent,
        )
        for trials in trial_ranges(task.trials, size)
    ]


def _results(task: Task, parts: Sequence[AgentRun], described: Mapping[str, Any]) -> Results:
    run = replace(AgentRun.joined(task.name, parts, task.trials), label=task.agent)
    manifest = {
        **described,
        "agents": {task.agent: task.agent},
        "rounds": task.rounds,
        "trials": task.trials,
        "first_trial": 0,
        "seed": task.seed,
        **asdict(task.arrivals),
        "log_checkpoints": task.checkpoints == "log",
        "seconds": round(run.seconds, 3),
        "told_more": {task.agent: TOLD[run.told]} if run.told else {},
        "task": task.settings,
    }
    return Results(checkpoint_rounds(task.checkpoints, task.rounds), (run,), manifest)


def _save(results: Results, folder: Path) -> None:
    try:
        results.save(folder)
    except OSError as error:
        raise type(error)(
            f"{error}: the tasks finished before it are kept; free some space, and run the sweep "
            "again"
        ) from error


def _write_summary(
    tasks: Sequence[Task], rows: Mapping[str, Mapping[str, Any]], out: Path
) -> pd.DataFrame:
    import pandas as pd

    chosen = columns_of(tasks)
    found = [
        {"folder": task.name, **own, **rows.get(task.name, {"status": MISSING})}
        for task, own in zip(tasks, chosen, strict=True)
    ]
    table = pd.DataFrame(found, columns=["folder", *chosen[0], *_NUMBERS, "status", "failure"])
    write_csv(out / SUMMARY, table)
    return table
