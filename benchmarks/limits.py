"""Measure how fast the machine could be: random numbers and bytes a second, on one core.

python benchmarks/limits.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

ARMS = 50
# What one round of one trial needs at least: uniform numbers, normal numbers, and numbers of 8
# bytes read or written. UCB draws a uniform number for the reward, and reads pulls and means. TS
# also draws a normal number for each arm. C-UCB and C-TS also add a row of pseudo-rewards to a row
# of sums, and read each arm's least bound.
NEEDS = {
    "ucb": (1, 0, 2 * ARMS),
    "ts": (1, ARMS, 2 * ARMS),
    "c-ucb": (1, 0, 6 * ARMS),
    "c-ts": (1, ARMS, 6 * ARMS),
}


def measure() -> dict[str, float]:
    """Return millions of random numbers and gigabytes a second."""
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
    """Return the seconds of the fastest of twenty calls."""
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def rounds_per_second(agent: str, limits: dict[str, float]) -> float:
    """Return how many rounds a second, with 50 arms, the limits would allow."""
    uniforms, normals, numbers = NEEDS[agent]
    seconds = uniforms / limits["million_uniforms_per_second"] / 1e6
    seconds += normals / limits["million_normals_per_second"] / 1e6
    return 1 / (seconds + 8 * numbers / limits["gigabytes_per_second"] / 1e9)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
