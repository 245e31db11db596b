"""`Results`: the results of an evaluation, as tables and as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym.agents.registry import split_prefix
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.evaluation.results import results_file
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.arm_pulls import ArmPulls
from cmab_gym.evaluation.results.joining import check_same_task, joined_manifest, joined_runs
from cmab_gym.text import shown

if TYPE_CHECKING:
    import pandas as pd

WIDEST_NAME = 60  # columns of a terminal
_USUAL = {"delay": 0, "rewards_every": 1, "draws": "pulls"}  # not in the title
_PRINTED = ["agent", "regret", "sd", "low", "high", "best_arm_share", "rounds_per_second"]
_SUMMARY = [*_PRINTED, "area", "reward"]


class EvaluationError(ValueError):
    """At least one agent failed; `__cause__` is the error that the first of them raised.

    Args:
        results: those of the other agents; kept as the attribute of that name.
    """

    def __init__(self, results: Results) -> None:
        super().__init__("\n".join(results.failures.values()))
        self.results = results

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.results,)


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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.results,)


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
        table = self.summary()[_PRINTED]
        table["agent"] = table["agent"].map(partial(shown, most=WIDEST_NAME))
        text = table.to_string(index=False, float_format="%.2f")
        return "\n".join([repr(self), text, *map(shown, self.failures.values())])

    def __add__(self, other: Results) -> Results:
        """Join two results: see `concat`."""
        return Results.concat([self, other])

    @classmethod
    def concat(cls, parts: Iterable[Results]) -> Results:
        """Join results of one task: other agents, and further trials of the same agents.

        The numbers are those that one evaluation would have given. An agent that failed or was
        interrupted is replaced by its finished run, if one of the parts has it.

        Args:
            parts: at least one, in the order of the agents; the trials may be in any order.

        Raises:
            ValueError: the parts differ in environment, keyword arguments, rounds, checkpoints,
                seed, delay or version; an agent has a trial twice; or agents have other trials than
                others.

        Examples:
            >>> from cmab_gym import Results, evaluate
            >>> ucb = evaluate("CMAB-Tabular-v0", ["ucb"], 100, trials=5)
            >>> both = ucb + evaluate("CMAB-Tabular-v0", ["c-ucb"], 100, trials=5)
            >>> more = evaluate("CMAB-Tabular-v0", ["ucb", "c-ucb"], 100, trials=3, first_trial=5)
            >>> (both + more).trials
            range(0, 8)
        """
        every = list(parts)
        if not every:
            raise ValueError("no results: expected at least one")
        check_same_task([(each.manifest, each.checkpoints) for each in every])
        runs = joined_runs([(each.runs, each.trials) for each in every])
        starts, stops = zip(*((each.trials.start, each.trials.stop) for each in every), strict=True)
        trials = range(min(starts), max(stops))
        manifest = joined_manifest([each.manifest for each in every], runs, trials)
        return cls(every[0].checkpoints, runs, manifest)

    @property
    def title(self) -> str:
        """The environment, its keyword arguments, and what else is not usual."""
        given = self.manifest.get("env_kwargs", {})
        others = {key: self.manifest.get(key, usual) for key, usual in _USUAL.items()}
        unusual = [
            f"{key}={value}"
            for key, value in others.items()
            if value != _USUAL[key] and key not in given
        ]
        name = str(self.manifest.get("env_id", ""))
        inside = ", ".join(f"{key}={value}" for key, value in given.items())
        return ", ".join([f"{name} ({inside})" if inside else name, *unusual])

    @property
    def trials(self) -> range:
        """The indices of the trials."""
        first = self.manifest.get("first_trial", 0)
        played = max((len(run.regret) for run in self.runs), default=0)
        return range(first, first + self.manifest.get("trials", played))

    @property
    def finished(self) -> tuple[AgentRun, ...]:
        """The runs that did not fail."""
        return tuple(run for run in self.runs if not run.failure)

    @property
    def failures(self) -> dict[str, str]:
        """The reason why each failed agent ended early, by label."""
        return {run.label: run.failure for run in self.runs if run.failure}

    def run(self, label: str) -> AgentRun:
        """Return the run of an agent that finished.

        Raises:
            ValueError: no agent with this label finished.
        """
        for run in self.finished:
            if run.label == label:
                return run
        finished = [run.label for run in self.finished]
        raise ValueError(f"no results of {label!r}: expected one of {finished}")

    def regret(self, label: str) -> FloatArray:
        """Return an agent's cumulative regret, float64 (trials, checkpoints).

        Raises:
            ValueError: no agent with this label finished.
        """
        return self.run(label).regret

    def final(self, label: str) -> FloatArray:
        """Return an agent's regret after the last round, float64 (trials,).

        Raises:
            ValueError: no agent with this label finished.
        """
        return self.run(label).regret[:, -1]

    def area(self, label: str) -> FloatArray:
        """Return the area under an agent's regret curve, float64 (trials,).

        It is the sum of the regret over rounds, with straight lines between checkpoints, so that an
        agent which learns early has less of it than one which ends with the same regret.

        Raises:
            ValueError: no agent with this label finished.
        """
        return area_under(self.checkpoints, self.run(label).regret)

    def best_arm_share(self, label: str) -> FloatArray:
        """Return the share of an agent's pulls that went to a best arm, float64 (trials,).

        Raises:
            ValueError: no agent with this label finished.
        """
        share: FloatArray = self.run(label).best_arm_pulls[:, -1] / self.checkpoints[-1]
        return share

    def reward(self, label: str) -> FloatArray:
        """Return the sum of an agent's rewards so far, float64 (trials, checkpoints).

        Raises:
            ValueError: no agent with this label finished, or an older version of cmab-gym, which
                did not record it, wrote the file.
        """
        run = self.run(label)
        if run.reward.shape != run.regret.shape:
            raise ValueError(f"the rewards of {label!r} were not recorded: run it again")
        return run.reward

    def competitive(self, label: str) -> IntArray:
        """Return the size of an agent's competitive set, int64 (trials, checkpoints).

        It is the number of arms among which the agent chose in the round of the checkpoint.

        Raises:
            ValueError: no agent with this label finished, or the agent rules no arms out.
        """
        run = self.run(label)
        if run.competitive.shape != run.regret.shape:
            raise ValueError(
                f"{label!r} has no competitive set: expected a correlated agent, such as c-ucb"
            )
        return run.competitive

    def pulls(self, label: str) -> IntArray:
        """Return the pulls of each arm, int64 (trials, K).

        Raises:
            ValueError: no agent with this label finished, or the pulls were not recorded.
        """
        return self._arm_pulls(label).counts()

    def last_pulls(self, label: str) -> IntArray:
        """Return the round of the last pull of each arm, int64 (trials, K); 0 without a pull.

        Raises:
            ValueError: no agent with this label finished, or the pulls were not recorded.
        """
        return self._arm_pulls(label).last_rounds()

    def _arm_pulls(self, label: str) -> ArmPulls:
        pulls = self.run(label).pulls
        if pulls is None:
            raise ValueError(
                f"the pulls of {label!r} were not recorded: run it again, with record_pulls=True"
            )
        return pulls

    def to_pandas(self) -> pd.DataFrame:
        """Return a long frame with one row for each agent, trial and checkpoint.

        Columns: agent, trial, round; regret, best_arm_pulls and reward, the sums so far; and
        competitive, the size of the competitive set, NaN for an agent that rules no arms out.
        """
        import pandas as pd

        return pd.DataFrame(results_file.score_columns(self.finished, self.checkpoints))

    def pulls_to_pandas(self) -> pd.DataFrame:
        """Return a long frame with one row for each agent, trial and arm that it pulled.

        Columns: agent, trial, arm, pulls, and last_pull, the round of the last one. Agents whose
        pulls were not recorded are left out.
        """
        import pandas as pd

        frames = [
            pd.DataFrame(
                {
                    "agent": run.label,
                    "trial": own.trial + run.first_trial,
                    "arm": own.arm,
                    "pulls": own.pulls,
                    "last_pull": own.last,
                }
            )
            for run in self.finished
            if (own := run.pulls) is not None
        ]
        columns = ["agent", "trial", "arm", "pulls", "last_pull"]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    def summary(self) -> pd.DataFrame:
        """Return one row per agent that finished.

        Columns: agent; regret, the mean over trials after the last round; sd, its standard
        deviation over trials; low and high, the 95 % interval of the mean (Student's t; NaN for
        one trial); best_arm_share, the share of pulls of a best arm; rounds_per_second; area, the
        mean area under the regret curve; reward, the mean sum of rewards (NaN if unknown).
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
            "rounds_per_second": final.size * rounds / run.seconds if run.seconds else float("nan"),
            "area": float(area_under(self.checkpoints, run.regret).mean()),
            "reward": float(run.reward[:, -1].mean()) if run.reward.size else float("nan"),
        }

    def save(self, folder: str | Path) -> Path:
        """Write `results.parquet` and `manifest.json`, and delete pictures of other results.

        The table also holds the manifest, and one rename replaces it. So `load` reads the earlier
        run or this one, whole, even if the process is killed or the disk is full. The pictures are
        those that `cmab-gym run` and `cmab-gym plot` name; they are kept if the results are the
        same. The states of unfinished trials are deleted, unless these results were interrupted.

        Returns:
            The folder.

        Raises:
            OSError: a file cannot be written; the error names it.
        """
        results_file.write(Path(folder), self.checkpoints, self.runs, self.manifest)
        if not self.manifest.get("interrupted"):
            results_file.delete_unfinished(Path(folder))
        return Path(folder)

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: the folder has no table.
            ValueError: the table is damaged, a newer version of cmab-gym wrote it, or `save` did
                not write it.
        """
        return cls(*results_file.read(Path(folder)))


def area_under(checkpoints: Sequence[int], curves: FloatArray) -> FloatArray:
    """Return the area under curves that start at 0 in round 0, by trapezoids, float64 (trials,).

    Args:
        checkpoints: C rounds, increasing.
        curves: float64 (trials, C).
    """
    before = np.pad(curves[:, :-1], ((0, 0), (1, 0)))
    area: FloatArray = (curves + before) / 2 @ np.diff(checkpoints, prepend=0)
    return area


def standard_deviation(curves: FloatArray) -> FloatArray:
    """Return the standard deviation over trials at each checkpoint; NaN for a single trial."""
    if len(curves) < 2:
        return np.full(curves.shape[1], np.nan)
    spread: FloatArray = curves.std(axis=0, ddof=1)
    return spread


def short_labels(labels: Sequence[str]) -> list[str]:
    """Shorten "c-path/to/file.py:Agent" to "c-Agent", unless two labels would become equal.

    Examples:
        >>> short_labels(["a.py:One", "c-a.py:One", "a.py:Two", "b.py:Two", "ucb"])
        ['One', 'c-One', 'a.py:Two', 'b.py:Two', 'ucb']
    """
    short = [_short(label) for label in labels]
    return [
        full if short.count(brief) > 1 else brief for full, brief in zip(labels, short, strict=True)
    ]


def _short(label: str) -> str:
    _, of_file, name = label.rpartition(".py:")
    return split_prefix(label)[0] + name if of_file else label


def listed(results: Results | Sequence[Results]) -> list[Results]:
    """Return results as a list.

    Raises:
        TypeError: one of them is not a `Results`, but a folder, say.
    """
    alone = isinstance(results, Results | str) or not isinstance(results, Iterable)
    given: Any = [results] if alone else results
    every = list(given)
    for each in every:
        if not isinstance(each, Results):
            raise TypeError(f"{each!r}: expected Results; read a folder by Results.load(folder)")
    return every


def half_width(n: int, sd: float) -> float:
    """Return half the width of the 95 % Student interval of the mean of n values.

    It is NaN for fewer than two values.
    """
    if n < 2:
        return float("nan")
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.975)) * sd / float(np.sqrt(n))
