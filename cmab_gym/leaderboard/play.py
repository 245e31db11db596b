"""Play a suite: run agents on its tasks, and normalise their regret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmab_gym.agents.make import agent_factory
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation import AgentRun, Results, Sweep, sweep
from cmab_gym.evaluation.playing.progress import OnProgress
from cmab_gym.evaluation.sweeps.sweep import FINISHED, Say
from cmab_gym.leaderboard.records import Records, Row
from cmab_gym.leaderboard.suite import Suite
from cmab_gym.versions import NUMBERS


def play(
    agents: Sequence[str],
    suite: Suite,
    out: str | Path,
    n_jobs: int = 1,
    *,
    progress: OnProgress | None = None,
    say: Say = print,
) -> Records:
    """Run agents on all tasks of a suite.

    Args:
        agents: names, as for `cmab_gym.make_agent`.
        suite: the tasks.
        out: a folder of `cmab_gym.sweep`; tasks that are finished there are not run again.
        n_jobs: worker processes; -1 is one per core.
        progress: as for `sweep`.
        say: as for `sweep`.

    Returns:
        A row for each agent. An agent that failed on a task has NaN there, and its row has the
        reason.

    Raises:
        ValueError, FileNotFoundError: an agent cannot be made.
    """
    for agent in agents:
        agent_factory(agent)  # so that the error names the agent alone
    plan = Sweep(
        [{"id": task.env_id, **task.env_kwargs} for task in suite.tasks],
        agents,
        suite.rounds,
        suite.trials,
        (suite.seed,),
        checkpoints=1,
    )
    failures: list[AgentRun] = []
    table = sweep(plan, out, n_jobs, progress=progress, say=say, on_failure=failures.append)
    shape = len(suite.tasks), len(agents)
    statuses = table["status"].to_numpy().reshape(shape)
    folders = table["folder"].to_numpy().reshape(shape)
    reasons = {run.label: run.failure for run in failures}  # by the task's name
    scales = np.full(len(suite.tasks), np.nan)
    rows = []
    for column, agent in enumerate(agents):
        results = {
            index: Results.load(Path(out) / folders[index, column])
            for index in range(len(suite.tasks))
            if statuses[index, column] == FINISHED
        }
        scales[[*results]] = [scale(each) for each in results.values()]
        why = [reasons.get(name, "") for name in folders[:, column]]
        rows.append(_row(agent, suite, results, scales, next(filter(None, why), "")))
    return Records(suite, scales, tuple(rows))


def scale(results: Results) -> float:
    """Return the regret expected of uniformly random pulls: rounds times the mean gap."""
    means = np.array(results.manifest["means"])
    return float(results.checkpoints[-1] * (means.max() - means).mean())


def _row(
    agent: str, suite: Suite, results: Mapping[int, Results], scales: FloatArray, failure: str
) -> Row:
    """Return the row of an agent, given its results by the index of the task."""
    regret = np.full((len(suite.tasks), suite.trials), np.nan)
    seconds = np.full(len(suite.tasks), np.nan)
    made: dict[str, Any] = {"numbers": NUMBERS}
    told = ""
    for index, own in results.items():
        regret[index] = (own.final(agent) / scales[index]).astype(np.float32)
        seconds[index] = own.runs[0].seconds
        made |= {name: own.manifest[name] for name in ("versions", "started")}
        made["files"] = own.manifest["task"].get("files", {})
        told = own.manifest["told_more"].get(agent, "")
    return Row(agent, regret, seconds, made, told, failure)
