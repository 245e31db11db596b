"""Time `cmab-gym reproduce` on the 23 panels of the paper's figures, in a new process.

python benchmarks/paper.py
"""

from __future__ import annotations

import json
import sys
import tempfile

from process import seconds_of


def measure() -> dict[str, float]:
    """Return the seconds with `--quick`, and in full with one process per core."""
    return {"quick_seconds": reproduce("--quick"), "full_seconds": reproduce()}


def reproduce(*options: str) -> float:
    """Time one reproduction."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "cmab_gym", "reproduce", *options, "--out", out]
        return seconds_of(command)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
