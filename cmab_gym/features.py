"""What a player has seen, as the features of a learner: numbers in [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym.arrays import Float32Array, FloatArray
from cmab_gym.problem import scaled_rewards

UNPULLED_MEAN = 0.5  # the scaled mean of an arm without a pull: the middle of the rewards' interval

CONTENTS = ("bounds", "phi", "table")  # kinds of pseudo-rewards that a learner may see


def n_history_features(n_arms: int) -> int:
    """Return D, how many numbers `history_features` has of K arms: 4 K + 2."""
    return 4 * n_arms + 2


def n_pseudo_reward_features(content: str, n_arms: int, n_rewards: int) -> int:
    """Return how many numbers `CorrelatedHistory.pseudo_reward_features` has in a row.

    Args:
        content: one of `CONTENTS`.
        n_arms: K.
        n_rewards: R.
    """
    return {"bounds": n_arms, "phi": n_arms**2, "table": n_arms**2 * n_rewards}[content]


def history_features(
    pulls: ArrayLike,
    means: ArrayLike,
    last_arm: ArrayLike,
    last_reward: ArrayLike,
    t: ArrayLike,
    horizon: int,
    reward_bounds: tuple[float, float],
) -> Float32Array:
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
        features[:, block * n_arms : (block + 1) * n_arms] for block in range(4)
    )
    np.divide(count, horizon, out=share)
    np.divide(np.log1p(count), np.log1p(horizon), out=log_share)
    mean[...] = np.where(count > 0, scaled_rewards(np.asarray(means), reward_bounds), UNPULLED_MEAN)
    begun = np.flatnonzero(arm >= 0)
    last[begun, arm[begun]] = 1
    features[:, -2] = np.where(arm >= 0, scaled_rewards(np.asarray(last_reward), reward_bounds), 0)
    features[:, -1] = 1 - np.asarray(t) / horizon
    return np.clip(features, 0, 1).astype(np.float32)


def reward_features(values: ArrayLike, reward_bounds: tuple[float, float]) -> Float32Array:
    """Scale rewards or pseudo-rewards to [0, 1], like the means of `history_features`.

    Args:
        values: (B, ...); infinity where nothing is known.
        reward_bounds: (low, high), the interval that holds every reward.

    Returns:
        float32 (B, size of a row), flat rows; 1 where nothing is known.
    """
    rows: FloatArray = np.clip(scaled_rewards(np.asarray(values), reward_bounds), 0, 1)
    return rows.reshape(len(rows), -1).astype(np.float32)
