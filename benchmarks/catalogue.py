"""Measure catalogues of thousands of arms, whose tables are computed row by row.

python benchmarks/catalogue.py --raw FOLDER_WITH_ML_1M --large FOLDER_FOR_GENERATED_FILES
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from generate import CATALOGUE_ROWS, catalogue
from process import HERE, gigabytes_now, peak_gigabytes

ROUNDS = 5000
ENV_ID = "CMAB-Ratings-v0"


def measure_films(raw: Path) -> dict[str, Any]:
    """Measure 100 trials of the 2,000 most rated films of MovieLens 1M."""
    data = raw / "ml-1m.zip"
    return case(data, trials=100, n_arms=2000, min_support=5, pad=0.1)


def measure_all_items(folder: Path) -> dict[str, Any]:
    """Measure one trial of all items of a generated file of 25 million ratings."""
    path = folder / f"catalogue_{CATALOGUE_ROWS}" / "ratings.csv"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        catalogue(part, CATALOGUE_ROWS)
        part.rename(path)
    return {f"min_test={least}": case(path, trials=1, min_test=least, pad=0.1) for least in (1, 20)}


def case(data: Path, trials: int, **env_kwargs: Any) -> dict[str, Any]:
    """Make an environment and evaluate C-TS on it, in a new process."""
    given = json.dumps({"trials": trials, "env_kwargs": {"data": str(data), **env_kwargs}})
    command = [sys.executable, str(HERE / "catalogue.py"), "--case", given]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(trials: int, env_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Measure a case in this process."""
    import gymnasium as gym

    from cmab_gym import evaluate

    evaluate("CMAB-MovieLens-v0", ["c-ts"], 2, 1)  # loads the compiled loop
    forget_peak()
    start, before = time.perf_counter(), os.times()
    envs = gym.make_vec(ENV_ID, num_envs=1, **env_kwargs)
    found = {"arms": int(envs.unwrapped.model.n_arms), **since("environment", start, before)}
    held = gigabytes_now()
    forget_peak()
    start, before = time.perf_counter(), os.times()
    results = evaluate(
        ENV_ID, ["c-ts"], ROUNDS, trials, env_kwargs=env_kwargs, checkpoints=[100, ROUNDS]
    )
    found |= since("trials", start, before)
    found["trials_more_gigabytes"] = round(found["trials_peak_gigabytes"] - held, 3)
    last = results.to_pandas().groupby("round")["regret"].mean()
    found["regret"] = {str(t): round(float(value), 1) for t, value in last.items()}
    rows = envs.unwrapped.problem.rows
    found["arms_pulled_in_any_trial"] = int((rows.store.first >= 0).sum())
    return found


def since(what: str, start: float, before: Any) -> dict[str, float]:
    """Return wall time and processor time in seconds, and the peak memory in gigabytes."""
    now = os.times()
    return {
        f"{what}_seconds": round(time.perf_counter() - start, 1),
        f"{what}_processor_seconds": round(now.user + now.system - before.user - before.system, 1),
        f"{what}_peak_gigabytes": peak_gigabytes(),
    }


def forget_peak() -> None:
    """Reset the peak memory of this process, on Linux."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5", encoding="ascii")


def main() -> None:
    """Measure the cases whose folders are given, or one case, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, help="folder with ml-1m.zip")
    parser.add_argument("--large", type=Path, help="folder for a generated file of 600 MB")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.case:
        print(json.dumps(run(**json.loads(chosen.case))))
        return
    found = {}
    if chosen.raw:
        found["films"] = measure_films(chosen.raw.resolve())
    if chosen.large:
        found["all_items"] = measure_all_items(chosen.large.resolve())
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
