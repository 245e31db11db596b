"""How fast the machine could be: random numbers and bytes a second, on one core.

python benchmarks/limits.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

ARMS = 50
# What one round of one trial cannot do without: uniform and normal numbers, and float64 or int64
# numbers read and written. UCB: one uniform for the reward; pulls and means read. TS: a normal for
# each arm. The correlated ones: a row of pseudo-rewards is read and added to a row of sums (read
# and written), and each arm's least bound is read.
NEEDS = {
    "ucb": (1, 0, 2 * ARMS),
    "ts": (1, ARMS, 2 * ARMS),
    "c-ucb": (1, 0, 6 * ARMS),
    "c-ts": (1, ARMS, 6 * ARMS),
}


def measure() -> dict[str, float]:
    """Return millions of numbers, and gigabytes, a second."""
    rng = np.random.default_rng(0)
    block, large = 1 << 16, np.zeros(1 << 25)
    copied = np.empty_like(large)
    return {
        "million_uniforms_per_second": round(block / best(lambda: rng.random(block)) / 1e6),
        "million_normals_per_second": round(block / best(lambda: rng.standard_normal(block)) / 1e6),
        "gigabytes_per_second": round(
            2 * large.nbytes / best(lambda: np.copyto(copied, large)) / 1e9, 1
        ),
    }


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of twenty."""
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def rounds_per_second(agent: str, limits: dict[str, float]) -> float:
    """Return how many rounds of 50 arms these limits would allow."""
    uniforms, normals, numbers = NEEDS[agent]
    seconds = uniforms / limits["million_uniforms_per_second"] / 1e6
    seconds += normals / limits["million_normals_per_second"] / 1e6
    return 1 / (seconds + 8 * numbers / limits["gigabytes_per_second"] / 1e9)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
