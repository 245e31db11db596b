"""Load one folder and one process, and check that no result is lost and memory does not grow.

python benchmarks/load.py            # 20 minutes
python benchmarks/load.py --tasks 500 --steps 100000
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
import problem
from process import gigabytes_now, measured

from cmab_gym import Results

SWEEP = [sys.executable, "-m", "cmab_gym", "sweep"]
PLAN = """
environments: [{{id: CMAB-Tabular-v0, preset: three-armed}}]
agents: [random]
seeds: [{seeds}]
rounds: 10
trials: 1
checkpoints: 1
"""
HORIZON = 100  # rounds of an episode
MANY_ARMS = """
import sys
import problem
from cmab_gym import evaluate
evaluate(problem.ENV_ID, ["c-ucb"], 5100, 1, env_kwargs={"arms": int(sys.argv[1])}, checkpoints=1)
"""


def many_tasks(folder: Path, tasks: int) -> dict[str, Any]:
    """Run a sweep, kill it when a third is done, start it again, and let a second one disturb it.

    Returns:
        How many tasks there were, how many were finished when the sweep was killed, the CPU seconds
        until then, those of the rest, those of `--summary` on the finished folder, and the peak
        memory of one process.
    """
    plan, out = folder / "sweep.yaml", folder / "out"
    plan.write_text(PLAN.format(seeds=", ".join(map(str, range(tasks)))), encoding="utf-8")
    command = [*SWEEP, str(plan), "--out", str(out)]
    start = cpu_seconds()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not out.is_dir() or sum(1 for _ in out.iterdir()) < tasks / 3:
            assert process.poll() is None, "the sweep has ended"
            time.sleep(0.1)
        process.kill()
    until_killed = cpu_seconds() - start
    kept = {path: path.stat().st_mtime_ns for path in out.glob("*/results.parquet")}
    start = cpu_seconds()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # A task that was being saved may be reported as incomplete before.
        first = next(line for line in process.stderr if "tasks: " in line)
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        assert second.returncode == 2, second.stderr
        assert "another sweep is writing to" in second.stderr
        process.communicate()
        assert process.returncode == 0
    rest = cpu_seconds() - start
    assert f"{tasks} tasks: " in first, first
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    table = pd.read_csv(out / "summary.csv")
    assert list(table["status"]) == ["finished"] * tasks
    for name in table["folder"][:: max(1, tasks // 100)]:
        Results.load(out / name)
    assert not list(out.glob("*/.*"))
    start = cpu_seconds()
    subprocess.run([*command, "--summary"], check=True, capture_output=True)
    return {
        "tasks": tasks,
        "finished_when_killed": len(kept),
        "cpu_seconds_until_killed": round(until_killed, 1),
        "cpu_seconds_of_the_rest": round(rest, 1),
        "cpu_seconds_of_a_summary": round(cpu_seconds() - start, 1),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3),
    }


def many_steps(steps: int) -> dict[str, Any]:
    """Play episodes in one environment, and measure how much the memory of the process grows.

    Returns:
        Steps, resets, CPU seconds, the memory of the process after a tenth of the steps, and by how
        many megabytes it has grown since.
    """
    env = gym.make(problem.ENV_ID, arms=20, horizon=HORIZON)
    start, begun = cpu_seconds(), 0.0
    for episode in range(steps // HORIZON):
        if episode == steps // HORIZON // 10:
            begun = gigabytes_now()
        env.reset(seed=episode)
        for t in range(HORIZON):
            env.step(t % 20)
    return {
        "steps": steps,
        "resets": steps // HORIZON,
        "cpu_seconds": round(cpu_seconds() - start, 1),
        "megabytes": round(1000 * begun),
        "grown_megabytes": round(1000 * (gigabytes_now() - begun), 1),
    }


def many_arms(arms: int) -> dict[str, Any]:
    """Play C-UCB on many arms in a new process.

    Returns:
        How many arms there were, the CPU seconds, and the peak memory.
    """
    start = cpu_seconds()
    peak = measured(MANY_ARMS, str(arms))["peak_gigabytes"]
    return {"arms": arms, "cpu_seconds": round(cpu_seconds() - start, 1), "peak_gigabytes": peak}


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Run all loads, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=10_000_000)
    parser.add_argument("--arms", type=int, default=5000)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(json.dumps({"steps": many_steps(chosen.steps)}), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"sweep": many_tasks(Path(folder), chosen.tasks)}), flush=True)
    print(json.dumps({"arms": many_arms(chosen.arms)}), flush=True)


if __name__ == "__main__":
    main()
