"""Distributions of bandit problems, to train agents on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.envs.movielens import movielens_model

GENRE_DRAWS = (1, 2, 3, 4)  # for training; draw 0 is for evaluation


@dataclass(frozen=True, eq=False)
class ProblemDistribution:
    """Random bandit problems with K arms and R rewards.

    A problem is each arm's distribution of rewards: a player sees one reward in each round, so how
    the arms' rewards depend on each other does not matter. Agents that train on these problems see
    no pseudo-rewards.

    Args:
        name: the distribution's name.
        n_arms: K.
        rewards: float64 (R,), the rewards, scaled to [0, 1].
        draw: function of a generator that draws a problem: float64 (K, R), the probability of each
            reward for each arm.
    """

    name: str
    n_arms: int
    rewards: FloatArray
    draw: Callable[[Generator], FloatArray]


def bernoulli(n_arms: int = 10) -> ProblemDistribution:
    """Return problems with rewards 0 and 1 and means that are uniform on [0, 1].

    Raises:
        ValueError: n_arms is not an integer of at least 2.

    Examples:
        >>> import numpy as np
        >>> from cmab_gym.training.problems import bernoulli
        >>> problems = bernoulli(n_arms=3)
        >>> problems.draw(np.random.default_rng(0)).shape
        (3, 2)
    """
    n_arms = checks.whole_number("n_arms", n_arms, 2)

    def draw(rng: Generator) -> FloatArray:
        means = rng.random(n_arms)
        return np.stack([1 - means, means], axis=1)

    return ProblemDistribution("bernoulli", n_arms, np.array([0.0, 1.0]), draw)


def genre(n_arms: int | None = None) -> ProblemDistribution:
    """Return problems with the MovieLens genres of the draws 1 to 4, in a random order.

    The random order hides which genre is which: without it, every draw would have the same order.

    Raises:
        ValueError: n_arms is neither None nor the number of genres.
    """
    models = [movielens_model(genre_draw=draw) for draw in GENRE_DRAWS]
    known, problem = models[0].n_arms, models[0].problem
    if n_arms not in (None, known):
        raise ValueError(
            f"n_arms={n_arms} with on='genre': expected {known}, one for each genre; leave it out"
        )

    def draw(rng: Generator) -> FloatArray:
        pmf = models[int(rng.integers(len(models)))].reward_pmf
        return pmf[rng.permutation(known)]

    low, _ = problem.reward_bounds
    rewards = (problem.reward_support - low) / problem.reward_range
    return ProblemDistribution("genre", known, rewards, draw)


DISTRIBUTIONS: dict[str, Callable[..., ProblemDistribution]] = {
    "genre": genre,
    "bernoulli": bernoulli,
}


def make_problems(on: str, n_arms: int | None = None) -> ProblemDistribution:
    """Return the distribution of a name.

    Args:
        on: the distribution's name, a key of `DISTRIBUTIONS`.
        n_arms: K; None takes the distribution's default.

    Raises:
        ValueError: the name is unknown, or the distribution cannot have n_arms.
    """
    if on not in DISTRIBUTIONS:
        raise ValueError(f"on={on!r}: {checks.expected_names(on, list(DISTRIBUTIONS))}")
    make = DISTRIBUTIONS[on]
    return make() if n_arms is None else make(n_arms)
