"""Put the results of one task together: other agents, and further trials of the same agents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.results_file import as_json
from cmab_gym.text import shortened

_LONGEST = 60  # characters of a value in an error
Part = tuple[Sequence[AgentRun], range]  # the runs of some agents, and the trials that they played


def what_decides(manifest: Mapping[str, Any], rounds: int) -> dict[str, str]:
    """Return all that decides the rewards of a trial except for its seed and index, as JSON."""
    decides = {
        "environment": manifest.get("env_id"),
        "keyword arguments": manifest.get("all_env_kwargs"),
        "draws": manifest.get("draws"),
        "rounds": rounds,
        "delay": manifest.get("delay", 0),
        "rewards_every": manifest.get("rewards_every", 1),
        "arms": manifest.get("arm_names"),
        "means": manifest.get("means"),
        "version of cmab-gym": manifest.get("versions", {}).get("cmab-gym"),
    }
    return {
        what: json.dumps(value, sort_keys=True, default=as_json) for what, value in decides.items()
    }


def check_same_task(tasks: Sequence[tuple[Mapping[str, Any], Sequence[int]]]) -> None:
    """Refuse manifests whose runs do not belong together.

    Args:
        tasks: manifests with their checkpoints.

    Raises:
        ValueError: they differ in what decides the numbers; the error names it.
    """
    found = [
        {
            **what_decides(manifest, checkpoints[-1]),
            "seed": json.dumps(manifest.get("seed")),
            "checkpoints": json.dumps(list(checkpoints)),
        }
        for manifest, checkpoints in tasks
    ]
    for other in found[1:]:
        for what, value in other.items():
            if value != found[0][what]:
                mine, theirs = (shortened(text, _LONGEST) for text in (found[0][what], value))
                raise ValueError(
                    f"results that differ in their {what} ({mine} and {theirs}): expected results "
                    "of one task; run the agents with the same arguments"
                )


def joined_runs(parts: Sequence[Part]) -> tuple[AgentRun, ...]:
    """Return the runs that one evaluation of all agents on all trials would have given.

    An agent that failed or was interrupted may be replaced by its finished run on the same trials.

    Raises:
        ValueError: an agent has a trial twice, or the agents do not have the same trials.
    """
    labels = dict.fromkeys(run.label for runs, _ in parts for run in runs)
    found = {label: _without_gaps(label, parts) for label in labels}
    whole = {label: range(own[0][1].start, own[-1][1].stop) for label, own in found.items()}
    for label, trials in whole.items():
        first, expected = next(iter(whole.items()))
        if trials != expected:
            raise ValueError(
                f"agent {label!r} has {_named(trials)} and agent {first!r} {_named(expected)}: "
                "expected the same trials of every agent; run those that are missing"
            )
    return tuple(
        AgentRun.joined(label, [run for run, _ in own], len(whole[label]))
        for label, own in found.items()
    )


def _without_gaps(label: str, parts: Sequence[Part]) -> list[tuple[AgentRun, range]]:
    """Return an agent's runs in the order of their trials."""
    by_trials: dict[tuple[int, int], tuple[AgentRun, range]] = {}
    for runs, trials in parts:
        for run in runs:
            key = trials.start, trials.stop
            if run.label == label and (key not in by_trials or by_trials[key][0].failure):
                by_trials[key] = run, trials
            elif run.label == label and not run.failure:
                raise ValueError(
                    f"agent {label!r} has {_named(trials)} twice: expected them once; leave one of "
                    "the two results out, or run other trials"
                )
    own = [by_trials[key] for key in sorted(by_trials)]
    for (_, before), (_, after) in pairwise(own):
        if after.start != before.stop:
            raise ValueError(
                f"agent {label!r} has {_named(before)} and {_named(after)}: expected trials that "
                f"follow each other; run trials from {before.stop} on"
            )
    return own


def _named(trials: range) -> str:
    return f"trials {trials.start} to {trials.stop - 1}"


def joined_manifest(
    manifests: Sequence[Mapping[str, Any]], runs: Iterable[AgentRun], trials: range
) -> dict[str, Any]:
    """Return the manifest of runs that were joined; times are summed.

    Raises:
        ValueError: one label stands for two agents, or for two versions of a file.
    """
    agents: dict[str, Any] = {}
    checksums: dict[str, str] = {}
    told_more: dict[str, str] = {}
    for manifest in manifests:
        told_more |= manifest.get("told_more", {})
        for label, agent in manifest.get("agents", {}).items():
            if agents.setdefault(label, agent) != agent:
                raise ValueError(
                    f"agent {label!r} is {agents[label]!r} and {agent!r}: expected one agent for "
                    "each label; give them different labels"
                )
        for label, checksum in manifest.get("agent_checksums", {}).items():
            if checksums.setdefault(label, checksum) != checksum:
                raise ValueError(
                    f"the file of agent {label!r} changed between two results: expected one agent "
                    "for each label; run it again, or give them different labels"
                )
    joined = {
        **manifests[0],
        "agents": agents,
        "agent_checksums": checksums,
        "told_more": told_more,
        "trials": len(trials),
        "first_trial": trials.start,
        "seconds": round(sum(manifest.get("seconds", 0.0) for manifest in manifests), 3),
    }
    if not any(run.failure for run in runs):
        joined.pop("interrupted", None)
    elif any(manifest.get("interrupted") for manifest in manifests):
        joined["interrupted"] = True
    return joined
