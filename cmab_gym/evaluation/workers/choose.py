"""Choose where batches run: in this process, in worker processes, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from cmab_gym import checks
from cmab_gym.evaluation.playing.batch import Batch
from cmab_gym.evaluation.playing.progress import OnBatch
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.workers.local import run_in_processes, run_serially


class RunBatches(Protocol):
    """A function that runs batches, in any order."""

    def __call__(
        self, batches: Sequence[Batch], progress: OnBatch | None = None, env: Any = None
    ) -> Iterator[AgentRun]:
        """Run batches.

        Args:
            batches: the batches; those of one environment stand next to each other.
            progress: called with how far a batch has come.
            env: an environment made for the first batch; only a run in this process uses it.
        """


@dataclass(frozen=True)
class Workers:
    """Where batches are run.

    Args:
        n_workers: how many batches run at a time.
        run: runs the batches.
    """

    n_workers: int
    run: RunBatches


@contextmanager
def workers_of(
    n_jobs: int = 1,
    scheduler: str | None = None,
    wait_for_workers: float = 60,
    timeout: float | None = None,
) -> Iterator[Workers]:
    """Choose this process, `n_jobs` worker processes, or the workers of a cluster.

    Args:
        n_jobs: number of processes on this machine; -1 is one per core.
        scheduler: address of a Dask scheduler.
        wait_for_workers: seconds to wait for a worker while the cluster has none.
        timeout: the time limit of the batches; with one, they never run in this process.

    Raises:
        ValueError: both are given, or the cluster cannot be used.
    """
    n_workers = count_workers(n_jobs)
    if scheduler is not None:
        from cmab_gym.evaluation.workers.cluster import connected, run_on_cluster

        if n_jobs != 1:
            raise ValueError(
                f"n_jobs={n_jobs} and scheduler={scheduler!r}: expected one of them, since the "
                "cluster's workers replace the processes on this machine"
            )
        wait = checks.positive("wait_for_workers", wait_for_workers)
        with connected(scheduler, wait) as (client, n_threads):
            yield Workers(n_threads, partial(run_on_cluster, client, wait))
    elif n_workers == 1 and timeout is None:
        yield Workers(1, run_serially)
    else:
        yield Workers(n_workers, partial(run_in_processes, n_workers))


def count_workers(n_jobs: int) -> int:
    """Return the number of processes that `n_jobs` stands for; -1 is one per core."""
    n_workers = (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
    return checks.whole_number("n_jobs", n_workers, 1, "or -1 for one per core")
