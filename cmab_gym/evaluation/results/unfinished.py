"""`Kept`: what a folder has of a run: results, and the states of unfinished batches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.joining import check_same_task
from cmab_gym.evaluation.results.results import Results
from cmab_gym.evaluation.results.results_file import (
    RUN,
    TABLE,
    UNFINISHED,
    as_json,
    delete_unfinished,
    described_rounds,
)
from cmab_gym.files import reading, write_whole


@dataclass(frozen=True)
class Kept:
    """What a folder has of a run.

    Args:
        folder: the folder; None for none.
        runs: the runs of the agents that finished.
        trials: the indices of their trials.
        agents: what each of their labels stands for.
        checksums: those of the files of some of them.
        told: what some of them were told more than others, as in a manifest.
        batch_size: trials in lockstep of the unfinished batches; None without any.
    """

    folder: Path | None = None
    runs: tuple[AgentRun, ...] = ()
    trials: range = range(0)
    agents: Mapping[str, Any] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)
    batch_size: int | None = None

    @classmethod
    def opened(
        cls,
        folder: str | Path | None,
        resume: bool,
        manifest: Mapping[str, Any],
        checkpoints: Sequence[int],
    ) -> Kept:
        """Find what a folder has of a run.

        Args:
            folder: the folder, which need not exist; None for none.
            resume: whether to look; False finds nothing.
            manifest: that of the run.
            checkpoints: its checkpoints.

        Raises:
            ValueError: it is to be resumed without a folder, the folder holds another run or
                something damaged, one label stands for two agents, or the file of an agent has
                changed since it finished.
        """
        if folder is None:
            if resume:
                raise ValueError("resume=True without a folder: pass folder=... as well")
            return cls()
        path = Path(folder)
        if not resume:
            return cls(path)
        kept, run = cls(path), path / UNFINISHED / RUN
        if run.is_file():
            with reading(str(run), f"expected that of an unfinished run; delete {run.parent}"):
                described = dict(json.loads(run.read_text(encoding="utf-8")))
                rounds, batch_size = described_rounds(described), int(described["batch_size"])
            _check(path, (described, rounds), (manifest, checkpoints))
            kept = replace(kept, batch_size=batch_size)
        if (path / TABLE).is_file():
            found = Results.load(path)
            _check(path, (found.manifest, found.checkpoints), (manifest, checkpoints))
            labels = [run.label for run in found.finished]
            kept = replace(
                kept,
                runs=found.finished,
                trials=found.trials,
                agents={label: found.manifest.get("agents", {}).get(label) for label in labels},
                checksums=found.manifest.get("agent_checksums", {}),
                told=found.manifest.get("told_more", {}),
            )
            kept._check_agents(manifest)
        return kept

    def _check_agents(self, manifest: Mapping[str, Any]) -> None:
        """Refuse to add to the results of another agent, or of another version of its file."""
        for label, agent in manifest["agents"].items():
            if self.agents.get(label, agent) != agent:
                raise ValueError(
                    f"{self.folder} has {self.agents[label]!r} as {label!r}: expected {agent!r}; "
                    "give the agent another label"
                )
        for label, checksum in manifest["agent_checksums"].items():
            if self.checksums.get(label, checksum) != checksum:
                raise ValueError(
                    f"the file of agent {label!r} has changed since it finished in {self.folder}: "
                    "expected it unchanged; name the changed class otherwise, choose another "
                    "folder, or do not resume"
                )

    def missing(self, labels: Sequence[str], trials: range) -> dict[str, range]:
        """Return the trials that each of some agents has to play.

        Raises:
            ValueError: the folder has trials that are not among `trials`, or an agent that is not
                among the labels and would have fewer trials than the others.
        """
        if not self.runs:
            return dict.fromkeys(labels, trials)
        have, others = self.trials, self.others(labels)
        if have.start != trials.start or have.stop > trials.stop:
            raise ValueError(
                f"{self.folder} has the trials {have.start} to {have.stop - 1}: expected at least "
                f"those, not {trials.start} to {trials.stop - 1}; or choose another folder"
            )
        if others and have.stop < trials.stop:
            raise ValueError(
                f"{self.folder} has agent {others[0]!r} with the trials up to {have.stop - 1}: "
                "expected all of its agents here, since all get the same trials; name it too"
            )
        rest = range(have.stop, trials.stop)
        return {label: rest if label in self.agents else trials for label in labels}

    def others(self, labels: Iterable[str]) -> list[str]:
        """Return the agents that are not among some labels."""
        return [label for label in self.agents if label not in set(labels)]

    def begin(self, manifest: Mapping[str, Any], checkpoints: Sequence[int]) -> None:
        """Describe the run next to its states, after deleting those of an earlier run.

        Raises:
            OSError: the folder cannot be written.
        """
        if self.folder is None:
            return
        if self.batch_size != manifest["batch_size"]:
            delete_unfinished(self.folder)
        text = json.dumps({**manifest, "checkpoints": list(checkpoints)}, default=as_json)
        path = self.folder / UNFINISHED / RUN
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))

    def state_file(
        self, label: str, trials: range, record_pulls: bool, checksums: Mapping[str, str]
    ) -> Path | None:
        """Return the file of the state of a batch; another one if the agent's file has changed."""
        if self.folder is None:
            return None
        batch = [label, trials.start, trials.stop, record_pulls, checksums.get(label)]
        name = hashlib.sha256(json.dumps(batch).encode()).hexdigest()[:16]
        return self.folder / UNFINISHED / f"{name}.npz"


_Run = tuple[Mapping[str, Any], Sequence[int]]  # a manifest, and checkpoints


def _check(folder: Path, found: _Run, wanted: _Run) -> None:
    """Refuse to resume a run of another task.

    Raises:
        ValueError: the runs differ in what decides the numbers; the error names it.
    """
    try:
        check_same_task([found, wanted])
    except ValueError as error:
        raise ValueError(
            f"{folder} holds another run: {error}, choose another folder, or do not resume"
        ) from None


def lost(folder: Path, results: Results) -> list[str]:
    """Return the agents that finished in a folder and not in `results`, which has more trials."""
    if not (folder / TABLE).is_file():
        return []
    finished = {run.label for run in results.finished}
    return [run.label for run in Results.load(folder).finished if run.label not in finished]
