"""The plan of `GravesLai`: which arm leads, and the pulls that other arms still need."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.correlated.graves_lai.exploration import cheapest_exploration
from cmab_gym.agents.correlated.graves_lai.nearest import NearestDistributions, divergences
from cmab_gym.arrays import FloatArray, IntArray

_MORE = 0.2  # pulls of an arm in a plan, as a share of those that it had; at least one
_AHEAD = 100  # a plan counts the leader as pulled so many times t: its pulls cost nothing
_LEAST_GAP = 1e-3  # the estimated gap of an arm, at least, as a share of the rewards' interval


def plan(
    nearest: NearestDistributions, rewards: FloatArray, counts: FloatArray, uniform: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Find the leader of each trial, and the pulls that tell it from the other arms.

    Args:
        nearest: the distributions by best arm.
        rewards: float64 (R,), the possible rewards, in an interval of length 1.
        counts: float64 (n, K, R), how often each arm gave each reward; each arm has some.
        uniform: float64 (n,), numbers in [0, 1) that break ties.

    Returns:
        The leaders, int64 (n,), and the pulls of other arms, whole numbers, float64 (n, K).
    """
    trial, pulls = np.arange(len(counts)), counts.sum(axis=2)
    evidence, marginals = _by_best_arm(nearest, counts)
    leader = argmax_with_random_ties(-evidence, uniform)
    own = pulls[trial, leader]
    needed = np.log(np.maximum(own[:, None] / pulls, 1)) + evidence[trial, leader][:, None]
    needed[:, ~nearest.can_be_best] = -np.inf
    needed[trial, leader] = -np.inf
    # A leader that was pulled less than another arm is pulled first.
    short = (evidence < needed).any(axis=1) & (own >= pulls.max(axis=1))
    owed = np.zeros(pulls.shape)
    if short.any():
        means = marginals[trial, leader] @ rewards
        gaps = np.maximum(means[trial, leader][:, None] - means, _LEAST_GAP)
        gaps[trial, leader] = np.inf
        counts = counts.copy()
        counts[trial, leader] *= (_AHEAD * pulls.sum(axis=1) / own)[:, None]
        most = np.maximum(1, np.floor(_MORE * pulls[short]))
        x = cheapest_exploration(nearest, counts[short], needed[short], gaps[short], most)
        owed[short] = np.minimum(np.ceil(x), most)
    return leader, owed


def _by_best_arm(
    nearest: NearestDistributions, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the evidence against each arm, (n, K), and the marginals if it is best, (n, K, K, R).

    The evidence is infinite if an arm cannot be best.
    """
    n, n_arms, n_rewards = counts.shape
    evidence = np.full((n, n_arms), np.inf)
    marginals = np.zeros((n, n_arms, n_arms, n_rewards))
    trial, arm = np.nonzero(np.tile(nearest.can_be_best, (n, 1)))
    found = nearest.marginals(arm, counts[trial])
    information = counts[trial].sum(axis=2) * divergences(counts[trial], found)
    evidence[trial, arm], marginals[trial, arm] = information.sum(axis=1), found
    return evidence, marginals
