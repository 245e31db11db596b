"""Distributions of bandit problems, to train agents on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.envs.movielens import movielens_model

GENRE_DRAWS = (1, 2, 3, 4)  # to train on; draw 0 is to be evaluated on


@dataclass(frozen=True, eq=False)
class ProblemDistribution:
    """Random bandit problems with K arms and R rewards.

    A player sees the reward of one arm a round, so a problem is each arm's own distribution of
    rewards. Agents that are trained on them see no pseudo-rewards.

    Args:
        name: the distribution's.
        n_arms: K.
        rewards: float64 (R,), the rewards, scaled to [0, 1].
        draw: function of a generator that draws a problem: float64 (K, R), the chance of each
            reward for each arm.
    """

    name: str
    n_arms: int
    rewards: FloatArray
    draw: Callable[[Generator], FloatArray]


def tabular(n_arms: int = 10) -> ProblemDistribution:
    """Return arms with rewards 0 and 1 whose means are uniform on [0, 1]."""
    n_arms = checks.whole_number("arms", n_arms, 2)

    def draw(rng: Generator) -> FloatArray:
        means = rng.random(n_arms)
        return np.stack([1 - means, means], axis=1)

    return ProblemDistribution("tabular", n_arms, np.array([0.0, 1.0]), draw)


def genre(n_arms: int | None = None) -> ProblemDistribution:
    """Return the MovieLens genres in the draws 1 to 4, in a new random order each time.

    The order hides which genre is which: it is the same in all draws, 0 included.
    """
    models = [movielens_model(genre_draw=draw) for draw in GENRE_DRAWS]
    known, problem = models[0].n_arms, models[0].problem
    if n_arms not in (None, known):
        raise ValueError(f"arms={n_arms} on 'genre': expected {known}, the genres; leave it out")

    def draw(rng: Generator) -> FloatArray:
        pmf = models[int(rng.integers(len(models)))].reward_pmf
        return pmf[rng.permutation(known)]

    low, _ = problem.reward_bounds
    rewards = (problem.reward_support - low) / problem.reward_range
    return ProblemDistribution("genre", known, rewards, draw)


DISTRIBUTIONS: dict[str, Callable[..., ProblemDistribution]] = {"genre": genre, "tabular": tabular}
