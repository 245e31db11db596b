"""Time the way from raw ratings to tables: MovieLens 1M, and large Goodreads files.

python benchmarks/tables.py FOLDER_WITH_ML_1M
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from process import HERE, measured, seconds_of

LARGE = (
    ("poetry", "poetry.json.gz", 2_734_350),
    ("interactions", "interactions.csv", 50_000_000),
)
READERS = ("cmab_gym", "duckdb", "polars", "pandas")
PROGRAM = """
import sys
from cmab_gym.envs_data.bundle import bundled_specs
from cmab_gym.envs_data.readers.reader import read_ratings
ratings = read_ratings(sys.argv[1])
for spec in bundled_specs():
    if spec.source == 'movielens':
        spec.take(ratings)
"""


def measure(raw: Path) -> dict[str, float]:
    """Measure time and memory of building all MovieLens tables, in a new process."""
    return measured(PROGRAM, str((raw / "ml-1m.zip").resolve()))


def measure_large(folder: Path) -> dict[str, dict[str, Any]]:
    """Generate the large Goodreads files, and measure every reader on them, in new processes."""
    results: dict[str, dict[str, Any]] = {}
    for kind, name, rows in LARGE:
        path = folder / name
        if not path.exists():
            generate = [sys.executable, str(HERE / "generate.py"), kind, str(path)]
            seconds_of([*generate, "--rows", str(rows)])
        results[f"{kind}_{rows}_rows"] = {reader: reading(reader, path) for reader in READERS}
    return results


def reading(reader: str, path: Path) -> dict[str, Any]:
    """Run one reader; if it fails, as when its library is missing, return its last line."""
    command = [sys.executable, str(HERE / "reading.py"), reader, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1])), indent=2))
