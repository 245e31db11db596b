"""The files of results: a table that also holds the manifest and a checksum, and the manifest."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, BoolArray
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.arm_pulls import ArmPulls
from cmab_gym.evaluation.results.parquet import Lists, read_metadata, read_table, write_table
from cmab_gym.files import reading, write_all
from cmab_gym.text import quoted

TABLE, MANIFEST = "results.parquet", "manifest.json"
UNFINISHED, RUN = "unfinished", "run.json"  # folder of states; what they belong to
KINDS = ("regret", "distribution", "pulls", "competitive")
PICTURES = tuple(f"{kind}.{ending}" for kind in KINDS for ending in ("png", "svg", "pdf"))
SCHEMA = 2  # of the table and the manifest; 1 had neither rewards, competitive sets nor pulls
_TEXT, _DIGEST = "cmab_gym_manifest", "cmab_gym_sha256"  # keys of the table's metadata
_MAPPINGS = ("agents", "agent_checksums", "told_more", "versions")  # keys of a manifest
_LISTS = ("arms", "arm_pulls", "last_pulls")  # columns
_EXPECTED = "expected a table of Results.save; run it again"


def write(
    folder: Path, checkpoints: Sequence[int], runs: Sequence[AgentRun], manifest: Mapping[str, Any]
) -> None:
    """Write the table and the manifest, and delete the pictures of other results.

    The table also holds the manifest, and one rename replaces it. The pictures are deleted before,
    so that no picture stays next to a table that it does not show.

    Raises:
        OSError: a file cannot be written; the error names it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    described = {
        "schema": SCHEMA,
        **manifest,
        "failures": {run.label: run.failure for run in runs if run.failure},
        "agent_seconds": {run.label: round(run.seconds, 4) for run in runs},
        "agent_peak_memory": {run.label: run.peak_memory for run in runs},
        "n_arms": next((run.pulls.n_arms for run in runs if run.pulls), None),
        "checkpoints": list(checkpoints),
    }
    text = json.dumps(described, indent=2, default=as_json) + "\n"
    finished = [run for run in runs if not run.failure]
    columns: dict[str, AnyArray | Lists] = {
        **score_columns(finished, checkpoints),
        **_pull_columns(finished),
    }
    metadata = {_TEXT: text, _DIGEST: _digest(text, runs)}
    replaces = (folder / TABLE).is_file() and _digest_in(folder / TABLE) != metadata[_DIGEST]
    write_all(
        {
            folder / TABLE: lambda part: write_table(part, columns, metadata),
            folder / MANIFEST: lambda part: part.write_text(text, encoding="utf-8"),
        },
        delete=[folder / name for name in PICTURES] if replaces else [],
    )


def read(folder: Path) -> tuple[tuple[int, ...], tuple[AgentRun, ...], dict[str, Any]]:
    """Read what `write` wrote: checkpoints, runs and manifest.

    Raises:
        FileNotFoundError: the folder has no table.
        ValueError: the table is damaged, of a newer version, or `write` did not write it.
    """
    path = folder / TABLE
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no {TABLE}: expected a folder that `cmab-gym run` or Results.save "
            "wrote, or that of one task of a sweep"
        )
    with reading(str(path), _EXPECTED):
        columns, metadata = read_table(path)
        text, digest = metadata[_TEXT], metadata[_DIGEST]
        manifest = json.loads(text)
        schema = manifest.pop("schema", 1)
    if schema not in range(1, SCHEMA + 1):
        raise ValueError(
            f"{path} has schema {quoted(schema)}: expected {SCHEMA} or less; a newer version of "
            "cmab-gym wrote it, so upgrade this one"
        )
    with reading(str(path), _EXPECTED):
        checkpoints = described_rounds(manifest)
        del manifest["checkpoints"]
        own = {
            name: manifest.pop(name, {})
            for name in ("agent_seconds", "failures", "agent_peak_memory", "n_arms")
        }
        first = checks.whole_number("first_trial", manifest.get("first_trial", 0), 0)
        labels = dict(own["agent_seconds"])
        runs = tuple(_run(label, columns, checkpoints, own, first) for label in labels)
        if digest != _digest(text, runs):
            raise ValueError("it does not match its checksum")
    return checkpoints, runs, manifest


