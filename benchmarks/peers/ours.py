"""cmab-gym: `evaluate` with trials in lockstep, and with a single trial."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

import problem
from clock import ARMS, TRIALS, report

from cmab_gym import evaluate


def play(agent: str, trials: int, rounds: int) -> int:
    """Evaluate one agent."""
    evaluate(problem.ENV_ID, [agent], rounds, trials, env_kwargs={"arms": ARMS})
    return rounds * trials


report(
    {
        f"{agent}, {trials} trial{'s' if trials > 1 else ''}": partial(play, agent, trials)
        for agent in ("ucb", "ts", "c-ucb", "c-ts")
        for trials in (TRIALS, 1)
    }
)
