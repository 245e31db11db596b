"""Top-two Thompson sampling: pull a sampled best arm or the arm that could most easily be best."""

from __future__ import annotations

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.identification.api import SamplingAgent
from cmab_gym.arrays import BoolArray, FloatArray, IntArray


class TopTwoTS(SamplingAgent):
    """Pull a sampled best arm, or the arm that could most easily be better.

    Idea: the leader has the largest draw from Normal(mean_k, sigma^2 / n_k), sigma = B / 2, with B
    the length of the interval of rewards. With probability `share` it is pulled; else the arm l
    with the least (mean_leader - mean_l)^2 / (1 / n_leader + 1 / n_l), 0 where mean_l is larger.

    Stop when for the arm h with the largest mean and every other arm l, with a = n^2 / (n + 1),
    (mean_h - mean_l)^2 / (2 sigma^2 (1 / a_h + 1 / a_l)) >= ln((K - 1) / delta)
    + ln((n_h + 1) (n_l + 1)) / 2.

    Args:
        delta: the accepted probability of stopping with a wrong arm, between 0 and 1.
        share: probability of pulling the leader, between 0 and 1.

    Cost per round: O(K), with K normal numbers.

    Guarantee: the arm is wrong with probability at most delta: a union bound over the K - 1 pairs
    of the best arm and another. The product of the martingales behind `confidence.radius` of both
    arms is a martingale, so that the threshold holds at all rounds at once.

    Source: Russo (2016); the second arm and its name T3C, Shang et al. (2020).
    """

    def __init__(self, delta: float = 0.05, share: float = 0.5) -> None:
        super().__init__(delta)
        self.share = checks.number_between("share", share, 0, 1)

    def _choose(self) -> IntArray:
        means, pulls = self.history.means, self.history.pulls
        z = self.rng.standard_normal(means.shape[1])
        leader = argmax_with_random_ties(
            means + z * self.scale / 2 / np.sqrt(pulls), self.rng.uniform()
        )
        rival = argmax_with_random_ties(-self._evidence(leader, pulls), self.rng.uniform())
        return np.where(self.rng.uniform() < self.share, leader, rival)

    def _stops(self) -> BoolArray:
        best, pulls = self.best_arm(), self.history.pulls
        own = pulls[np.arange(best.size), best][:, None]
        needed = np.log((own + 1.0) * (pulls + 1.0)) / 2
        if (n_others := pulls.shape[1] - 1) > 0:
            needed += np.log(n_others / self.delta)
        evidence = self._evidence(best, pulls**2 / (pulls + 1))
        stops: BoolArray = (evidence - needed).min(axis=1) >= 0
        return stops

    def _evidence(self, leader: IntArray, pulls: FloatArray | IntArray) -> FloatArray:
        """Return how sure it is that the leader is better than each arm, infinity for itself."""
        means, trial = self.history.means, np.arange(leader.size)
        ahead = np.maximum(means[trial, leader][:, None] - means, 0)
        variance = (self.scale / 2) ** 2 * (1 / pulls[trial, leader][:, None] + 1 / pulls)
        evidence: FloatArray = ahead**2 / (2 * variance)
        evidence[trial, leader] = np.inf
        return evidence