def described_rounds(manifest: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the checkpoints of a manifest that was read from a file.

    Raises:
        ValueError: they are not rounds from 1 on that increase, or a mapping of it is something
            else.
    """
    for name in _MAPPINGS:
        if not isinstance(manifest.get(name, {}), dict):
            raise ValueError(f"{name} is {quoted(manifest[name])}")
    rounds = tuple(checks.whole_number("checkpoints", each, 1) for each in manifest["checkpoints"])
    checks.increasing("checkpoints", rounds)
    return rounds


def score_columns(runs: Sequence[AgentRun], checkpoints: Sequence[int]) -> dict[str, AnyArray]:
    """Return the columns of a long table: one row for each agent, trial and checkpoint."""
    sizes = [run.regret.size for run in runs]
    trials = [np.repeat(np.array(run.trials), len(checkpoints)) for run in runs]
    unknown = [np.full(run.regret.size, np.nan) for run in runs]
    none = np.empty(0)  # so that the columns have types even without runs

    def column(name: str, dtype: type) -> AnyArray:
        parts = [
            values.ravel() if (values := getattr(run, name)).size else nan
            for run, nan in zip(runs, unknown, strict=True)
        ]
        return np.concatenate([none.astype(dtype), *parts])

    return {
        "agent": np.repeat(np.array([run.label for run in runs], dtype=object), sizes),
        "trial": np.concatenate([none.astype(np.int64), *trials]),
        "round": np.resize(np.array(checkpoints), sum(sizes)),
        "regret": column("regret", float),
        "best_arm_pulls": column("best_arm_pulls", np.int64),
        "reward": column("reward", float),
        "competitive": column("competitive", float),
    }


def _pull_columns(runs: Sequence[AgentRun]) -> dict[str, Lists]:
    """Return the columns of the pulls: lists in the last row of each trial, none in the others."""
    lengths, parts = [np.empty(0, np.int64)], []
    for run in runs:
        own = np.full(run.regret.shape, -1)
        if run.pulls is not None:
            own[:, -1] = np.bincount(run.pulls.trial, minlength=run.pulls.trials)
            parts.append((run.pulls.arm, run.pulls.pulls, run.pulls.last))
        lengths.append(own.ravel())
    whole = np.concatenate(lengths)
    joined = [np.concatenate([np.empty(0, np.int64), *each]) for each in zip(*parts, strict=True)]
    values = joined or [np.empty(0, np.int64)] * len(_LISTS)
    return {name: Lists(whole, each) for name, each in zip(_LISTS, values, strict=True)}


def _run(
    label: str,
    columns: Mapping[str, Any],
    checkpoints: Sequence[int],
    own: Mapping[str, Any],
    first_trial: int,
) -> AgentRun:
    """Return the run of one agent."""
    rows, shape = columns["agent"] == label, (-1, len(checkpoints))

    def array(name: str, dtype: type) -> AnyArray:
        values = columns[name][rows].reshape(shape) if name in columns else np.empty((0, 0))
        known = values if not np.isnan(values).any() else np.empty((len(values), 0))
        return known.astype(dtype)

    run = AgentRun(
        label,
        array("regret", float),
        array("best_arm_pulls", np.int64),
        checks.number_between("agent_seconds", own["agent_seconds"][label], 0, math.inf),
        str(own["failures"].get(label, "")),
        first_trial,
        reward=array("reward", float),
        competitive=array("competitive", np.int64),
        pulls=_pulls(columns, rows, len(checkpoints), own["n_arms"]),
        peak_memory=checks.whole_number("memory", own["agent_peak_memory"].get(label, 0), 0),
    )
    if not run.failure and (not run.regret.size or run.regret.shape != run.best_arm_pulls.shape):
        raise ValueError(f"agent {label!r} has no failure, and not all numbers of its trials")
    return run


def _pulls(
    columns: Mapping[str, Any], rows: BoolArray, n_checkpoints: int, n_arms: int | None
) -> ArmPulls | None:
    """Return the pulls in the lists of an agent's rows; None if they were not recorded."""
    if n_arms is None or not set(_LISTS) <= set(columns):
        return None
    lengths = columns[_LISTS[0]].lengths
    own = lengths[rows].reshape(-1, n_checkpoints)[:, -1]
    if not own.size or own.min() < 0:
        return None
    chosen = np.repeat(rows, np.maximum(lengths, 0))
    values = [columns[name].values[chosen] for name in _LISTS]
    arms = values[0]
    if not (arms.min() >= 0 and arms.max() < checks.whole_number("n_arms", n_arms, 1)):
        raise ValueError(f"arms are from {arms.min()} to {arms.max()}, of {n_arms}")
    return ArmPulls(len(own), n_arms, np.repeat(np.arange(len(own)), own), *values)


def _digest(text: str, runs: Iterable[AgentRun]) -> str:
    """Return the checksum of a manifest and of all numbers."""
    digest = sha256(text.encode())
    for run in runs:
        pulls = run.pulls
        counts = (pulls.trial, pulls.arm, pulls.pulls, pulls.last) if pulls is not None else ()
        for array, kind in (
            (run.regret, "<f8"),
            (run.best_arm_pulls, "<i8"),
            (run.reward, "<f8"),
            (run.competitive, "<i8"),
            *((each, "<i8") for each in counts),
        ):
            digest.update(array.astype(kind).tobytes())
    return digest.hexdigest()


def _digest_in(path: Path) -> str | None:
    """Return the checksum in a table; None if it cannot be read."""
    try:
        return read_metadata(path).get(_DIGEST)
    except (OSError, ValueError):
        return None


def delete_unfinished(folder: Path) -> None:
    """Delete the states of unfinished batches in a folder."""
    if (folder / UNFINISHED / RUN).is_file():
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)


def as_json(value: Any) -> Any:
    """Convert an array in full, so that a run can be repeated from its manifest."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)
