"""`Records`: the normalised regret of agents on a suite, and their file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmab_gym.arrays import AnyArray, BoolArray, FloatArray
from cmab_gym.files import read_arrays, reading, write_arrays
from cmab_gym.leaderboard.suite import Suite
from cmab_gym.versions import NUMBERS

BUNDLED = Path(__file__).with_name("records.npz")
_SCHEMA = 1
_CURE = "; play the built-in agents again: `cmab-gym leaderboard --replay`"
_SAME = 1e-6  # relative difference of scales that rounding can explain


@dataclass(frozen=True, eq=False)
class Row:
    """An agent on a suite.

    Args:
        agent: its name with parameters, or its file and class.
        regret: float64 (tasks, trials), the final regret over that expected of random pulls,
            rounded to float32 as in the file; NaN on tasks that the agent does not play.
        seconds: float64 (tasks,), the time that its rounds took; NaN as above.
        made: how it was made, as JSON values: "versions", "started", the "files" with their
            checksums, and "numbers", the version of all random numbers.
        told: what it was told more than others; "" for nothing.
        failure: why it does not play some tasks; "" if it plays all.
    """

    agent: str
    regret: FloatArray
    seconds: FloatArray
    made: Mapping[str, Any]
    told: str = ""
    failure: str = ""

    @property
    def played(self) -> BoolArray:
        """Whether it played each task, bool (tasks,)."""
        return ~np.isnan(self.seconds)


@dataclass(frozen=True, eq=False)
class Records:
    """The rows of agents on one suite.

    Args:
        suite: the tasks.
        scales: float64 (tasks,), the regret expected of random pulls: the number of rounds times
            the mean gap of the arms. NaN where no agent played.
        rows: one for each agent.
    """

    suite: Suite
    scales: FloatArray
    rows: tuple[Row, ...]

    @property
    def agents(self) -> list[str]:
        """The agents of the rows."""
        return [row.agent for row in self.rows]

    def __add__(self, other: Records) -> Records:
        """Add the rows of agents that are not in these records yet.

        Raises:
            ValueError: the records are of other suites, tasks or random numbers.
        """
        if _described(self.suite) != _described(other.suite):
            raise ValueError(
                f"records of other tasks, rounds or trials: expected equal ones{_CURE}"
            )
        for task, one, two in zip(self.suite.tasks, self.scales, other.scales, strict=True):
            if abs(one - two) > _SAME * max(one, two):
                raise ValueError(
                    f"task {task.name}: random pulls have a regret of {one:g} in one of the records"
                    f" and {two:g} in the other: expected the same problem{_CURE}"
                )
        numbers = {row.made.get("numbers") for row in (*self.rows, *other.rows)}
        if len(numbers) > 1:
            raise ValueError(
                f"records with the versions {sorted(map(str, numbers))} of the random numbers: "
                f"expected one, so that all agents get the same rewards{_CURE}"
            )
        new = tuple(row for row in other.rows if row.agent not in self.agents)
        scales = np.where(np.isnan(self.scales), other.scales, self.scales)
        return Records(self.suite, scales, (*self.rows, *new))

    def save(self, path: str | Path) -> None:
        """Write the records to an .npz file without pickles.

        Raises:
            OSError: the file cannot be written.
        """
        text = json.dumps(
            {
                "schema": _SCHEMA,
                "suite": _described(self.suite),
                "rows": [
                    {
                        "agent": row.agent,
                        "made": row.made,
                        "told": row.told,
                        "failure": row.failure,
                    }
                    for row in self.rows
                ],
            }
        )
        arrays: dict[str, AnyArray] = {
            "text": np.frombuffer(text.encode(), np.uint8),
            "scales": self.scales,
            "regret": np.array([row.regret for row in self.rows], np.float32),
            "seconds": np.array([row.seconds for row in self.rows], np.float32),
        }
        write_arrays(Path(path), arrays)

    @classmethod
    def load(cls, path: str | Path, suite: Suite) -> Records:
        """Read what `save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is damaged, or of another suite or other random numbers.
        """
        with reading(str(path), "expected a file of Records.save; record it again"):
            arrays = read_arrays(Path(path))
            about = json.loads(arrays["text"].tobytes())
            rows = tuple(
                Row(row["agent"], regret, seconds, row["made"], row["told"], row["failure"])
                for row, regret, seconds in zip(
                    about["rows"],
                    arrays["regret"].astype(np.float64),
                    arrays["seconds"].astype(np.float64),
                    strict=True,
                )
            )
            described = about["suite"] if about["schema"] == _SCHEMA else None
        if described != _described(suite):
            raise ValueError(f"{path} holds other tasks, rounds or trials than the suite{_CURE}")
        old = {row.made["numbers"] for row in rows} - {NUMBERS}
        if old:
            raise ValueError(
                f"{path} has version {old.pop()} of the random numbers: expected {NUMBERS}, so "
                f"that all agents get the same rewards{_CURE}"
            )
        return cls(suite, arrays["scales"], rows)


def _described(suite: Suite) -> Any:
    """Return a suite as it looks after a round trip through JSON."""
    return json.loads(json.dumps(asdict(suite), default=dict))
