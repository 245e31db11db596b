"""Measure the speed of everything that a user waits for, and record it in `results.json`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
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
IDS = ("CMAB-Tabular-v0", "CMAB-Latent-v0", "CMAB-MovieLens-v0", "CMAB-Goodreads-v0")


def main() -> None:
    """Run every benchmark and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, help="folder with the raw archives")
    parser.add_argument("--out", type=Path, default=HERE / "results.json")
    chosen = parser.parse_args()
    results: dict[str, Any] = {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    results["main_job_seconds"] = main_job()
    results["import_seconds_beyond_gymnasium"] = import_cost()
    results["environment_steps_per_second"] = {env_id: steps(env_id) for env_id in IDS}
    results["agent_rounds_per_second_50_arms"] = agents()
    if chosen.raw is not None:
        results["movielens_tables"] = tables(chosen.raw)
    text = json.dumps(results, indent=2) + "\n"
    chosen.out.write_text(text, encoding="utf-8")
    print(text, end="")


def machine() -> dict[str, Any]:
    """Describe where this runs."""
    packages = ("cmab-gym", "gymnasium", "numpy", "scipy", "pandas", "pyarrow")
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
        "import sys\n"
        "from cmab_gym.data.bundle import SOURCES, bundled_tables\n"
        "ratings = SOURCES['movielens'].read(sys.argv[1])\n"
        "for table in bundled_tables():\n"
        "    if table.source == 'movielens':\n"
        "        table.survey(ratings)\n"
    )
    seconds = timed([sys.executable, "-c", program, str(raw / "ml-1m.zip")])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {"seconds": seconds, "peak_gigabytes_of_any_benchmark": round(peak / 1e9, 3)}


if __name__ == "__main__":
    main()
