"""Estimate how long an agent will take, from a short run of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from cmab_gym.evaluation.playing.batch import Batch, forget_variables, run_batch
from cmab_gym.evaluation.playing.progress import BatchProgress
from cmab_gym.evaluation.results.agent_run import AgentRun

SECONDS = 0.5  # that an agent plays


@dataclass(frozen=True)
class Estimate:
    """What a batch will take.

    Args:
        setup: seconds to make the agent and its state.
        seconds: seconds that all rounds of the batch will take.
        start_up: seconds by which the first setup in a process is longer: imports and compilation.
        run: the failure of the agent, or its results if it ended early; else None.
    """

    setup: float
    seconds: float
    start_up: float = 0.0
    run: AgentRun | None = None

    @property
    def failure(self) -> str:
        """Why the agent failed; "" if it did not."""
        return self.run.failure if self.run else ""


class _Enough(Exception):
    """The agent has played long enough."""


def estimate(batch: Batch, env: Any = None, seconds: float = SECONDS) -> Estimate:
    """Run the first rounds of a batch, and estimate how long all of them will take.

    The rounds that are left are assumed to take as long as those of the last half of the time,
    since the first rounds of many agents are slower than later ones. The batch is set up twice, to
    tell what only the first time takes.

    Args:
        batch: the batch; nothing is saved.
        env: as for `run_batch`.
        seconds: how long to play; at least the rounds up to the first report.
    """
    first = _estimate(batch, env, 0.0)
    if first.failure:
        return first
    found = _estimate(batch, env, seconds)
    return replace(found, start_up=max(0.0, first.setup - found.setup))


def _estimate(batch: Batch, env: Any, seconds: float) -> Estimate:
    begun = time.perf_counter()
    seen: list[tuple[float, int]] = []

    def watch(progress: BatchProgress) -> None:
        seen.append((time.perf_counter(), progress.rounds))
        if seen[-1][0] - seen[0][0] >= seconds and progress.rounds < batch.checkpoints[-1]:
            raise _Enough

    run = None
    try:
        run = run_batch(batch, watch, env)
        forget_variables(run.cause)
    except _Enough:
        pass
    if not seen:
        return Estimate(time.perf_counter() - begun, 0.0, run=run)
    (start, _), (end, rounds) = seen[0], seen[-1]
    half, before = max(point for point in seen if point[0] <= (start + end) / 2)
    left = batch.checkpoints[-1] - rounds
    more = left * (end - half) / (rounds - before) if left and rounds > before else 0.0
    return Estimate(start - begun, end - start + more, run=run)
