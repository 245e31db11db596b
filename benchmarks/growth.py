"""Measure how time and memory grow with arms, trials and rounds; each case has its own process.

python benchmarks/growth.py
"""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

from process import measured
from speed import COMPILED, LOOPS, Player, loops, rounds_per_second

CORRELATED = ("c-ucb", "c-ts", "c-kl-ucb")
ARMS = (2, 10, 50, 200, 1000)
TRIALS = 20
ROUNDS = (100_000, 10_000_000)
PROGRAM = """
import sys
import problem
from cmab_gym import evaluate
agent, arms, rounds, trials = sys.argv[1], *map(int, sys.argv[2:])
env_kwargs = {"arms": arms}
evaluate(problem.ENV_ID, [agent], rounds, trials, env_kwargs=env_kwargs, checkpoints="log")
"""


def measure() -> dict[str, Any]:
    """Return the growth with arms and with rounds, and the large case."""
    return {
        "seconds_per_round": {form: by_agent(form) for form in LOOPS},
        "memory_of_c_ucb": memory(),
        "peak_gigabytes_by_rounds": {
            str(rounds): play("c-ucb", 10, rounds, 10)["peak_gigabytes"] for rounds in ROUNDS
        },
        "c_ucb_1000_arms_100000_rounds_10_trials": play("c-ucb", 1000, 100_000, 10, limit=300),
    }


def by_agent(form: str) -> dict[str, dict[str, float]]:
    """Return the seconds of one round of 20 trials by agent and number of arms."""
    with loops(form):
        chosen = [agent for agent in CORRELATED if form == "NumPy" or agent in COMPILED]
        return {agent: by_arms(agent) for agent in chosen}


def by_arms(agent: str) -> dict[str, float]:
    """Return the seconds of one round of 20 trials by number of arms."""
    return {
        str(arms): float(f"{TRIALS / rounds_per_second(agent, arms, TRIALS):.3g}") for arms in ARMS
    }


def memory() -> dict[str, dict[str, float]]:
    """Return the agent's peak memory, and its bound: B K (K + 7) numbers of 8 bytes."""
    return {
        str(arms): {
            "agent": round(agent_gigabytes(arms), 4),
            "bound": round(8 * TRIALS * arms * (arms + 7) / 1e9, 4),
        }
        for arms in ARMS[2:]
    }


def agent_gigabytes(arms: int) -> float:
    """Return the peak memory of C-UCB itself, without environment, table and random numbers."""
    player = Player("c-ucb", arms, TRIALS)
    streams = player.streams
    streams.uniform()  # draws a block of them
    tracemalloc.start()
    player.agent.reset(player.env.unwrapped.problem, TRIALS, streams)
    while player.agent.history.t < arms + 50:
        arms_pulled = player.agent.act()
        player.agent.update(arms_pulled, player.env.step(arms_pulled)[1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e9


def play(
    agent: str, arms: int, rounds: int, trials: int, limit: float | None = None
) -> dict[str, Any]:
    """Evaluate an agent in a new process."""
    return measured(PROGRAM, agent, str(arms), str(rounds), str(trials), limit=limit)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
