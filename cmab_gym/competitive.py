"""The C-Bandit rule: which arms may be pulled, given the rewards seen so far.

The functions follow Algorithm 1 and work on B trials of K arms at once:

1. `significant_arms`: S_t, the arms with at least t/K of the t pulls, or also fewer.
2. `best_mean`: the largest mean reward of a significant arm, that of k_emp.
3. `empirical_pseudo_rewards`: phi[l, k], the mean pseudo-reward of arm l over the pulls of arm k.
4. `least_bounds`: the smallest phi[l, k] over the significant arms k, a bound on the mean of arm l.
5. `required_bound`: the best mean, or a larger pseudo-lower bound.
6. `competitive_arms`: the arms whose bound reaches it, and k_emp.

Source: Section 3 and Algorithm 1 of Gupta, Chaudhari, Joshi and Yagan (2021). Two choices where the
paper is ambiguous: significant means n_k >= t/K, as Algorithm 1 has it (with a strict >, no arm
would be significant when all counts are equal), and phi[k, k] is the mean of arm k.
"""

from __future__ import annotations

import math

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray


def significant_pulls(t: IntArray, n_arms: int, log_factor: float = math.inf) -> IntArray:
    """Return how many of t pulls an arm needs to be significant: t/K, rounded up.

    Args:
        t: int64, of any shape, pulls of all arms of a trial.
        n_arms: K.
        log_factor: c; c ln t pulls are enough, and one pull at least. Infinity for the paper's
            rule.

    Returns:
        int64, of the shape of t.

    Examples:
        >>> significant_pulls(np.array([10, 1000]), n_arms=10)
        array([  1, 100])
        >>> significant_pulls(np.array([10, 1000]), n_arms=10, log_factor=8)
        array([ 1, 56])
    """
    share: IntArray = -(-t // n_arms)
    if log_factor == math.inf:
        return share
    enough = np.maximum(np.ceil(log_factor * np.log(np.maximum(t, 1))), 1)
    return np.minimum(share, enough.astype(np.int64))


def significant_arms(pulls: IntArray, t: int, log_factor: float = math.inf) -> BoolArray:
    """Find the significant arms, those with at least t/K pulls.

    Args:
        pulls: int64 (B, K), pulls of each arm.
        t: pulls of all arms in each trial, the sum of each row.
        log_factor: c, so that c ln t pulls are enough; infinity for the paper's rule.

    Returns:
        bool (B, K); at least one arm of each trial is significant, since the mean of a row is t/K.

    Examples:
        >>> significant_arms(np.array([[5, 2, 2], [3, 3, 3]]), t=9)
        array([[ True, False, False],
               [ True,  True,  True]])
    """
    needed = significant_pulls(np.asarray(t), pulls.shape[1], log_factor)
    significant: BoolArray = pulls >= needed
    return significant


def most_pulled_arms(pulls: IntArray, t: int) -> BoolArray:
    """Find the arms with the most pulls, the only reference of the first version of C-UCB.

    Args:
        pulls: int64 (B, K), pulls of each arm.
        t: not used; so that it stands for `significant_arms`.

    Returns:
        bool (B, K); several arms of a trial may share the most pulls.

    Source: S. Gupta, G. Joshi and O. Yağan, "Correlated multi-armed bandits with a latent random
    source" (arXiv:1808.05904).

    Examples:
        >>> most_pulled_arms(np.array([[5, 2, 2], [3, 3, 3]]), t=9)
        array([[ True, False, False],
               [ True,  True,  True]])
    """
    most: BoolArray = pulls == pulls.max(axis=1, keepdims=True)
    return most


def best_mean(means: FloatArray, significant: BoolArray) -> FloatArray:
    """Find the largest mean reward of a significant arm.

    Args:
        means: float64 (B, K), mean rewards.
        significant: bool (B, K).

    Returns:
        float64 (B, 1).
    """
    best: FloatArray = np.where(significant, means, -np.inf).max(axis=1, keepdims=True)
    return best


def empirical_pseudo_rewards(pseudo_sums: FloatArray, pulls: IntArray) -> FloatArray:
    """Average the pseudo-rewards of every arm over the pulls of every other.

    Args:
        pseudo_sums: float64 (B, K, K); [b, k, l] is the sum of s_{l,k}(r) over the rewards r that
            arm k gave in trial b, and [b, k, k] the sum of these rewards.
        pulls: int64 (B, K).

    Returns:
        phi, float64 (B, K, K), indexed [b, l, k]: arm l given arm k; infinity where arm k has no
        pull.
    """
    phi = np.full(pseudo_sums.shape, np.inf)
    divisor = pulls[:, :, None]
    np.divide(pseudo_sums, divisor, out=phi, where=divisor > 0)
    return phi.transpose(0, 2, 1)


def least_bounds(phi: FloatArray, significant: BoolArray) -> FloatArray:
    """Find the smallest empirical pseudo-reward of every arm given a significant arm.

    Args:
        phi: float64 (B, K, K), [b, l, k].
        significant: bool (B, K).

    Returns:
        float64 (B, K).
    """
    bounds: FloatArray = np.where(significant[:, None, :], phi, np.inf).min(axis=2)
    return bounds


def required_bound(
    best: FloatArray, significant: BoolArray, lower: FloatArray | None = None
) -> FloatArray:
    """Find what the bound on an arm's mean must reach so that the arm may be best.

    Args:
        best: float64 (B, 1), of `best_mean`.
        significant: bool (B, K).
        lower: float64 (B, K), lower bounds on the largest mean from the rewards of each arm (the
            paper's remark on pseudo-lower bounds); None if there are none.

    Returns:
        float64 (B, 1), the largest of the best mean and the lower bounds of significant arms.
    """
    return best if lower is None else np.maximum(best, best_mean(lower, significant))


def competitive_arms(
    bounds: FloatArray, required: FloatArray, leaders: BoolArray, unknown: BoolArray
) -> BoolArray:
    """Find the arms that may be pulled: the empirically competitive arms and the best one.

    Args:
        bounds: float64 (B, K), of `least_bounds`.
        required: float64 (B, 1), of `required_bound`.
        leaders: bool (B, K), the significant arms with the best mean.
        unknown: bool (K,), arms about which no other arm's pseudo-rewards say anything. They are
            never ruled out, so that without information c-X chooses exactly as X.

    Returns:
        bool (B, K), at least one arm of each trial.
    """
    return (bounds >= required) | leaders | unknown
