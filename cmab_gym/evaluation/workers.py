"""Play batches in worker processes; one that dies takes no other agent's results with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool

import numpy as np

from cmab_gym.evaluation.play import Batch, Curves, Progress, play


def play_in_workers(
    batches: Sequence[Batch], workers: int, progress: Progress | None
) -> Iterator[Curves]:
    """Play batches in any order, `workers` at a time.

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
                yield _died(next(iter(own.values())))


def _play(
    batches: dict[int, Batch], workers: int, progress: Progress | None
) -> Iterator[tuple[int, Curves]]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    jobs = (delayed(_numbered)(number, batch) for number, batch in list(batches.items()))
    for number, curves in parallel(jobs):
        if progress is not None:
            progress(len(curves.trials) * batches[number].checkpoints[-1])
        yield number, curves


def _numbered(number: int, batch: Batch) -> tuple[int, Curves]:
    return number, play(batch)


def _died(batch: Batch) -> Curves:
    why = f"agent {batch.label!r}: its worker process ended without a result; play it with n_jobs=1"
    nothing = np.empty((0, 0))
    return Curves(batch.label, batch.trials, nothing, nothing.astype(np.int64), 0.0, why)


def _check_sendable(batches: Sequence[Batch]) -> None:
    import cloudpickle

    for batch in {batch.label: batch for batch in batches}.values():
        for what, thing in (("agent", batch.make), ("environment", batch.settings)):
            try:
                cloudpickle.dumps(thing)
            except Exception as error:
                name = repr(batch.label) if what == "agent" else batch.spec.id
                raise ValueError(
                    f"{what} {name} cannot be sent to worker processes ({error}): expected what "
                    "can be pickled; use n_jobs=1"
                ) from error
