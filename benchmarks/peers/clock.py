"""The problem of all adapters, and the timing of its rounds; needs only NumPy."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

import numpy as np

ARMS, ROUNDS, TRIALS = 50, 5000, 100  # rounds: the paper's horizon
MEANS = np.linspace(0.1, 0.9, ARMS)


def report(plays: Mapping[str, Callable[[int], int]], rounds: int = ROUNDS) -> None:
    """Print as JSON the rounds a second of each function: the best of three, after a short call.

    Args:
        plays: functions that run a number of rounds, and return how many they ran in all trials.
        rounds: pulls per trial.
    """
    speeds = {}
    for name, play in plays.items():
        play(100)
        best = 0.0
        for _ in range(3):
            start = time.perf_counter()
            played = play(rounds)
            best = max(best, played / (time.perf_counter() - start))
        speeds[name] = round(best)
    print(json.dumps(speeds))
