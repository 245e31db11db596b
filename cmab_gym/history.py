"""What a player has seen so far, and as the features of a learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem, pseudo_reward_rows, unknown_arms

UNPULLED_MEAN = 0.5  # the scaled mean of an arm without a pull: the middle of the rewards' interval


def n_history_features(n_arms: int) -> int:
    """Return D, how many numbers `history_features` has of K arms: 4 K + 2."""
    return 4 * n_arms + 2


def history_features(
    pulls: ArrayLike,
    means: ArrayLike,
    last_arm: ArrayLike,
    last_reward: ArrayLike,
    t: ArrayLike,
    horizon: int,
    reward_bounds: tuple[float, float],
) -> NDArray[np.float32]:
    """Describe the history of B trials of a bandit by numbers in [0, 1].

    A row holds, one after the other, with n_k the pulls of arm k:

    - K shares of the horizon, n_k / horizon;
    - K counts on a logarithmic scale, log(1 + n_k) / log(1 + horizon): the first pulls, which
      matter most, are hardly seen in the shares of a long horizon;
    - K scaled means, (mean - low) / (high - low); 0.5 where an arm has no pull;
    - the last arm, as K numbers of which one is 1; all are 0 before the first pull;
    - the last reward, scaled like the means; 0 before the first pull;
    - the share of the horizon that is left.

    Args:
        pulls: (B, K), how often each arm was pulled.
        means: (B, K), mean rewards, in the reward's unit; anything where an arm has no pull.
        last_arm: (B,), the arm pulled last; -1 before the first pull.
        last_reward: (B,), its reward, in the reward's unit; anything before the first pull.
        t: (B,), or one number for all: the rounds played so far.
        horizon: rounds of an episode. Beyond it, shares and counts stay 1 and nothing is left.
        reward_bounds: (low, high), the interval that holds every reward.

    Returns:
        float32 (B, 4 K + 2), each number in [0, 1].
    """
    count = np.asarray(pulls, dtype=np.float64)
    arm = np.asarray(last_arm)
    n_trials, n_arms = count.shape
    features = np.zeros((n_trials, n_history_features(n_arms)))
    share, log_share, mean, last = (
        features[:, place * n_arms : (place + 1) * n_arms] for place in range(4)
    )
    np.divide(count, horizon, out=share)
    np.divide(np.log1p(count), np.log1p(horizon), out=log_share)
    mean[...] = np.where(count > 0, scaled_rewards(np.asarray(means), reward_bounds), UNPULLED_MEAN)
    begun = np.flatnonzero(arm >= 0)
    last[begun, arm[begun]] = 1
    features[:, -2] = np.where(arm >= 0, scaled_rewards(np.asarray(last_reward), reward_bounds), 0)
    features[:, -1] = 1 - np.asarray(t) / horizon
    return np.clip(features, 0, 1).astype(np.float32)


def reward_features(values: ArrayLike, reward_bounds: tuple[float, float]) -> NDArray[np.float32]:
    """Scale rewards or pseudo-rewards to [0, 1], like the means of `history_features`.

    Args:
        values: (B, ...); infinity where nothing is known.
        reward_bounds: (low, high), the interval that holds every reward.

    Returns:
        float32 (B, size of a row), flat rows; 1 where nothing is known.
    """
    rows: FloatArray = np.clip(scaled_rewards(np.asarray(values), reward_bounds), 0, 1)
    return rows.reshape(len(rows), -1).astype(np.float32)


def scaled_rewards(rewards: Any, reward_bounds: tuple[float, float]) -> Any:
    """Map rewards in [low, high] to [0, 1], a float or an array; to 0 if only one is possible."""
    low, high = reward_bounds
    return (rewards - low) / ((high - low) or 1)


class History:
    """Counts and sums of B trials that are played in lockstep.

    Args:
        trials: B.
        n_arms: K.

    Attributes:
        pulls: int64 (B, K), pulls of each arm so far.
        sums: float64 (B, K), sums of its rewards.
        last_arm: int64 (B,), the arm pulled last; -1 before the first pull.
        last_reward: float64 (B,), its reward; 0 before the first pull.
        t: rounds played so far.
    """

    def __init__(self, trials: int, n_arms: int) -> None:
        self.pulls: IntArray = np.zeros((trials, n_arms), dtype=np.int64)
        self.sums: FloatArray = np.zeros((trials, n_arms))
        self.last_arm: IntArray = np.full(trials, -1)
        self.last_reward: FloatArray = np.zeros(trials)
        self.t = 0
        self._trial = np.arange(trials)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Count a round: the arm pulled in each trial, (B,), and its reward, (B,)."""
        self.t += 1
        pulled = (self._trial, arms)
        self.pulls[pulled] += 1
        self.sums[pulled] += rewards
        self.last_arm[:] = arms
        self.last_reward[:] = rewards

    @property
    def means(self) -> FloatArray:
        """Mean rewards, float64 (B, K); 0 where an arm has no pull."""
        means: FloatArray = self.sums / np.maximum(self.pulls, 1)
        return means

    def features(self, horizon: int, reward_bounds: tuple[float, float]) -> NDArray[np.float32]:
        """Return `history_features` of all trials, float32 (B, 4 K + 2)."""
        return history_features(
            self.pulls,
            self.means,
            self.last_arm,
            self.last_reward,
            self.t,
            horizon,
            reward_bounds,
        )


