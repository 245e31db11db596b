"""The table of environments, and their registration with Gymnasium."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym


@dataclass(frozen=True)
class Registered:
    """An environment id, the module and family name of its classes, and a description."""

    id: str
    module: str
    family: str
    description: str


ENVIRONMENTS = (
    Registered("CMAB-Tabular-v0", "tabular", "Tabular", "a joint probability table (2+ arms)"),
    Registered("CMAB-Latent-v0", "latent", "Latent", "a hidden random source (2+ arms)"),
    Registered("CMAB-Independent-v0", "independent", "Independent", "independent arms (2+ arms)"),
    Registered("CMAB-MovieLens-v0", "movielens", "MovieLens", "18 genres or 50 movies, 1-5 stars"),
    Registered("CMAB-Goodreads-v0", "goodreads", "Goodreads", "25 books, 1-5 stars"),
    Registered("CMAB-Ratings-v0", "ratings", "Ratings", "any table of ratings: pass data"),
)


def register_environments() -> None:
    """Register every environment, scalar and vector, that is not registered yet."""
    for entry in ENVIRONMENTS:
        if entry.id not in gym.registry:
            target = f"cmab_gym.envs.{entry.module}:{entry.family}"
            gym.register(
                entry.id, entry_point=f"{target}Env", vector_entry_point=f"{target}VectorEnv"
            )
