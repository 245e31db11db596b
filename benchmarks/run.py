"""Measure the speed of everything that a user waits for, and record it in `results.json`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MAIN_JOB = (
    "run CMAB-MovieLens-v0 --agents ucb ts c-ucb c-ts --rounds 5000 --trials 100 --seed 0 --out"
)
AGENTS = ("random", "ucb", "ts", "kl-ucb", "c-ucb", "c-ts", "c-kl-ucb")
LARGE = (
    ("poetry", "poetry.json.gz", 2_734_350),
    ("interactions", "interactions.csv", 50_000_000),
)
IDS = ("CMAB-Tabular-v0", "CMAB-Latent-v0", "CMAB-MovieLens-v0", "CMAB-Goodreads-v0")


def main() -> None:
    """Run every benchmark and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, help="folder with the raw archives")
    parser.add_argument("--large", type=Path, help="folder for generated files of 1 GB")
    parser.add_argument("--out", type=Path, default=HERE / "results.json")
    chosen = parser.parse_args()
    results: dict[str, Any] = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    results["main_job_seconds"] = main_job()
    results["import_seconds_beyond_gymnasium"] = import_cost()
    results["environment_steps_per_second"] = {env_id: steps(env_id) for env_id in IDS}
    results["agent_rounds_per_second_50_arms"] = agents()
    if chosen.raw is not None:
        results["movielens_tables"] = tables(chosen.raw)
    if chosen.large is not None:
        results["large_files"] = large_files(chosen.large)
    text = json.dumps(results, indent=2) + "\n"
    chosen.out.write_text(text, encoding="utf-8")
    print(text, end="")


def machine() -> dict[str, Any]:
    """Describe where this runs."""
    packages = ("cmab-gym", "gymnasium", "numpy", "scipy", "pandas", "pyarrow", "duckdb")
    return {
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def main_job() -> float:
    """Time the README's main job in a new process; the best of three."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "cmab_gym", *MAIN_JOB.split(), out]
        return min(timed(command) for _ in range(3))


def import_cost() -> float:
    """Time `import cmab_gym` beyond `import gymnasium`; the best of five each."""
    best = [
        min(timed([sys.executable, "-c", f"import {name}"]) for _ in range(5))
        for name in ("gymnasium", "cmab_gym")
    ]
    return round(best[1] - best[0], 3)


def timed(command: list[str]) -> float:
    """Return the seconds a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return round(time.perf_counter() - start, 3)


def steps(env_id: str) -> dict[str, int]:
    """Measure steps a second with a constant arm, scalar and in lockstep."""
    import gymnasium as gym
    import numpy as np

    import cmab_gym  # noqa: F401 (registers the environments)

    scalar, vector = gym.make(env_id, horizon=20_000), gym.make_vec(env_id, num_envs=100)
    scalar.reset(seed=0)
    vector.reset(seed=0)
    start = time.perf_counter()
    for _ in range(20_000):
        scalar.step(1)
    middle = time.perf_counter()
    arms = np.ones(100, dtype=np.int64)
    for _ in range(5_000):
        vector.step(arms)
    end = time.perf_counter()
    return {
        "scalar": round(20_000 / (middle - start)),
        "vector_of_100": round(500_000 / (end - middle)),
    }


def agents() -> dict[str, int]:
    """Measure rounds a second of environment and agent on the movie task, published settings."""
    from cmab_gym import published
    from cmab_gym.evaluation import evaluate

    results = evaluate(
        "CMAB-MovieLens-v0", published(*AGENTS), 5000, 100, env_kwargs={"task": "movie", "pad": 0.4}
    )
    rows = results.summary().to_dict("records")
    return {str(row["agent"]): round(row["rounds_per_second"]) for row in rows}


def tables(raw: Path) -> dict[str, float]:
    """Time the building of all MovieLens tables in a new process, with its peak of memory."""
    program = (
        "import resource, sys\n"
        "from cmab_gym.data.bundle import bundled_tables\n"
        "from cmab_gym.data.reader import read_ratings\n"
        "ratings = read_ratings(sys.argv[1])\n"
        "for table in bundled_tables():\n"
        "    if table.source == 'movielens':\n"
        "        table.survey(ratings)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)\n"
    )
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, str(raw / "ml-1m.zip")],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = round(time.perf_counter() - start, 3)
    return {"seconds": seconds, "peak_gigabytes": round(float(done.stdout), 3)}


def large_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Generate the large Goodreads files, and time every reader on them, each in a process."""
    results: dict[str, dict[str, Any]] = {}
    for kind, name, rows in LARGE:
        path = folder / name
        if not path.exists():
            generate = [sys.executable, str(HERE / "generate.py"), kind, str(path)]
            timed([*generate, "--rows", str(rows)])
        results[f"{kind}_{rows}_rows"] = {
            reader: reading(reader, path) for reader in ("cmab_gym", "duckdb", "polars", "pandas")
        }
    return results


def reading(reader: str, path: Path) -> dict[str, Any]:
    """Run one reader; one whose library is not installed says so."""
    command = [sys.executable, str(HERE / "reading.py"), reader, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


if __name__ == "__main__":
    main()
