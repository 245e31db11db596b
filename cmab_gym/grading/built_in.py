"""The assignments of the package."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import isfile
from types import MappingProxyType

from cmab_gym import checks
from cmab_gym.agents.loading import load_target
from cmab_gym.grading.assignment import Assignment, Instance
from cmab_gym.grading.mistakes import C_UCB_MISTAKES, UCB_MISTAKES

_INDEPENDENT = "CMAB-Independent-v0"
_TABULAR = "CMAB-Tabular-v0"
_MOVIELENS = "CMAB-MovieLens-v0"

_UCB_TEXT = """\
UCB1. Pull every arm once first. Then pull the arm with the largest index

    mean_k + B sqrt(2 ln t / n_k)

where mean_k is the mean of the rewards of arm k, n_k the number of its pulls, t the number of pulls
of all arms so far, and B = problem.reward_range. Ties go to the arm with the lowest number; so the
first pulls are those of the arms 0, 1, 2, ..."""

_C_UCB_TEXT = """\
C-UCB: Algorithm 1 of arXiv:1911.03959. After t pulls, n_k of them of arm k:

- an arm k is significant if n_k >= t / K, where K = problem.n_arms;
- phi(l, k) is the mean of problem.pseudo_rewards[l, k, j] over the rewards of arm k so far, where
  the reward is problem.reward_support[j]; phi(k, k) is the mean of the rewards of arm k;
- the best significant arm is the one with the largest mean. An arm l is competitive if phi(l, k) is
  at least that mean for every significant arm k (k = l included, if l is significant);
- pull, among the competitive arms and the best significant arm, the one with the largest UCB index
  mean_k + B sqrt(2 ln t / n_k), with B = problem.reward_range. The index of an arm without a pull
  is infinite.

Ties go to the arm with the lowest number; so the first pull is that of arm 0."""

_TS_TEXT = """\
Thompson sampling with normal posteriors. Pull every arm once first, in any order. Then draw a
number for each arm from the normal distribution with mean mean_k and variance B / (n_k + 1), where
mean_k is the mean of the rewards of arm k, n_k the number of its pulls, and B is
problem.reward_range; and pull the arm with the largest number. Take all random numbers from rng."""

_EPSILON_GREEDY_TEXT = """\
Epsilon-greedy. Pull every arm once first, in random order. Then, with probability 0.1, pull an arm
drawn uniformly from all; otherwise pull the arm with the largest mean reward so far. Break ties at
random, and take all random numbers from rng."""

_COINS = Instance("three coins", _INDEPENDENT, {"rewards": "bernoulli", "means": [0.4, 0.8, 0.6]})
_GENRES = Instance("MovieLens genres, 1 to 5 stars", _MOVIELENS, {"task": "genre"})
_HIDDEN_COINS = Instance(
    "hidden coins",
    _INDEPENDENT,
    {"rewards": "bernoulli", "n_arms": 6},
    hidden=True,
    shuffled=True,
    drawn="problem_seed",
)
_HIDDEN_REWARDS = Instance(
    "hidden rewards from -1 to 3",
    _INDEPENDENT,
    {"rewards": "finite", "n_arms": 5, "support": [-1.0, 0.0, 0.5, 3.0]},
    hidden=True,
    shuffled=True,
    drawn="problem_seed",
)

_HIDDEN_GENRES = Instance("hidden genres", _MOVIELENS, {"task": "genre"}, True, True)

ASSIGNMENTS: Mapping[str, Assignment] = MappingProxyType(
    {
        assignment.name: assignment
        for assignment in (
            Assignment(
                "ucb",
                _UCB_TEXT,
                "ucb",
                (_COINS, _GENRES, _HIDDEN_COINS, _HIDDEN_REWARDS),
                mistakes=UCB_MISTAKES,
            ),
            Assignment(
                "c-ucb",
                _C_UCB_TEXT,
                "c-ucb",
                (
                    Instance("two arms of a table", _TABULAR, {"preset": "table1-a"}),
                    _GENRES,
                    Instance(
                        "hidden table",
                        _TABULAR,
                        {"preset": "three-armed"},
                        hidden=True,
                        shuffled=True,
                    ),
                    Instance(
                        "hidden genres", _MOVIELENS, {"task": "genre", "pad": 0.2}, True, True
                    ),
                ),
                mistakes=C_UCB_MISTAKES,
            ),
            Assignment(
                "ts",
                _TS_TEXT,
                "ts",
                (_COINS, _HIDDEN_COINS, _HIDDEN_GENRES),
                kind="band",
                rounds=500,
                trials=20,
            ),
            Assignment(
                "epsilon-greedy",
                _EPSILON_GREEDY_TEXT,
                "epsilon-greedy",
                (_COINS, _HIDDEN_COINS, _HIDDEN_GENRES),
                kind="band",
                rounds=500,
                trials=20,
            ),
        )
    }
)


def find_assignment(name: str) -> Assignment:
    """Return an assignment of the package, or the variable `assignment` of a Python file.

    Args:
        name: "ucb", "c-ucb", "ts", "epsilon-greedy", or "path/to/my_assignment.py". The file is
            run: it must be your own.

    Raises:
        ValueError: the name is unknown, or the file has no such variable.
    """
    if not name.endswith(".py"):
        return ASSIGNMENTS[checks.choice("assignment", name, ASSIGNMENTS)]
    if not isfile(name):
        raise FileNotFoundError(f"assignment={name!r} is not a file: expected one, or a name")
    found = load_target(f"{name}:assignment")
    if not isinstance(found, Assignment):
        raise ValueError(
            f"assignment in {name} is of type {type(found).__name__}: expected "
            "assignment = cmab_gym.grading.Assignment(...)"
        )
    return found
