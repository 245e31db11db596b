"""Play trials with a submission: the grader keeps the bandit, the submission gets its rewards."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.grading.submission import Submission, SubmissionError
from cmab_gym.models.base import BanditModel
from cmab_gym.models.draws import reward_source_of
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import environment_generator, environment_seed, trial_seed

_ORDER = 2  # the side of a trial's seed that shuffles its arms


@dataclass(frozen=True, eq=False)
class Trial:
    """What a submission did in a trial.

    Args:
        problem: what it was told.
        arms: int64 (T,), the arms that it pulled, as it numbers them.
        rewards: float64 (T,), what they gave.
        regret: float64 (T,), the sum of gaps so far.
        seconds: how long it took, with the grader's own work.
    """

    problem: BanditProblem
    arms: IntArray
    rewards: FloatArray
    regret: FloatArray
    seconds: float


def play_trial(
    submission: Submission, model: BanditModel, rounds: int, seed: int, trial: int, shuffled: bool
) -> Trial:
    """Let a submission play a trial.

    The n-th pull of an arm gives the reward that it gives every agent in trial `trial` of
    `evaluate(..., seed=seed)`.

    Args:
        submission: plays.
        model: the bandit.
        rounds: pulls.
        seed: 0 or more.
        trial: its index.
        shuffled: whether the arms are numbered in a random order.

    Raises:
        SubmissionError: the submission failed; the error names the trial and the round.
    """
    order = np.arange(model.n_arms)
    if shuffled:
        order = np.random.default_rng(trial_seed(seed, trial, _ORDER)).permutation(order)
    problem = renumbered(model.problem, order).with_horizon(rounds)
    source = reward_source_of(
        model, "pulls", (environment_generator(environment_seed(seed, trial)),)
    )
    arms, rewards = np.empty(rounds, dtype=np.int64), np.empty(rounds)
    start, t = time.perf_counter(), 0
    try:
        for t in range(rounds):
            # Its own seed is the index of the trial, which tells nothing about `seed`.
            arm = submission.next_arm(rewards[t - 1]) if t else submission.begin(problem, trial)
            arms[t] = arm
            rewards[t] = source.take(order[arms[t : t + 1]])[0][0]
    except SubmissionError as error:
        raise SubmissionError(f"trial {trial + 1}, round {t + 1}: {error}") from error
    seconds = time.perf_counter() - start
    return Trial(problem, arms, rewards, np.cumsum(model.gaps[order[arms]]), seconds)


def renumbered(problem: BanditProblem, order: IntArray) -> BanditProblem:
    """Return what a player knows who calls arm `order[k]` arm k.

    Args:
        problem: with a table of pseudo-rewards; what it says of a survey is left out.
        order: int64 (K,), a permutation.
    """
    return BanditProblem(
        problem.pseudo_rewards[np.ix_(order, order)],
        problem.reward_support,
        problem.reward_bounds,
        problem.reward_edges,
        reward_sigma=problem.reward_sigma,
    )
