"""Measure rounds a second of environment and agent by arms and trials, on one core.

python benchmarks/speed.py
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import problem
from process import peak_gigabytes

from cmab_gym import make_agent
from cmab_gym.evaluation.playing.batch import find_environment, make_environment
from cmab_gym.evaluation.playing.compiled import CompiledRun
from cmab_gym.evaluation.playing.record import Record
from cmab_gym.streams import TrialStreams

LOOPS = {"compiled": "1", "NumPy": "0"}  # with the extra `fast`, and without
COMPILED = ("ucb", "ts", "c-ucb", "c-ts")  # the agents of the compiled loop
AGENTS = ("ucb", "ts", "kl-ucb", "c-ucb", "c-ts")
ARMS = (2, 10, 50, 200, 1000)
TRIALS = (1, 20, 100, 1000)
SECONDS = 0.3  # of each measurement
HORIZON = 1_000_000_000
# Left out: a correlated agent whose tables exceed 2e8 numbers (1.6 GB), and cases in which pulling
# each arm once takes more than a minute.
LARGEST_TABLES, LARGEST = 2e8, 2e5


def measure() -> dict[str, Any]:
    """Return rounds a second by kind of loops, agent, arms and trials.

    A round is one pull of one trial. The first K + 20 rounds are not timed.
    """
    found = {}
    for form in LOOPS:
        with loops(form):
            found[form] = {
                agent: {str(arms): row(agent, arms) for arms in ARMS}
                for agent in AGENTS
                if form == "NumPy" or agent in COMPILED
            }
    return found


@contextmanager
def loops(form: str) -> Iterator[None]:
    """Let agents use compiled loops, or NumPy's, inside the context."""
    before = os.environ.get("CMAB_GYM_COMPILED")
    os.environ["CMAB_GYM_COMPILED"] = LOOPS[form]
    try:
        yield
    finally:
        if before is None:
            del os.environ["CMAB_GYM_COMPILED"]
        else:
            os.environ["CMAB_GYM_COMPILED"] = before


def row(agent: str, arms: int) -> dict[str, int | None]:
    """Measure an agent with a number of arms; None for a case that is left out."""
    return {
        str(trials): None
        if left_out(agent, arms, trials)
        else rounds_per_second(agent, arms, trials)
        for trials in TRIALS
    }


def left_out(agent: str, arms: int, trials: int) -> bool:
    """Return whether a case is too large."""
    tables = trials * arms**2 if agent.startswith("c-") else 0
    return tables > LARGEST_TABLES or arms * trials > LARGEST


def rounds_per_second(name: str, arms: int, trials: int, seconds: float = SECONDS) -> int:
    """Return the speed in the fastest tenth of some seconds: other processes only slow it down."""
    player = Player(name, arms, trials)
    # Soon after K rounds, arms with one pull stop being significant, all at once.
    while player.t < arms + 20:
        player.play()
    fastest, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        before, start, now = player.t, time.perf_counter(), 0.0
        while now < start + seconds / 10:
            player.play()
            now = time.perf_counter()
        fastest = max(fastest, (player.t - before) / (now - start))
    return round(trials * fastest)


class Player:
    """An agent in its environment, run as `evaluate` runs it."""

    def __init__(self, name: str, arms: int, trials: int) -> None:
        spec, env_kwargs = find_environment(problem.ENV_ID, {"arms": arms}), {"arms": arms}
        self.env = make_environment(spec, trials, HORIZON, env_kwargs)
        self.env.reset(seed=0)
        self.agent: Any = make_agent(name)
        self.streams = TrialStreams.for_trials(0, range(trials))
        self.agent.reset(self.env.unwrapped.problem, trials, self.streams)
        record = Record(self.env.unwrapped.model, trials, (HORIZON,))
        self.whole = CompiledRun.of(self.agent, self.env, self.streams, record)

    @property
    def t(self) -> int:
        """Rounds so far."""
        return self.agent.history.t if self.whole is None else self.whole.t

    def play(self) -> None:
        """Play some rounds."""
        if self.whole is not None:
            self.whole.play()
            return
        for _ in range(10):
            arms = self.agent.act()
            self.agent.update(arms, self.env.step(arms)[1])


if __name__ == "__main__":
    print(
        json.dumps({"rounds_per_second": measure(), "peak_gigabytes": peak_gigabytes()}, indent=2)
    )
