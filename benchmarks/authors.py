"""Compare our speed with that of the paper's authors' code, on the real tables of MovieLens.

Their repository (github.com/shreyasc-13/correlated_bandits) has no licence file, so this one has no
copy of it: pass a folder that holds one.

python benchmarks/authors.py FOLDER
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers import CACHE, Peer, called, interpreter
from process import HERE
from speed import LOOPS, loops

from cmab_gym import evaluate
from cmab_gym.evaluation.playing.batch import find_model

ENV_ID = "CMAB-MovieLens-v0"
TASKS = {"genre": "18 genres", "movie": "50 movies"}
# Their code assigns one-element series to numbers, which newer versions refuse.
PEER = Peer(
    "authors", "authors_code.py", ("numpy<2", "pandas<2.2", "matplotlib<3.9", "tqdm", "setuptools")
)
ROUNDS, TRIALS, REPEATS = 5000, 100, 3


def measure(folder: Path, cache: Path = CACHE) -> dict[str, Any]:
    """Return the rounds a second of both by task and agent, on one core."""
    python = interpreter(PEER, cache)
    found: dict[str, Any] = {}
    for task, name in TASKS.items():
        found[name] = {"theirs": their_speeds(python, folder, task)}
        for form in LOOPS:
            with loops(form):
                found[name][form] = {agent: speed(task, agent) for agent in found[name]["theirs"]}
    return found


def their_speeds(python: str, folder: Path, task: str) -> dict[str, int]:
    """Return rounds a second of each of their agents."""
    model: Any = find_model(ENV_ID, {"task": task})
    problem = {
        "task": task,
        "counts": model.counts.tolist(),
        "pseudo_rewards": model.problem.pseudo_rewards.tolist(),
        "means": model.means.tolist(),
    }
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "problem.json"
        path.write_text(json.dumps(problem), encoding="utf-8")
        adapter = str(HERE / "peers" / PEER.adapter)
        speeds: dict[str, int] = json.loads(
            called(python, adapter, str(folder), str(path)).splitlines()[-1]
        )
    return speeds


def speed(task: str, agent: str) -> int:
    """Return our rounds a second with 100 trials in lockstep, the best of three runs."""
    env_kwargs = {"task": task}
    runs = [
        evaluate(ENV_ID, [agent], ROUNDS, TRIALS, env_kwargs=env_kwargs).runs[0]
        for _ in range(REPEATS)
    ]
    return round(ROUNDS * TRIALS / min(run.seconds for run in runs))


def table(found: dict[str, Any]) -> list[Sequence[str]]:
    """Return rows: task, agent, their speed, ours, and our best as a multiple of theirs."""
    rows: list[Sequence[str]] = [("task", "agent", "theirs, rounds/s", *LOOPS, "times")]
    for task, speeds in found.items():
        for agent, theirs in speeds["theirs"].items():
            ours = [speeds[form][agent] for form in LOOPS]
            times = f"{max(ours) / theirs:,.0f}"
            rows.append((task, agent, f"{theirs:,}", *(f"{each:,}" for each in ours), times))
    return rows


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1])), indent=2))