class CorrelatedHistory(History):
    """A history that also adds up the pseudo-rewards of what was seen.

    Args:
        problem: what the player knows of the K arms.
        trials: B.
    """

    def __init__(self, problem: BanditProblem, trials: int) -> None:
        super().__init__(trials, problem.n_arms)
        self._problem = problem
        self._rows = pseudo_reward_rows(problem.pseudo_rewards)
        self._unknown = unknown_arms(problem)
        # [b, k, l]: the pseudo-rewards of arm l summed over the pulls of arm k in trial b.
        self._pseudo_sums = np.zeros((trials, problem.n_arms, problem.n_arms))

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Count a round: see `History.update`."""
        super().update(arms, rewards)
        row = self._rows[arms, self._problem.reward_index(rewards)]
        row[self._trial, arms] = rewards
        self._pseudo_sums[self._trial, arms] += row

    @property
    def phi(self) -> FloatArray:
        """The empirical pseudo-rewards, float64 (B, K, K): [b, l, k] of arm l given arm k.

        [b, k, k] is the mean of arm k; where arm k has no pull, nothing is known: infinity.
        """
        phi = np.full(self._pseudo_sums.shape, np.inf)
        pulls = self.pulls[:, :, None]
        np.divide(self._pseudo_sums, pulls, out=phi, where=pulls > 0)
        return phi.transpose(0, 2, 1)

    @property
    def bounds(self) -> FloatArray:
        """The least phi of each arm over the significant arms, float64 (B, K): on its mean.

        Significant are the arms with at least t/K pulls. Infinity before the first pull.
        """
        phi = np.where(self._significant[:, None, :], self.phi, np.inf)
        bounds: FloatArray = phi.min(axis=2)
        return bounds

    @property
    def competitive(self) -> BoolArray:
        """The arms that the C-Bandit algorithms allow now, bool (B, K).

        They are the empirically competitive ones, the best significant one, and those of which
        nothing is known.

        Source: Section 3 of the paper; `cmab_gym.agents.CBandit` says what was settled.
        """
        means = np.where(self._significant, self.means, -np.inf)
        best = means.max(axis=1, keepdims=True)
        competitive: BoolArray = (self.bounds >= best) | (means == best) | self._unknown
        return competitive

    @property
    def _significant(self) -> BoolArray:
        significant: BoolArray = self.pulls * self._problem.n_arms >= self.t
        return significant
