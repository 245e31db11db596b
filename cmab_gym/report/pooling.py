"""Put the results on one environment together, for a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cmab_gym.arrays import IntArray
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.results import Results

_CURVES = ("regret", "best_arm_pulls", "reward", "competitive")

Part = tuple[AgentRun, IntArray]  # a run, and the positions of the checkpoints to keep


def pooled(group: Sequence[Results]) -> Results:
    """Return one run for each agent, with its trials of all seeds, at the common checkpoints.

    Args:
        group: results on one environment. If an agent has a trial twice, the shorter run of the two
            is left out.
    """
    rounds = sorted(set.intersection(*(set(each.checkpoints) for each in group)))
    parts: dict[str, list[Part]] = {}
    found = [(each, run) for each in group for run in each.finished]
    seen: set[tuple[str, int, int]] = set()
    for each, run in sorted(found, key=lambda pair: -len(pair[1].regret)):
        trials = {(run.label, int(each.manifest.get("seed", 0)), trial) for trial in run.trials}
        if not trials & seen:
            kept = np.searchsorted(each.checkpoints, rounds)
            parts.setdefault(run.label, []).append((run, kept))
            seen |= trials
    runs = [_joined(label, own) for label, own in parts.items()]
    return Results(tuple(rounds), tuple(runs), group[0].manifest)


def _joined(label: str, parts: Sequence[Part]) -> AgentRun:
    """Join runs; what one of them did not record is left out."""
    recorded = {name for name in _CURVES if all(getattr(run, name).size for run, _ in parts)}
    behind, done = [], 0
    for run, kept in parts:
        curves = {
            name: getattr(run, name)[:, kept] if name in recorded else getattr(run, name)[:0, :0]
            for name in _CURVES
        }
        behind.append(replace(run, first_trial=done, **curves))
        done += len(run.regret)
    return AgentRun.joined(label, behind, done)
