"""Compare the speed of every environment with that of an empty one.

python benchmarks/environments.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

import cmab_gym  # noqa: F401 (registers the environments)

CASES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "Tabular, 2 arms": ("CMAB-Tabular-v0", {}),
    "Latent, 2 arms": ("CMAB-Latent-v0", {}),
    "Latent, 3 arms": ("CMAB-Latent-v0", {"preset": "three-arm-a"}),
    "MovieLens, 18 arms": ("CMAB-MovieLens-v0", {}),
    "MovieLens, 50 arms": ("CMAB-MovieLens-v0", {"task": "movie"}),
    "Goodreads, 25 arms": ("CMAB-Goodreads-v0", {}),
}
EMPTY = "EmptyBandit-v0"
NUM_ENVS = 100
LEAST_ROUNDS = 1_024  # rounded up to whole blocks of rounds that are drawn at once
REPEATS = 60  # the fastest counts: other processes only make a run slower
# Gymnasium 1.0 has no names for the autoreset modes.
_AUTORESET = getattr(gym.vector, "AutoresetMode", None)


class EmptyEnv(gym.Env[int, int]):
    """An environment that does nothing: two actions, and a step that returns constants."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space = gym.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Do nothing."""
        return 0, 0.0, False, False, {}


class EmptyVectorEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """A native vector environment that only returns new arrays and an empty info."""

    metadata = {"autoreset_mode": _AUTORESET.NEXT_STEP} if _AUTORESET else {}

    def __init__(self, num_envs: int = 1) -> None:
        self.num_envs = num_envs
        self.single_observation_space = gym.spaces.Discrete(1)
        self.single_action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.spaces.MultiDiscrete([1] * num_envs)
        self.action_space = gym.spaces.MultiDiscrete([2] * num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every sub-environment."""
        return np.zeros(self.num_envs, dtype=np.int64), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Do nothing, in every sub-environment."""
        over = np.zeros(self.num_envs, dtype=np.bool_)
        return (
            np.zeros(self.num_envs, dtype=np.int64),
            np.zeros(self.num_envs),
            over,
            over.copy(),
            {},
        )


def measure() -> dict[str, dict[str, float]]:
    """Measure steps a second with a constant arm, infos included, on one core.

    Returns:
        For the empty environment and each case: `scalar` and `vector_of_100`, steps a second; and
        `scalar_ratio` and `vector_ratio`, the same divided by the empty environment's.
    """
    if EMPTY not in gym.registry:
        gym.register(EMPTY, entry_point=EmptyEnv, vector_entry_point=EmptyVectorEnv)
    chosen = {"empty": (EMPTY, {}), **CASES}
    scalar = {name: scalar_rounds(*each) for name, each in chosen.items()}
    vector = {name: vector_rounds(*each) for name, each in chosen.items()}
    scalar_best, vector_best = dict.fromkeys(chosen, np.inf), dict.fromkeys(chosen, np.inf)
    # In turns, so that a slow moment of the machine affects all cases.
    for _ in range(REPEATS):
        for name in chosen:
            scalar_best[name] = min(scalar_best[name], scalar[name]())
            vector_best[name] = min(vector_best[name], vector[name]())
    return {
        name: {
            "scalar": round(1 / scalar_best[name]),
            "scalar_ratio": round(scalar_best["empty"] / scalar_best[name], 3),
            "vector_of_100": round(NUM_ENVS / vector_best[name]),
            "vector_ratio": round(vector_best["empty"] / vector_best[name], 3),
        }
        for name in chosen
    }


def scalar_rounds(env_id: str, env_kwargs: Mapping[str, Any]) -> Callable[[], float]:
    """Return a function that times steps of `gym.make`'s environment, in seconds a step."""
    env = gym.make(env_id, **env_kwargs, **_endless(env_id))
    env.reset(seed=0)
    rounds = _whole_blocks(env)

    def seconds() -> float:
        start = time.perf_counter()
        for _ in range(rounds):
            env.step(1)
        return (time.perf_counter() - start) / rounds

    return seconds


def vector_rounds(env_id: str, env_kwargs: Mapping[str, Any]) -> Callable[[], float]:
    """Return a function that times steps of 100 native sub-environments, in seconds a step."""
    env = gym.make_vec(env_id, num_envs=NUM_ENVS, **env_kwargs, **_endless(env_id))
    env.reset(seed=0)
    arms = np.ones(NUM_ENVS, dtype=np.int64)
    rounds = _whole_blocks(env)

    def seconds() -> float:
        start = time.perf_counter()
        for _ in range(rounds):
            env.step(arms)
        return (time.perf_counter() - start) / rounds

    return seconds


def _whole_blocks(env: Any) -> int:
    model = getattr(env.unwrapped, "model", None)
    block: int = model.rounds_per_draw if model else 1
    return -(-LEAST_ROUNDS // block) * block


def _endless(env_id: str) -> dict[str, int]:
    return {} if env_id == EMPTY else {"horizon": 10**9}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
