"""Run batches in this process, in worker processes, or on a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from cmab_gym import checks
from cmab_gym.evaluation.batch import Batch, OnProgress, make_environment, run_batch
from cmab_gym.evaluation.results import AgentRun

Done = TypeVar("Done")


class RunBatches(Protocol):
    """A function that runs batches, in any order."""

    def __call__(
        self, batches: Sequence[Batch], progress: OnProgress | None = None, env: Any = None
    ) -> Iterator[AgentRun]:
        """Run batches.

        Args:
            batches: the batches; those of one environment stand next to each other.
            progress: called with the number of rounds played since the last call.
            env: an environment made for the first batch; only a run in this process uses it.
        """


@dataclass(frozen=True)
class Workers:
    """Where batches are run.

    Args:
        n_workers: how many batches run at a time.
        play: runs the batches.
    """

    n_workers: int
    run: RunBatches


@contextmanager
def workers_of(n_jobs: int = 1, scheduler: str | None = None) -> Iterator[Workers]:
    """Choose this process, `n_jobs` worker processes, or the workers of a cluster.

    Args:
        n_jobs: number of processes on this machine; -1 is one per core.
        scheduler: address of a Dask scheduler.

    Raises:
        ValueError: both are given, or the cluster cannot be used.
    """
    n_workers = count_workers(n_jobs)
    if scheduler is not None:
        from cmab_gym.evaluation.cluster import connected, run_on_cluster

        if n_jobs != 1:
            raise ValueError(
                f"n_jobs={n_jobs} and scheduler={scheduler!r}: expected one of them, since the "
                "cluster's workers replace the processes on this machine"
            )
        with connected(scheduler) as (client, n_threads):
            yield Workers(n_threads, partial(run_on_cluster, client))
    elif n_workers == 1:
        yield Workers(1, run_serially)
    else:
        yield Workers(n_workers, partial(run_in_processes, n_workers))


def count_workers(n_jobs: int) -> int:
    """Return the number of processes that `n_jobs` stands for; -1 is one per core."""
    n_workers = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    return checks.whole_number("n_jobs", n_workers, 1, "or -1 for one per core")


def run_serially(
    batches: Sequence[Batch], progress: OnProgress | None = None, env: Any = None
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
        failed, last = batch.label if run.failure else failed, batch
        yield run


def _same_environment(one: Batch, other: Batch) -> bool:
    rounds = one.checkpoints[-1] == other.checkpoints[-1]
    return rounds and one.spec is other.spec and one.env_kwargs is other.env_kwargs


def run_in_processes(
    n_workers: int, batches: Sequence[Batch], progress: OnProgress | None = None, env: Any = None
) -> Iterator[AgentRun]:
    """Run batches in worker processes; if a process dies, only its agent fails.

    Raises:
        ValueError: an agent or an environment cannot be sent to another process.
    """
    _check_sendable(batches)
    left = dict(enumerate(batches))
    try:
        for index, run in _play(left, n_workers, progress):
            del left[index]
            yield run
    except BrokenProcessPool:
        # Any of the unfinished batches may have ended the process: run each agent separately.
        for label in dict.fromkeys(batch.label for batch in left.values()):
            own = {index: batch for index, batch in left.items() if batch.label == label}
            try:
                for _, run in _play(own, n_workers, progress):
                    yield run
            except BrokenProcessPool:
                reason = "its worker process ended without a result; run it with n_jobs=1"
                yield AgentRun.failed(label, f"agent {label!r}: {reason}")


def _play(
    batches: dict[int, Batch], n_workers: int, progress: OnProgress | None
) -> Iterator[tuple[int, AgentRun]]:
    for index, run in in_processes(_play_one, list(batches.items()), n_workers):
        if progress is not None:
            progress(len(batches[index].trials) * batches[index].checkpoints[-1])
        yield index, run


def _play_one(index: int, batch: Batch) -> tuple[int, AgentRun]:
    return index, run_batch(batch).to_send()


def in_processes(
    function: Callable[..., Done],
    jobs: Iterable[tuple[Any, ...]],
    n_workers: int,
    in_order: bool = False,
) -> Iterator[Done]:
    """Call a function in worker processes, once for each tuple of arguments.

    Args:
        function: the function.
        jobs: the tuples of arguments.
        n_workers: number of processes.
        in_order: yield results in the order of `jobs`, not as they finish.

    Yields:
        What the function returns.

    Raises:
        BrokenProcessPool: a worker died.
    """
    from joblib import Parallel, delayed

    kind = "generator" if in_order else "generator_unordered"
    parallel = Parallel(n_jobs=n_workers, return_as=kind, batch_size=1)
    with warnings.catch_warnings():
        # joblib replaces a worker whose memory has grown, for example by loading torch, and warns.
        # As an error (python -W error) the warning would end the thread that hands out the jobs,
        # and this process would wait forever.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield from parallel(delayed(function)(*job) for job in jobs)


def _check_sendable(batches: Sequence[Batch]) -> None:
    import cloudpickle

    for batch in {batch.label: batch for batch in batches}.values():
        for what, thing in (("agent", batch.make), ("environment", batch.env_kwargs)):
            try:
                cloudpickle.dumps(thing)
            except Exception as error:
                name = repr(batch.label) if what == "agent" else batch.spec.id
                raise ValueError(
                    f"{what} {name} cannot be sent to worker processes ({error}): expected one "
                    "that can be pickled; use n_jobs=1"
                ) from error
