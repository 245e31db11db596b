"""The inner loops of agents, compiled by numba (extra `fast`): the rules in their plainest words.

Each does what the NumPy form in `index_agent` or `c_bandit` does, in the same order of additions,
so that its numbers are equal to the bit. Importing this module imports numba: see `fast`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray

_F = TypeVar("_F", bound=Callable[..., Any])


def _compiled(function: _F) -> _F:
    try:
        made = numba.njit(function, cache=True, error_model="numpy")
    except RuntimeError:  # there is no folder in which what was compiled could be kept
        made = numba.njit(function, error_model="numpy")
    return cast(_F, made)


@_compiled
def argmax_with_random_ties(
    index: FloatArray, allowed: BoolArray | None, uniform: FloatArray
) -> tuple[IntArray, bool]:
    """Find the arm of the largest index among those allowed, a random one of several.

    Args:
        index: float64 (B, K).
        allowed: bool (B, K), at least one arm of each row; None allows all.
        uniform: float64 (B,), uniform numbers in [0, 1) that decide the ties.

    Returns:
        int64 (B,), and whether no index was NaN; if one was, the arms mean nothing.
    """
    trials, n_arms = index.shape
    arms, row = np.empty(trials, np.int64), np.empty(n_arms)
    for trial in range(trials):
        for arm in range(n_arms):
            row[arm] = index[trial, arm]
            if allowed is not None and not allowed[trial, arm]:
                row[arm] = -np.inf
        best = -np.inf
        chosen = ties = invalid = 0
        for arm in range(n_arms):
            if row[arm] > best:
                best, chosen = row[arm], arm
        for arm in range(n_arms):
            ties += row[arm] == best
            invalid += np.isnan(row[arm])
        if invalid > 0:
            return arms, False
        if ties > 1:
            skip = int(uniform[trial] * ties)
            for arm in range(n_arms):
                if row[arm] == best:
                    if skip == 0:
                        chosen = arm
                        break
                    skip -= 1
        arms[trial] = chosen
    return arms, True


@_compiled
def count_pulls(
    pulls: IntArray, sums: FloatArray, means: FloatArray, arms: IntArray, rewards: FloatArray
) -> None:
    """Count a pull in each trial.

    Args:
        pulls: int64 (B, K).
        sums: float64 (B, K), of the rewards.
        means: float64 (B, K).
        arms: int64 (B,), the arms pulled: numbers past the end would change what is not theirs.
        rewards: float64 (B,).
    """
    for trial, arm in enumerate(arms):
        pulls[trial, arm] += 1
        sums[trial, arm] += rewards[trial]
        means[trial, arm] = sums[trial, arm] / pulls[trial, arm]


@_compiled
def add_pseudo_rewards(
    pseudo_sums: FloatArray,
    rows: FloatArray,
    tight: FloatArray | None,
    least: FloatArray,
    at: IntArray,
    loose: BoolArray,
    pulls: IntArray,
    t: int,
    arms: IntArray,
    index: IntArray,
    rewards: FloatArray,
) -> None:
    """Add what a pull of each trial says of all arms, and keep the least bounds.

    Args:
        pseudo_sums: float64 (B, K, K); [b, k, l] is summed over the pulls of arm k.
        rows: float64 (K, R, K); [k, j] is what reward j of arm k says of all arms.
        tight: float64 (B, K, K), other upper bounds, as [b, k, l]; None: there are none.
        least: float64 (B, K), the least bound of each arm, as in `LeastBounds`.
        at: int64 (B, K), the arm that bounds it so.
        loose: bool (B, K), whether it may be less.
        pulls: int64 (B, K).
        t: pulls of all arms so far.
        arms: int64 (B,), the arms pulled.
        index: int64 (B,), positions of the rewards in their support.
        rewards: float64 (B,).
    """
    n_arms = pulls.shape[1]
    phi = np.empty(n_arms)
    for trial, arm in enumerate(arms):
        sums, row, n = pseudo_sums[trial, arm], rows[arm, index[trial]], pulls[trial, arm]
        own = sums[arm] + rewards[trial]
        for other in range(n_arms):
            sums[other] += row[other]
        sums[arm] = own
        for other in range(n_arms):
            phi[other] = sums[other] / n
            if tight is not None:
                phi[other] = min(phi[other], tight[trial, arm, other])
        significant = n * n_arms >= t
        for other in range(n_arms):
            if phi[other] <= least[trial, other]:
                if significant:
                    least[trial, other], at[trial, other] = phi[other], arm
            elif at[trial, other] == arm:
                least[trial, other], loose[trial, other] = phi[other], True


@_compiled
def add_vectors(
    counts: IntArray,
    slot: IntArray,
    vectors: FloatArray,
    vector_sums: FloatArray,
    tight: FloatArray,
    pulls: IntArray,
    arms: IntArray,
    index: IntArray,
) -> None:
    """Count a reward in each trial, and bound all arms by the vectors kept of the arm pulled.

    Args:
        counts: int64 (B, K, R), of each arm's rewards.
        slot: int64 (B, K), where an arm's vectors are kept; below 0 it has none.
        vectors: float64 (slots, V, R, K), what each reward says of all arms.
        vector_sums: float64 (slots, V, K), of the rewards so far.
        tight: float64 (B, K, K), the least average of an arm's vectors; infinity of itself.
        pulls: int64 (B, K).
        arms: int64 (B,), the arms pulled.
        index: int64 (B,), positions of the rewards in their support.
    """
    for trial, arm in enumerate(arms):
        counts[trial, arm, index[trial]] += 1
        place = slot[trial, arm]
        if place < 0:
            continue
        for other in range(pulls.shape[1]):
            least = np.inf
            for kept in range(vectors.shape[1]):
                vector_sums[place, kept, other] += vectors[place, kept, index[trial], other]
                least = min(least, vector_sums[place, kept, other])
            tight[trial, arm, other] = least / pulls[trial, arm]
        tight[trial, arm, arm] = np.inf


@_compiled
def allowed_arms(
    pseudo_sums: FloatArray,
    tight: FloatArray | None,
    least: FloatArray,
    at: IntArray,
    loose: BoolArray,
    floor: FloatArray | None,
    pulls: IntArray,
    means: FloatArray,
    t: int,
    unknown: BoolArray,
) -> BoolArray:
    """Return the empirically competitive arms and the best significant one, bool (B, K).

    Args:
        pseudo_sums: as in `add_pseudo_rewards`.
        tight: as in `add_pseudo_rewards`.
        least: as in `add_pseudo_rewards`.
        at: as in `add_pseudo_rewards`.
        loose: as in `add_pseudo_rewards`.
        floor: float64 (B, K), lower bounds on the best mean, of each arm; None: there are none.
        pulls: int64 (B, K).
        means: float64 (B, K).
        t: pulls of all arms so far.
        unknown: bool (K,), the arms of which nothing is known.
    """
    trials, n_arms = pulls.shape
    allowed = np.empty((trials, n_arms), np.bool_)
    significant, those = np.empty(n_arms, np.bool_), np.empty(n_arms, np.int64)
    for trial in range(trials):
        best = highest = -np.inf
        count = 0
        for k in range(n_arms):
            significant[k] = pulls[trial, k] * n_arms >= t
            if significant[k]:
                those[count] = k
                count += 1
                best = max(best, means[trial, k])
                if floor is not None:
                    highest = max(highest, floor[trial, k])
        enough = max(best, highest)
        for arm in range(n_arms):
            matters = loose[trial, arm] and least[trial, arm] >= enough
            if not unknown[arm] and (matters or not significant[at[trial, arm]]):
                least[trial, arm], loose[trial, arm] = np.inf, False
                for k in those[:count]:
                    if pulls[trial, k] > 0:
                        phi = pseudo_sums[trial, k, arm] / pulls[trial, k]
                        if tight is not None:
                            phi = min(phi, tight[trial, k, arm])
                        if phi < least[trial, arm]:
                            least[trial, arm], at[trial, arm] = phi, k
            is_best = significant[arm] and means[trial, arm] == best
            allowed[trial, arm] = least[trial, arm] >= enough or is_best or unknown[arm]
    return allowed


def play_a_round() -> None:
    """Call what every agent needs once: to load it takes half a second, which is no round's."""
    numbers, counts = np.zeros((1, 2)), np.zeros((1, 2), np.int64)
    arms, rewards, none = np.zeros(1, np.int64), np.zeros(1), np.zeros((1, 2), np.bool_)
    sums, rows = np.zeros((1, 2, 2)), np.zeros((2, 1, 2))
    rows.flags.writeable = False  # as a problem's are
    argmax_with_random_ties(numbers, None, rewards)
    argmax_with_random_ties(numbers, ~none, rewards)
    count_pulls(counts, numbers, numbers.copy(), arms, rewards)
    kept = numbers.copy(), counts.copy(), none
    add_pseudo_rewards(sums, rows, None, *kept, counts, 1, arms, arms, rewards)
    allowed_arms(sums, None, *kept, None, counts, numbers, 1, none[0])
