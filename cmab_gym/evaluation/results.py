"""`Results`: the results of an evaluation, as a table and as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from traceback import format_exception
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.evaluation.parquet import read_table, write_table
from cmab_gym.evaluation.processes import RemoteTraceback
from cmab_gym.files import checksum, reading, write_all
from cmab_gym.text import shown

if TYPE_CHECKING:
    import pandas as pd

TABLE, MANIFEST = "results.parquet", "manifest.json"
PICTURES = ("regret.png", "regret.svg", "regret.pdf")
WIDEST_NAME = 60  # columns of a terminal
_TEXT, _DIGEST = "cmab_gym_manifest", "cmab_gym_sha256"  # keys of the table's metadata
_SUMMARY = ["agent", "regret", "sd", "low", "high", "best_arm_share", "rounds_per_second"]


@dataclass(frozen=True, eq=False)
class AgentRun:
    """What one agent did in some trials.

    Args:
        label: its name.
        regret: float64 (trials, checkpoints), the sum of gaps so far; no rows after a failure.
        best_arm_pulls: int64 (trials, checkpoints), pulls of a best arm so far.
        seconds: time that its rounds took, summed over workers, without making environment and
            agent.
        failure: why it ended early, naming agent, trial and round; "" if it did not.
        first_trial: index of the trial of the first row.
        cause: the error that the agent raised, if that is the reason; it is not saved.
    """

    label: str
    regret: FloatArray
    best_arm_pulls: IntArray
    seconds: float
    failure: str = ""
    first_trial: int = 0
    cause: BaseException | None = None

    @classmethod
    def failed(
        cls,
        label: str,
        failure: str,
        seconds: float = 0.0,
        first_trial: int = 0,
        cause: BaseException | None = None,
    ) -> AgentRun:
        """Return the run of an agent that did not finish, without rows."""
        nothing = np.empty((0, 0))
        return cls(label, nothing, nothing.astype(np.int64), seconds, failure, first_trial, cause)

    def to_send(self) -> AgentRun:
        """Return the same run for another process, where a traceback arrives only as text."""
        if self.cause is None or isinstance(self.cause, RemoteTraceback):
            return self
        return replace(self, cause=RemoteTraceback("\n" + "".join(format_exception(self.cause))))

    @classmethod
    def joined(cls, label: str, parts: Iterable[AgentRun], trials: int) -> AgentRun:
        """Put the runs of one agent on batches of trials together.

        Args:
            label: the agent's; runs of other agents are ignored.
            parts: its runs, in any order.
            trials: how many trials there should be.

        Returns:
            The whole run; if a part failed or is missing, a failed run with the first failure.
        """
        own = sorted((part for part in parts if part.label == label), key=lambda p: p.first_trial)
        seconds = sum(part.seconds for part in own)
        failed = [part for part in own if part.failure]
        if failed:
            return cls.failed(label, failed[0].failure, seconds, cause=failed[0].cause)
        done = sum(len(part.regret) for part in own)
        if done < trials:
            reason = f"interrupted, {done} of {trials} trials had finished"
            return cls.failed(label, f"agent {label!r}: {reason}", seconds)
        regret = np.concatenate([part.regret for part in own])
        pulls = np.concatenate([part.best_arm_pulls for part in own])
        return cls(label, regret, pulls, seconds)


class EvaluationError(ValueError):
    """At least one agent failed; `__cause__` is the error that the first of them raised.

    Args:
        results: those of the other agents; kept as the attribute of that name.
    """

    def __init__(self, results: Results) -> None:
        super().__init__("\n".join(results.failures.values()))
        self.results = results


class EvaluationInterrupted(KeyboardInterrupt):
    """Ctrl-C ended an evaluation.

    Like any KeyboardInterrupt it ends the program unless it is caught.

    Args:
        results: those of the agents that had finished all trials; the others count as failed. Kept
            as the attribute of that name.
    """

    def __init__(self, results: Results) -> None:
        super().__init__("\n".join(results.failures.values()))
        self.results = results


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The results of an evaluation.

    Args:
        checkpoints: the rounds at which regret was recorded.
        runs: one for each agent.
        manifest: arguments, seed, versions and times, as JSON values.
    """

    checkpoints: tuple[int, ...]
    runs: tuple[AgentRun, ...]
    manifest: Mapping[str, Any]

    def __repr__(self) -> str:
        labels = [run.label for run in self.runs]
        where = self.manifest.get("env_id")
        return f"<Results on {where}: {labels}, {self.checkpoints[-1]} rounds>"

    def __str__(self) -> str:
        table = self.summary()
        table["agent"] = table["agent"].map(partial(shown, most=WIDEST_NAME))
        return f"{self!r}\n{table.to_string(index=False, float_format='%.2f')}"

    @property
    def finished(self) -> tuple[AgentRun, ...]:
        """The runs that did not fail."""
        return tuple(run for run in self.runs if not run.failure)

    @property
    def failures(self) -> dict[str, str]:
        """The reason why each failed agent ended early, by label."""
        return {run.label: run.failure for run in self.runs if run.failure}

    def regret(self, label: str) -> FloatArray:
        """Return an agent's cumulative regret, float64 (trials, checkpoints).

        Raises:
            ValueError: no agent with this label finished.
        """
        for run in self.finished:
            if run.label == label:
                return run.regret
        finished = [run.label for run in self.finished]
        raise ValueError(f"no results of {label!r}: expected one of {finished}")

    def to_pandas(self) -> pd.DataFrame:
        """Return a long frame: agent, trial, round, regret (so far), best_arm_pulls (so far)."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def _columns(self) -> dict[str, AnyArray]:
        runs, checkpoints = self.finished, np.array(self.checkpoints)
        sizes = [run.regret.size for run in runs]
        trials = [np.repeat(np.arange(len(run.regret)), len(checkpoints)) for run in runs]
        none = np.empty(0)  # so that the columns have types even without runs
        return {
            "agent": np.repeat(np.array([run.label for run in runs], dtype=object), sizes),
            "trial": np.concatenate([none.astype(np.int64), *trials]),
            "round": np.resize(checkpoints, sum(sizes)),
            "regret": np.concatenate([none, *(run.regret.ravel() for run in runs)]),
            "best_arm_pulls": np.concatenate(
                [none.astype(np.int64), *(run.best_arm_pulls.ravel() for run in runs)]
            ),
        }

    def summary(self) -> pd.DataFrame:
        """Return one row per agent that finished.

        Columns: agent; regret, the mean over trials after the last round; sd, its standard
        deviation over trials; low and high, the 95 % interval of the mean (Student's t; NaN for
        one trial); best_arm_share, the share of pulls of a best arm; rounds_per_second.
        """
        import pandas as pd

        return pd.DataFrame([self.summarise(run) for run in self.finished], columns=_SUMMARY)

    def summarise(self, run: AgentRun) -> dict[str, Any]:
        """Return the row of an agent that finished."""
        final, rounds = run.regret[:, -1], self.checkpoints[-1]
        sd = float(standard_deviation(run.regret)[-1])
        half = half_width(final.size, sd)
        return {
            "agent": run.label,
            "regret": float(final.mean()),
            "sd": sd,
            "low": float(final.mean()) - half,
            "high": float(final.mean()) + half,
            "best_arm_share": float(run.best_arm_pulls[:, -1].mean() / rounds),
            "rounds_per_second": final.size * rounds / run.seconds,
        }

    def save(self, folder: str | Path) -> Path:
        """Write `results.parquet` and `manifest.json`, and delete pictures of an earlier run.

        The table also holds the manifest, and one rename replaces it. So `load` reads the earlier
        run or this one, whole, even if the process is killed or the disk is full.

        Returns:
            The folder.

        Raises:
            OSError: a file cannot be written; the error names it.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / TABLE
        before = checksum(path) if path.is_file() else None
        text = json.dumps(self._described(), indent=2, default=as_json) + "\n"
        write_all(
            {
                path: lambda part: write_table(part, self._columns(), self._metadata(text)),
                folder / MANIFEST: lambda part: part.write_text(text, encoding="utf-8"),
            }
        )
        if before not in (None, checksum(path)):
            for name in PICTURES:
                (folder / name).unlink(missing_ok=True)
        return folder

    def _described(self) -> dict[str, Any]:
        return {
            **self.manifest,
            "failures": self.failures,
            "agent_seconds": {run.label: round(run.seconds, 4) for run in self.runs},
            "checkpoints": list(self.checkpoints),
        }

    def _metadata(self, text: str) -> dict[str, str]:
        return {_TEXT: text, _DIGEST: _digest(text, self.runs)}

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: the folder has no table.
            ValueError: the table is damaged, or `save` did not write it.
        """
        path = Path(folder) / TABLE
        if not path.is_file():
            raise FileNotFoundError(
                f"{folder} has no {TABLE}: expected a folder that Results.save wrote"
            )
        with reading(str(path), "expected a table of Results.save; run it again"):
            columns, metadata = read_table(path)
            text, digest = metadata[_TEXT], metadata[_DIGEST]
            manifest = json.loads(text)
            checkpoints = tuple(manifest.pop("checkpoints"))
            seconds, failures = manifest.pop("agent_seconds"), manifest.pop("failures")
            runs = []
            for label in seconds:
                own, shape = columns["agent"] == label, (-1, len(checkpoints))
                regret = columns["regret"][own].reshape(shape)
                pulls = columns["best_arm_pulls"][own].reshape(shape)
                runs.append(AgentRun(label, regret, pulls, seconds[label], failures.get(label, "")))
            if digest != _digest(text, runs):
                raise ValueError("it does not match its checksum")
            return cls(checkpoints, tuple(runs), manifest)


def _digest(text: str, runs: Iterable[AgentRun]) -> str:
    """Return the checksum of a manifest and of all numbers."""
    digest = sha256(text.encode())
    for run in runs:
        digest.update(run.regret.astype("<f8").tobytes())
        digest.update(run.best_arm_pulls.astype("<i8").tobytes())
    return digest.hexdigest()


def standard_deviation(curves: FloatArray) -> FloatArray:
    """Return the standard deviation over trials at each checkpoint; NaN for a single trial."""
    if len(curves) < 2:
        return np.full(curves.shape[1], np.nan)
    spread: FloatArray = curves.std(axis=0, ddof=1)
    return spread


def short_labels(labels: Sequence[str]) -> list[str]:
    """Shorten "path/to/file.py:Agent" to "Agent", unless two labels would become equal."""
    short = [label.rsplit(".py:", 1)[-1] for label in labels]
    return [
        full if short.count(brief) > 1 else brief for full, brief in zip(labels, short, strict=True)
    ]


def as_json(value: Any) -> Any:
    """Convert an array in full, so that a run can be repeated from its manifest."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def half_width(n: int, sd: float) -> float:
    """Return half the width of the 95 % Student interval of the mean of n values.

    It is NaN for fewer than two values.
    """
    if n < 2:
        return float("nan")
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.975)) * sd / float(np.sqrt(n))
