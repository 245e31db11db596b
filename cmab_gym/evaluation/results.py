"""`Results`: the results of an evaluation, as a table and as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.files import checksum, write_whole

if TYPE_CHECKING:
    import pandas as pd

TABLE, MANIFEST = "results.parquet", "manifest.json"
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
    """

    label: str
    regret: FloatArray
    best_arm_pulls: IntArray
    seconds: float
    failure: str = ""
    first_trial: int = 0

    @classmethod
    def failed(
        cls, label: str, failure: str, seconds: float = 0.0, first_trial: int = 0
    ) -> AgentRun:
        """Return the run of an agent that did not finish, without rows."""
        nothing = np.empty((0, 0))
        return cls(label, nothing, nothing.astype(np.int64), seconds, failure, first_trial)

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
        failures = [part.failure for part in own if part.failure]
        done = sum(len(part.regret) for part in own)
        if not failures and done < trials:
            failures = [f"agent {label!r}: interrupted, {done} of {trials} trials had finished"]
        if failures:
            return cls.failed(label, failures[0], seconds)
        regret = np.concatenate([part.regret for part in own])
        pulls = np.concatenate([part.best_arm_pulls for part in own])
        return cls(label, regret, pulls, seconds)


class EvaluationError(ValueError):
    """At least one agent failed.

    Args:
        results: those of the other agents; kept as the attribute of that name.
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
        return f"{self!r}\n{self.summary().to_string(index=False, float_format='%.2f')}"

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

        frames = []
        for run in self.finished:
            trials, checkpoints = run.regret.shape
            frames.append(
                pd.DataFrame(
                    {
                        "agent": run.label,
                        "trial": np.repeat(np.arange(trials), checkpoints),
                        "round": np.tile(np.array(self.checkpoints), trials),
                        "regret": run.regret.ravel(),
                        "best_arm_pulls": run.best_arm_pulls.ravel(),
                    }
                )
            )
        if not frames:
            columns = ["agent", "trial", "round", "regret", "best_arm_pulls"]
            return pd.DataFrame(columns=columns)
        return pd.concat(frames, ignore_index=True)

    def summary(self) -> pd.DataFrame:
        """Return one row per agent that finished.

        Columns: agent; regret, the mean over trials after the last round; sd, its standard
        deviation over trials; low and high, the 95 % interval of the mean (Student's t; NaN for
        one trial); best_arm_share, the share of pulls of a best arm; rounds_per_second.
        """
        import pandas as pd

        return pd.DataFrame([self._summarise(run) for run in self.finished], columns=_SUMMARY)

    def _summarise(self, run: AgentRun) -> dict[str, Any]:
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
        """Write `results.parquet` and `manifest.json`; each file appears whole or not at all.

        Returns:
            The folder.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        frame = self.to_pandas()
        write_whole(folder / TABLE, lambda part: frame.to_parquet(part, index=False))
        manifest = {
            **self.manifest,
            "table_sha256": checksum(folder / TABLE),
            "failures": self.failures,
            "agent_seconds": {run.label: round(run.seconds, 4) for run in self.runs},
            "checkpoints": list(self.checkpoints),
        }
        text = json.dumps(manifest, indent=2, default=_as_json) + "\n"
        write_whole(folder / MANIFEST, lambda part: part.write_text(text, encoding="utf-8"))
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: the files are damaged or belong to different runs.
        """
        import pandas as pd

        folder = Path(folder)
        for name in (TABLE, MANIFEST):
            if not (folder / name).is_file():
                raise FileNotFoundError(
                    f"{folder} has no {name}: expected a folder that Results.save wrote"
                )
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            belongs = manifest.pop("table_sha256") == checksum(folder / TABLE)
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"{folder / MANIFEST} is not a manifest of Results.save: {error}"
            ) from error
        if not belongs:
            raise ValueError(
                f"{folder}: {TABLE} is not the table that {MANIFEST} describes: expected files of "
                "one run; run it again"
            )
        frame = pd.read_parquet(folder / TABLE)
        checkpoints = tuple(manifest.pop("checkpoints"))
        seconds, failures = manifest.pop("agent_seconds"), manifest.pop("failures")
        runs = []
        for label in seconds:
            own = frame[frame["agent"] == label]
            shape = (-1, len(checkpoints))
            regret = own["regret"].to_numpy(dtype=np.float64).reshape(shape)
            pulls = own["best_arm_pulls"].to_numpy(dtype=np.int64).reshape(shape)
            runs.append(AgentRun(label, regret, pulls, seconds[label], failures.get(label, "")))
        return cls(checkpoints, tuple(runs), manifest)


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


def _as_json(value: Any) -> Any:
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
