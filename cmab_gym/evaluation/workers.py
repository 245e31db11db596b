"""Where batches are played: in this process, in worker processes, or on a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from cmab_gym import checks
from cmab_gym.evaluation.play import Batch, OnProgress, make_environment, play
from cmab_gym.evaluation.results import AgentRun

Done = TypeVar("Done")


class Play(Protocol):
    """Plays batches, in any order."""

    def __call__(
        self, batches: Sequence[Batch], progress: OnProgress | None = None, env: Any = None
    ) -> Iterator[AgentRun]:
        """Play batches.

        Args:
            batches: what to play, without gaps: those of one environment in a row.
            progress: called with the number of rounds played since the last call.
            env: an environment made for the first batch, for who can use it.
        """


@dataclass(frozen=True)
class Workers:
    """Who plays.

    Args:
        number: how many batches are played at a time.
        play: plays them.
    """

    number: int
    play: Play


@contextmanager
def workers_of(n_jobs: int = 1, scheduler: str | None = None) -> Iterator[Workers]:
    """Find those who play: this process, `n_jobs` processes, or the workers of a cluster.

    Args:
        n_jobs: processes here; -1 is one per core.
        scheduler: address of a Dask scheduler.

    Raises:
        ValueError: both are given, or the cluster cannot be used.
    """
    number = count_workers(n_jobs)
    if scheduler is not None:
        from cmab_gym.evaluation.cluster import connected, play_on_cluster

        if n_jobs != 1:
            raise ValueError(
                f"n_jobs={n_jobs} beside scheduler={scheduler!r}: expected one of them, since the "
                "cluster's workers play instead of processes here"
            )
        with connected(scheduler) as (client, threads):
            yield Workers(threads, partial(play_on_cluster, client))
    elif number == 1:
        yield Workers(1, play_serially)
    else:
        yield Workers(number, partial(play_in_processes, number))


def count_workers(n_jobs: int) -> int:
    """Return the number of processes that n_jobs asks for; -1 is one per core."""
    number = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    return checks.whole_number("n_jobs", number, 1, "or -1 for one per core")


def play_serially(
    batches: Sequence[Batch], progress: OnProgress | None = None, env: Any = None
) -> Iterator[AgentRun]:
    """Play batch after batch; those of one size on one environment share it."""
    failed, last = "", batches[0]
    for batch in batches:
        if batch.label == failed:
            continue
        if env is None or not _same_environment(batch, last):
            rounds = batch.checkpoints[-1]
            env = make_environment(batch.spec, len(batch.trials), rounds, batch.env_kwargs)
        fits = env.num_envs == len(batch.trials)
        curves = play(batch, progress, env if fits else None)
        failed, last = batch.label if curves.failure else failed, batch
        yield curves


def _same_environment(one: Batch, other: Batch) -> bool:
    rounds = one.checkpoints[-1] == other.checkpoints[-1]
    return rounds and one.spec is other.spec and one.env_kwargs is other.env_kwargs


def play_in_processes(
    workers: int, batches: Sequence[Batch], progress: OnProgress | None = None, env: Any = None
) -> Iterator[AgentRun]:
    """Play in `workers` processes; one that dies takes no other agent's results with it.

    Raises:
        ValueError: an agent or a setting cannot be sent to another process.
    """
    _check_sendable(batches)
    left = dict(enumerate(batches))
    try:
        for number, curves in _play(left, workers, progress):
            del left[number]
            yield curves
    except BrokenProcessPool:
        # It is not known whose batch ended the process: so each agent that is not done plays on
        # alone.
        for label in dict.fromkeys(batch.label for batch in left.values()):
            own = {number: batch for number, batch in left.items() if batch.label == label}
            try:
                for _, curves in _play(own, workers, progress):
                    yield curves
            except BrokenProcessPool:
                why = "its worker process ended without a result; play it with n_jobs=1"
                yield without_result(next(iter(own.values())), why)


def _play(
    batches: dict[int, Batch], workers: int, progress: OnProgress | None
) -> Iterator[tuple[int, AgentRun]]:
    for number, curves in in_processes(_numbered, list(batches.items()), workers):
        if progress is not None:
            progress(len(batches[number].trials) * batches[number].checkpoints[-1])
        yield number, curves


def in_processes(
    function: Callable[..., Done],
    jobs: Iterable[tuple[Any, ...]],
    workers: int,
    in_order: bool = False,
) -> Iterator[Done]:
    """Call a function with each tuple of arguments, in worker processes; yield what is done.

    Raises:
        BrokenProcessPool: a worker died.
    """
    from joblib import Parallel, delayed

    kind = "generator" if in_order else "generator_unordered"
    parallel = Parallel(n_jobs=workers, return_as=kind, batch_size=1)
    with warnings.catch_warnings():
        # A worker whose memory has grown, as by loading torch, is replaced between two jobs, which
        # is as it should be. And as an error (python -W error) the warning would end the thread
        # that hands out the jobs, so that the rest would be waited for for ever.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        yield from parallel(delayed(function)(*job) for job in jobs)


def _numbered(number: int, batch: Batch) -> tuple[int, AgentRun]:
    return number, play(batch)


def without_result(batch: Batch, why: str) -> AgentRun:
    """Return the empty curves of a batch that was not played to its end."""
    nothing = np.empty((0, 0))
    failure = f"agent {batch.label!r}: {why}"
    return AgentRun.failed(batch.label, failure)


def _check_sendable(batches: Sequence[Batch]) -> None:
    import cloudpickle

    for batch in {batch.label: batch for batch in batches}.values():
        for what, thing in (("agent", batch.make), ("environment", batch.env_kwargs)):
            try:
                cloudpickle.dumps(thing)
            except Exception as error:
                name = repr(batch.label) if what == "agent" else batch.spec.id
                raise ValueError(
                    f"{what} {name} cannot be sent to worker processes ({error}): expected what "
                    "can be pickled; use n_jobs=1"
                ) from error
