"""Run batches in this process, or in worker processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cmab_gym.evaluation.playing.batch import (
    Batch,
    forget_variables,
    make_environment,
    run_batch,
)
from cmab_gym.evaluation.playing.progress import BatchProgress, OnBatch
from cmab_gym.evaluation.processes.calls import TimeUp, WorkerEnded, outcomes
from cmab_gym.evaluation.results.agent_run import AgentRun


def run_serially(
    batches: Sequence[Batch], progress: OnBatch | None = None, env: Any = None
) -> Iterator[AgentRun]:
    """Run one batch after another; batches of one size share their environment."""
    failed, last = "", batches[0]
    for batch in batches:
        if batch.label == failed:
            continue
        if env is None or not _same_environment(batch, last):
            rounds = batch.checkpoints[-1]
            env = make_environment(batch.spec, len(batch.trials), rounds, batch.env_kwargs)
        fits = env.num_envs == len(batch.trials)
        run = run_batch(batch, progress, env if fits else None)
        forget_variables(run.cause)
        if run.failure and progress is not None:
            progress(ended(batch, run))
        failed, last = batch.label if run.failure else failed, batch
        yield run


def _same_environment(one: Batch, other: Batch) -> bool:
    rounds = one.checkpoints[-1] == other.checkpoints[-1]
    return rounds and one.spec is other.spec and one.env_kwargs is other.env_kwargs


def run_in_processes(
    n_workers: int, batches: Sequence[Batch], progress: OnBatch | None = None, env: Any = None
) -> Iterator[AgentRun]:
    """Run batches in worker processes; if a process dies, only its agent fails.

    Raises:
        ValueError: an agent or an environment cannot be sent to another process.
    """
    _check_sendable(batches)
    started: list[Batch] = []
    failed: set[str] = set()

    def jobs() -> Iterator[tuple[Batch]]:
        for batch in batches:
            if batch.label not in failed:
                started.append(batch)
                yield (batch,)

    for index, outcome in outcomes(_run, jobs(), min(n_workers, len(batches))):
        batch = started[index]
        run = _ended(batch, outcome) if isinstance(outcome, WorkerEnded) else outcome
        if run.failure:
            failed.add(run.label)
        if progress is not None:
            progress(ended(batch, run))
        yield run


def ended(batch: Batch, run: AgentRun) -> BatchProgress:
    """Return the report of a batch that has ended."""
    return BatchProgress.ended(run, batch.trials, batch.checkpoints[-1])


def _run(batch: Batch) -> AgentRun:
    return run_batch(batch).to_send()


def _ended(batch: Batch, error: WorkerEnded) -> AgentRun:
    """Return the run of a batch whose worker process has ended."""
    reason = str(error)
    if isinstance(error, TimeUp):
        reason = f"more than timeout={batch.timeout:g} seconds for a round{error}"
    failure = f"{batch.who()}, {batch.where()}: {reason}"
    first = batch.trials.start
    return AgentRun.failed(batch.label, failure, first_trial=first, cause=error.__cause__)


def _check_sendable(batches: Sequence[Batch]) -> None:
    import cloudpickle

    for batch in {batch.label: batch for batch in batches}.values():
        environment = f"environment {batch.spec.id}"
        for what, thing in ((batch.who(), batch.make), (environment, batch.env_kwargs)):
            try:
                cloudpickle.dumps(thing)
            except Exception as error:
                raise ValueError(
                    f"{what} cannot be sent to worker processes ({error}): expected one "
                    "that can be pickled; use n_jobs=1"
                ) from error
