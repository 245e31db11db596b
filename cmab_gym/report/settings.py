"""The settings of evaluations, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cmab_gym.envs_data.surveys.unknown import unknown_note
from cmab_gym.evaluation.results.results import Results
from cmab_gym.evaluation.tables import Table

_RUN = {
    "rounds": "rounds",
    "trials": "trials",
    "seed": "seed",
    "delay": "delay of rewards, in rounds",
    "rewards_every": "rewards arrive every so many rounds",
    "n_jobs": "processes",
}
_LONGEST = 300  # characters of a value


def settings_of(group: Sequence[Results]) -> dict[str, Table]:
    """Return tables of names and values about environment, run, versions and data.

    Args:
        group: results on one environment; values in which they differ are listed.
    """
    first = group[0].manifest
    tables = {
        "Environment": dict(_environment(first)),
        "Run": {
            **{title: _values(group, key) for key, title in _RUN.items()},
            "started": _first_to_last(_known(group, "started")),
            "seconds": _total(_known(group, "seconds")),
            "agents": ", ".join(_agents(group)),
        },
        "Versions": _versions(group),
        "Ratings": dict(_flat(first.get("provenance", {}))),
    }
    if note := unknown_note(first.get("provenance", {})):
        tables["Ratings"]["note"] = note
    return {
        title: Table((), [(key, _cut(text)) for key, text in rows.items() if _says(text)])
        for title, rows in tables.items()
        if rows
    }


def _says(text: str) -> bool:
    return text not in ("", "None")


def _environment(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "id", str(manifest.get("env_id"))
    yield from _flat(manifest.get("all_env_kwargs", {}))
    yield "rewards are drawn by", str(manifest.get("draws", ""))
    yield "unit of rewards", str(manifest.get("reward_unit", ""))
    means = np.array(manifest.get("means", []))
    if means.size:
        best = int(means.argmax())
        yield "arms", f"{means.size:,}"
        yield "best arm", f"{manifest['arm_names'][best]} (mean {means[best]:.3f})"


def _agents(group: Sequence[Results]) -> list[str]:
    """Return the agents' labels, with what they stand for if that differs."""
    agents = {label: agent for each in group for label, agent in each.manifest["agents"].items()}
    return [label if label == agent else f"{label}: {agent}" for label, agent in agents.items()]


def _known(group: Sequence[Results], key: str) -> list[Any]:
    return [each.manifest[key] for each in group if key in each.manifest]


def _values(group: Sequence[Results], key: str) -> str:
    return ", ".join(
        dict.fromkeys(
            f"{value:,}" if key != "seed" and isinstance(value, int) else str(value)
            for value in _known(group, key)
        )
    )


def _first_to_last(times: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys([min(times), max(times)])) if times else ""


def _total(seconds: Sequence[float]) -> str:
    return f"{sum(seconds):,.1f}" if seconds else ""


def _versions(group: Sequence[Results]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for versions in _known(group, "versions"):
        for name, version in _flat(versions):
            found.setdefault(name, {})[version] = None
    return {name: ", ".join(versions) for name, versions in found.items()}


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Return the entries of nested mappings with dotted names."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
