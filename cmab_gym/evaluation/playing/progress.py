"""How far an evaluation has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from cmab_gym.evaluation.results.agent_run import AgentRun

OnProgress = Callable[[int], None]
_REPORT_EVERY = 0.1  # seconds


@dataclass(frozen=True)
class BatchProgress:
    """How far one agent has come in some trials.

    Args:
        label: the agent's.
        trials: indices of the trials.
        rounds: how many rounds each of them has.
        pulls: pulls of all of them since the last report.
        regret: mean regret of these trials so far; NaN after a failure.
        failed: whether the agent failed.
        resumed: whether the pulls are those of an earlier run that is resumed.
    """

    label: str
    trials: range
    rounds: int
    pulls: int
    regret: float
    failed: bool = False
    resumed: bool = False

    @classmethod
    def ended(
        cls, run: AgentRun, trials: range, rounds: int, resumed: bool = False
    ) -> BatchProgress:
        """Return the report of trials that have ended, in one piece."""
        if run.failure:
            return cls(run.label, trials, 0, 0, float("nan"), failed=True)
        regret = float(run.regret[:, -1].mean())
        return cls(run.label, trials, rounds, rounds * len(trials), regret, resumed=resumed)


OnBatch = Callable[[BatchProgress], None]


class BatchReports:
    """Reports from time to time how far a batch has come.

    Args:
        on_batch: receives the reports; None makes none.
        label, trials: those of the batch.
        regret: returns the mean regret so far.
    """

    def __init__(
        self, on_batch: OnBatch | None, label: str, trials: range, regret: Callable[[], float]
    ) -> None:
        self._on_batch, self._label, self._trials, self._regret = on_batch, label, trials, regret
        self._reported, self._due = 0, time.perf_counter() + _REPORT_EVERY

    def __call__(self, t: int, always: bool = False, resumed: bool = False) -> None:
        """Report t rounds, if it is time for a report, or always."""
        if self._on_batch is None or not (always or time.perf_counter() > self._due):
            return
        pulls = (t - self._reported) * len(self._trials)
        self._on_batch(
            BatchProgress(self._label, self._trials, t, pulls, self._regret(), resumed=resumed)
        )
        self._reported, self._due = t, time.perf_counter() + _REPORT_EVERY


def combined(progress: OnProgress | None, watch: OnBatch | None) -> OnBatch | None:
    """Return a function that calls both; None if there are none."""
    if progress is None:
        return watch

    def report(batch: BatchProgress) -> None:
        if batch.pulls:
            progress(batch.pulls)
        if watch is not None:
            watch(batch)

    return report
