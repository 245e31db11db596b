"""`--dry-run`: what would run, how long it would take, and how much memory it needs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cmab_gym.agents.make import agent_factory
from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import AGENT_FAILED, OK, print_failures
from cmab_gym.cli.printing import print_table, say
from cmab_gym.cli.progress_bar import progress_bar
from cmab_gym.envs_data.surveys.unknown import without_survey_warnings
from cmab_gym.evaluation.evaluate import batch_size_of, checkpoint_rounds, labelled
from cmab_gym.evaluation.playing.batch import Batch, find_environment, make_environment
from cmab_gym.evaluation.playing.estimate import SECONDS, estimate
from cmab_gym.evaluation.playing.memory import peak_memory
from cmab_gym.evaluation.results.results import short_labels
from cmab_gym.evaluation.sweeps.sweep import batches_of, check_tasks, finished_rows
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep, Task
from cmab_gym.evaluation.workers.choose import workers_of
from cmab_gym.late_rewards import Arrivals

# Of the seconds that each agent of a sweep plays: all of them together take about the most.
_LEAST_SECONDS, _MOST_SECONDS = 0.1, 20.0
_SAVING = 150_000_000  # bytes, measured: pandas, pyarrow and Matplotlib, which saving imports


def dry_run(chosen: argparse.Namespace, agents: Sequence[str]) -> int:
    """Play some rounds of each agent of `run`, and print what the whole run would take."""
    spec = find_environment(chosen.env, chosen.env_kwargs)
    at = checkpoint_rounds(chosen.checkpoints, chosen.rounds)
    makes = {label: agent_factory(agent) for label, agent in labelled(agents).items()}
    arrivals = Arrivals(chosen.delay, chosen.rewards_every)
    with workers_of(chosen.jobs, chosen.scheduler, chosen.wait_for_workers) as workers:
        n_workers = workers.n_workers
    size = batch_size_of(None, chosen.trials, n_workers)
    trials = range(chosen.first_trial, chosen.first_trial + size)
    found = {}
    with progress_bar("estimating", len(makes), "agents") as advance, without_survey_warnings():
        env = make_environment(spec, size, chosen.rounds, chosen.env_kwargs)
        for label, make in makes.items():
            batch = Batch(
                *(label, make, trials, spec, chosen.env_kwargs, at, chosen.seed),
                arrivals=arrivals,
            )
            found[label] = estimate(batch, env)
            advance(1)
    n_batches = chosen.trials / size
    seconds = [each.setup + n_batches * each.seconds for each in found.values()]
    speeds = [
        size * chosen.rounds / each.seconds if each.seconds else None for each in found.values()
    ]
    rows = [
        (name, _length(own), f"{speed:,.0f}" if speed else "-", "yes" if each.failure else "no")
        for name, own, speed, each in zip(
            short_labels([*found]), seconds, speeds, found.values(), strict=True
        )
    ]
    print_table(("agent", "time", "rounds/s", "fails"), rows, text=["agent"])
    start_up = sum(each.start_up for each in found.values())
    in_all = start_up + sum(seconds) / min(n_workers, max(1, round(n_batches * len(found))))
    memory = _memory(n_workers, len(found) * chosen.trials, len(at))
    _say_total(in_all, start_up, n_workers, memory, SECONDS)
    out = Path(chosen.out)
    replaces = ", in place of what it has" if (out / "results.parquet").exists() else ""
    say(
        f"would run {len(found)} agents on {chosen.env}: {chosen.trials:,} trials of "
        f"{chosen.rounds:,} rounds, and write to {out}{replaces}"
    )
    document = {
        "dry_run": True,
        "env_id": chosen.env,
        "env_kwargs": chosen.env_kwargs,
        "rounds": chosen.rounds,
        "trials": chosen.trials,
        "seed": chosen.seed,
        "workers": n_workers,
        "batch_size": size,
        "out": out,
        "seconds": in_all,
        "start_up": start_up,
        "memory": memory,
        "agents": [
            {"agent": label, "seconds": own, "rounds_per_second": speed}
            for label, own, speed in zip(found, seconds, speeds, strict=True)
        ],
        "failures": {label: each.failure for label, each in found.items() if each.failure},
    }
    print_document("run", document)
    return _ended(chosen, found.values())


def dry_run_sweep(chosen: argparse.Namespace, plan: Sweep) -> int:
    """Play some rounds of each agent on each environment of a sweep, and print what it would take.

    The tasks that differ only in their seed are taken to be equally long.
    """
    tasks, out = plan.tasks(), Path(chosen.out)
    finished = finished_rows(tasks, out, lambda text: None)
    left = [task for task in tasks if task.name not in finished]
    check_tasks(left)
    with workers_of(chosen.jobs, chosen.scheduler, chosen.wait_for_workers) as workers:
        n_workers = workers.n_workers
    groups: dict[tuple[int, str], list[Task]] = {}
    for task in left:
        groups.setdefault((id(task.env_kwargs), task.agent), []).append(task)
    size = batch_size_of(None, plan.trials, max(1, n_workers // max(1, len(left))))
    each = min(SECONDS, max(_LEAST_SECONDS, _MOST_SECONDS / max(1, len(groups))))
    rows, failed, seconds, start_up = [], [], 0.0, 0.0
    with progress_bar("estimating", len(groups), "agents") as advance, without_survey_warnings():
        for own in groups.values():
            found = estimate(batches_of(own[0], size)[0], seconds=each)
            took = len(own) * (found.setup + plan.trials / size * found.seconds)
            seconds += took
            start_up += found.start_up
            rows.append((own[0], len(own), took))
            failed += [found] if found.failure else []
            advance(1)
    print_table(
        ("environment", "agent", "tasks", "time"),
        [
            (_environment(task), short_labels([task.agent])[0], f"{count:,}", _length(took))
            for task, count, took in rows
        ],
        text=["environment", "agent"],
    )
    n_batches = len(left) * -(-plan.trials // size)
    in_all = start_up + seconds / min(n_workers, max(1, n_batches))
    checkpoints = len(checkpoint_rounds(plan.checkpoints, plan.rounds))
    memory = _memory(n_workers, plan.trials, checkpoints)
    _say_total(in_all, start_up, n_workers, memory, each)
    say(f"{len(tasks)} tasks: {len(finished)} finished before, {len(left)} to run; writes to {out}")
    document = {
        "dry_run": True,
        "out": out,
        "workers": n_workers,
        "tasks": len(tasks),
        "finished": len(finished),
        "seconds": in_all,
        "start_up": start_up,
        "memory": memory,
        "agents": [
            {
                "env_id": task.env_id,
                "env_kwargs": task.env_kwargs,
                "agent": task.agent,
                "tasks": count,
                "seconds": took,
            }
            for task, count, took in rows
        ],
    }
    print_document("sweep", document)
    return _ended(chosen, failed)


def _environment(task: Task) -> str:
    given = ", ".join(f"{key}={value}" for key, value in task.env_kwargs.items())
    return f"{task.env_id} ({given})" if given else task.env_id


def _ended(chosen: argparse.Namespace, found: Any) -> int:
    """Print why agents failed, and return the exit code."""
    failed = [each.run for each in found if each.failure]
    print_failures(failed, chosen.option_of, chosen.debug)
    return AGENT_FAILED if failed else OK


def _memory(n_workers: int, trials: int, checkpoints: int) -> int | None:
    """Estimate the memory of all processes in bytes, from that of this one; None if unknown."""
    results = 4 * 8 * trials * checkpoints  # the numbers recorded at each checkpoint
    processes = 1 if n_workers == 1 else n_workers + 1
    return processes * peak_memory() + results + _SAVING if peak_memory() else None


def _say_total(
    seconds: float, start_up: float, n_workers: int, memory: int | None, each: float
) -> None:
    where = "1 process" if n_workers == 1 else f"{n_workers} workers"
    held = f" and {memory / 1e6:,.0f} MB of memory" if memory else ""
    say(
        f"about {_length(seconds)} ({_length(start_up)} of it start-up) with {where}{held}: "
        f"estimates, from {each:.1g} seconds of each agent"
    )


def _length(seconds: float) -> str:
    """Write a time: "0.4 s", "75 s", "12 min" or "3.2 h"."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
