"""Thompson sampling with Beta posteriors, for 0/1 rewards or rewards turned into coins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.mathematics.gamma_draws import standard_gamma
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import scaled_rewards
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class BetaTS:
    """Pull each arm with the probability that it is best, under a Beta posterior.

    Index: a draw from Beta(1 + s_k, 1 + n_k - s_k), where s_k counts the successes of arm k. A
    reward between the bounds, scaled to [0, 1], is first replaced by a coin with that probability
    of success, once for each pull.

    Cost per round: O(K), with 2 K Gamma variates.

    Guarantee: optimal for 0/1 rewards: pulls of an arm grow as ln T / kl(mu_k, mu*), as those of
    the coins do for other rewards, which costs regret if they vary little.

    Source: Agrawal and Goyal (2012), Algorithms 1 and 2; Kaufmann, Korda and Munos (2012).
    """

    def learn(self, history: History, rng: TrialStreams) -> None:
        """Toss the coin of the last reward."""
        probability = scaled_rewards(history.last_reward, history.problem.reward_bounds)
        successes = _successes(history)
        trial = np.arange(probability.size)
        successes[trial, history.last_arm] += rng.random(1)[:, 0] < probability

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        (low, high), successes = history.problem.reward_bounds, _successes(history)
        shapes = np.concatenate((1 + successes, 1 + history.pulls - successes), axis=1)
        drawn = standard_gamma(shapes, rng)
        first, second = np.split(drawn, 2, axis=1)
        index: FloatArray = low + (high - low) * first / (first + second)
        return index


def _successes(history: History) -> FloatArray:
    return history.memory.setdefault("successes", np.zeros(history.pulls.shape))
