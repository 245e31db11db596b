"""Time the import and the README's main job.

python benchmarks/startup.py
"""

from __future__ import annotations

import json
import sys
import tempfile

from process import seconds_of

MAIN_JOB = (
    "run CMAB-MovieLens-v0 --agents ucb ts c-ucb c-ts --rounds 5000 --trials 100 --seed 0 --out"
)


def measure() -> dict[str, float]:
    """Return seconds, the best of several runs."""
    return {
        "main_job_seconds": main_job(),
        "import_seconds_beyond_gymnasium": import_cost(),
    }


def main_job() -> float:
    """Time the README's main job in a new process; the best of three."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "cmab_gym", *MAIN_JOB.split(), out]
        return min(seconds_of(command) for _ in range(3))


def import_cost() -> float:
    """Time how much longer `import cmab_gym` takes than `import gymnasium`; the best of five."""
    best = [
        min(seconds_of([sys.executable, "-c", f"import {name}"]) for _ in range(5))
        for name in ("gymnasium", "cmab_gym")
    ]
    return round(best[1] - best[0], 3)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
