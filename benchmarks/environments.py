"""Compare the speed of every environment with that of an empty one, measured in the same run.

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

SETTINGS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "Tabular, 2 arms": ("CMAB-Tabular-v0", {}),
    "Latent, 2 arms": ("CMAB-Latent-v0", {}),
    "Latent, 3 arms": ("CMAB-Latent-v0", {"preset": "three-arm-a"}),
    "MovieLens, 18 arms": ("CMAB-MovieLens-v0", {}),
    "MovieLens, 50 arms": ("CMAB-MovieLens-v0", {"task": "movie"}),
    "Goodreads, 25 arms": ("CMAB-Goodreads-v0", {}),
}
EMPTY = "EmptyBandit-v0"
NUM_ENVS = 100
REPEATS = 5  # the best of them counts: other processes only make it slower


class EmptyEnv(gym.Env[int, int]):
    """The least an environment can do: two actions, and a step that returns constants."""

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
    """The least a native vector environment can do: fresh arrays, and an empty info."""

    metadata = {"autoreset_mode": gym.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

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


def environments() -> dict[str, dict[str, float]]:
    """Measure environment steps a second with a constant arm, infos included, on one core.

    Returns:
        For the empty environment and each setting: `scalar` and `vector_of_100`, steps a second;
        and `scalar_ratio` and `vector_ratio`, those divided by the empty environment's.
    """
    if EMPTY not in gym.registry:
        gym.register(EMPTY, entry_point=EmptyEnv, vector_entry_point=EmptyVectorEnv)
    chosen = {"empty": (EMPTY, {}), **SETTINGS}
    scalar = {name: scalar_steps(*each) for name, each in chosen.items()}
    vector = {name: vector_steps(*each) for name, each in chosen.items()}
    speeds = {name: {"scalar": 0.0, "vector_of_100": 0.0} for name in chosen}
    # In turns, so that a slow moment of the machine meets all of them.
    for _ in range(REPEATS):
        for name, speed in speeds.items():
            speed["scalar"] = max(speed["scalar"], 20_000 / seconds(scalar[name]))
            speed["vector_of_100"] = max(
                speed["vector_of_100"], 2_000 * NUM_ENVS / seconds(vector[name])
            )
    empty = speeds["empty"]
    return {
        name: {
            "scalar": round(speed["scalar"]),
            "scalar_ratio": round(speed["scalar"] / empty["scalar"], 3),
            "vector_of_100": round(speed["vector_of_100"]),
            "vector_ratio": round(speed["vector_of_100"] / empty["vector_of_100"], 3),
        }
        for name, speed in speeds.items()
    }


def scalar_steps(env_id: str, settings: Mapping[str, Any]) -> Callable[[], None]:
    """Return a function that plays 20,000 rounds of the environment that `gym.make` makes."""
    horizon = {} if env_id == EMPTY else {"horizon": 20_000}
    env = gym.make(env_id, **settings, **horizon)

    def play() -> None:
        env.reset(seed=0)
        for _ in range(20_000):
            env.step(1)

    return play


def vector_steps(env_id: str, settings: Mapping[str, Any]) -> Callable[[], None]:
    """Return a function that plays 2,000 rounds of 100 native sub-environments."""
    env = gym.make_vec(env_id, num_envs=NUM_ENVS, **settings)
    arms = np.ones(NUM_ENVS, dtype=np.int64)

    def play() -> None:
        env.reset(seed=0)
        for _ in range(2_000):
            env.step(arms)

    return play


def seconds(play: Callable[[], None]) -> float:
    """Return the seconds that a function takes."""
    start = time.perf_counter()
    play()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(environments(), indent=2))
