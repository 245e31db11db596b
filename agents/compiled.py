"""The inner loops of agents, compiled by numba (extra `fast`): the rules in their plainest words.

Each does what the NumPy form in `index_agent` or `c_bandit` does, in the same order of additions,
so that its numbers are equal to the bit. Importing this module imports numba: see `fast`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np

from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from cmab_gym.agents.index_agent import Counts, Kept, Known
    from cmab_gym.models.base import Lookup

_F = TypeVar("_F", bound=Callable[..., Any])


def _compiled(function: _F) -> _F:
    try:
        made = numba.njit(function, cache=True, error_model="numpy")
    except RuntimeError:  # there is no folder in which what was compiled could be kept
        made = numba.njit(function, error_model="numpy")
    return cast(_F, made)


def _inlined(function: _F) -> _F:
    """Compile into the callers: a call would count references to every array, 15 ns each."""
    return cast(_F, numba.njit(function, forceinline=True, error_model="numpy"))


@_inlined
def _maximum(row: FloatArray) -> float:
    """Return the largest number, without NaN, by four chains of comparisons side by side."""
    a = b = c = d = -np.inf
    whole = row.size - row.size % 4
    for i in range(0, whole, 4):
        a = row[i] if row[i] > a else a
        b = row[i + 1] if row[i + 1] > b else b
        c = row[i + 2] if row[i + 2] > c else c
        d = row[i + 3] if row[i + 3] > d else d
    for i in range(whole, row.size):
        a = row[i] if row[i] > a else a
    return max(max(a, b), max(c, d))


@_inlined
def _largest(row: FloatArray, uniform: float) -> int:
    """Find where the largest number is, without NaN; a uniform number chooses one of several."""
    best = _maximum(row)
    # Added up without a branch, so that the processor takes some numbers at once.
    ties, place = np.int32(0), np.int32(0)
    for arm in range(row.size):
        tied = row[arm] == best
        ties += np.int32(tied)
        place += np.int32(arm) if tied else np.int32(0)
    if ties == 1:
        return int(place)
    skip = int(uniform * ties)
    for arm in range(row.size):
        if row[arm] == best:
            if skip == 0:
                return arm
            skip -= 1
    return 0


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
        invalid = 0
        for arm in range(n_arms):
            row[arm] = index[trial, arm]
            if allowed is not None and not allowed[trial, arm]:
                row[arm] = -np.inf
            invalid += np.isnan(row[arm])
        if invalid > 0:
            return arms, False
        arms[trial] = _largest(row, uniform[trial])
    return arms, True


@_inlined
def _count_pull(
    pulls: IntArray, sums: FloatArray, means: FloatArray, trial: int, arm: int, reward: float
) -> None:
    pulls[trial, arm] += 1
    sums[trial, arm] += reward
    means[trial, arm] = sums[trial, arm] / pulls[trial, arm]


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
        _count_pull(pulls, sums, means, trial, arm, rewards[trial])


@_compiled
def add_pseudo_rewards(
    pseudo_sums: FloatArray,
    rows: FloatArray,
    tight: FloatArray | None,
    kept: Kept,
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
        kept: the least bounds, as in `LeastBounds`.
        pulls: int64 (B, K).
        t: pulls of all arms so far.
        arms: int64 (B,), the arms pulled.
        index: int64 (B,), positions of the rewards in their support.
        rewards: float64 (B,).
    """
    for trial, arm in enumerate(arms):
        _add_pseudo_reward(
            pseudo_sums,
            rows,
            tight,
            kept,
            pulls,
            t,
            trial,
            arm,
            index[trial],
            rewards[trial],
        )


@_inlined
def _add_pseudo_reward(
    pseudo_sums: FloatArray,
    rows: FloatArray,
    tight: FloatArray | None,
    kept: Kept,
    pulls: IntArray,
    t: int,
    trial: int,
    arm: int,
    index: int,
    reward: float,
) -> None:
    least, at, loose = kept
    n_arms, n = pulls.shape[1], pulls[trial, arm]
    significant = n * n_arms >= t
    own = pseudo_sums[trial, arm, arm] + reward
    for other in range(n_arms):
        pseudo_sums[trial, arm, other] += rows[arm, index, other]
    pseudo_sums[trial, arm, arm] = own
    # Without a branch, so that the processor takes some arms at once.
    for other in range(n_arms):
        phi = pseudo_sums[trial, arm, other] / n
        if tight is not None:
            phi = min(phi, tight[trial, arm, other])
        low, was = phi <= least[trial, other], at[trial, other]
        risen = (phi > least[trial, other]) & (was == arm)
        lowers = low & significant
        least[trial, other] = phi if lowers | risen else least[trial, other]
        at[trial, other] = arm if lowers else was
        loose[trial, other] |= risen


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
    kept: Kept,
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
        kept: as in `add_pseudo_rewards`.
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
        count = _find_significant(pulls, t, trial, significant, those)
        _allow(
            pseudo_sums,
            tight,
            kept,
            floor,
            pulls,
            means,
            unknown,
            trial,
            significant,
            those,
            count,
            True,
            allowed[trial],
        )
    return allowed


@_inlined
def _find_significant(
    pulls: IntArray, t: int, trial: int, significant: BoolArray, those: IntArray
) -> int:
    """Set which arms are significant, and list them; return how many there are."""
    n_arms, count = pulls.shape[1], 0
    for k in range(n_arms):
        significant[k] = pulls[trial, k] * n_arms >= t
        if significant[k]:
            those[count] = k
            count += 1
    return count


@_inlined
def _allow(
    pseudo_sums: FloatArray,
    tight: FloatArray | None,
    kept: Kept,
    floor: FloatArray | None,
    pulls: IntArray,
    means: FloatArray,
    unknown: BoolArray,
    trial: int,
    significant: BoolArray,
    those: IntArray,
    count: int,
    changed: bool,
    allowed: BoolArray,
) -> None:
    """Set which arms of a trial may be played; `changed`: those significant may be others now."""
    least, at, loose = kept
    n_arms = pulls.shape[1]
    best = enough = -np.inf
    for i in range(count):
        best = max(best, means[trial, those[i]])
    enough = best
    if floor is not None:
        for i in range(count):
            enough = max(enough, floor[trial, those[i]])
    wanted = 0
    for arm in range(n_arms):
        wanted += loose[trial, arm] & (least[trial, arm] >= enough) & (not unknown[arm])
    if wanted > 0 or changed:
        for arm in range(n_arms):
            matters = loose[trial, arm] and least[trial, arm] >= enough
            if not unknown[arm] and (matters or not significant[at[trial, arm]]):
                least[trial, arm], loose[trial, arm] = np.inf, False
                for i in range(count):
                    k = those[i]
                    if pulls[trial, k] > 0:
                        phi = pseudo_sums[trial, k, arm] / pulls[trial, k]
                        if tight is not None:
                            phi = min(phi, tight[trial, k, arm])
                        if phi < least[trial, arm]:
                            least[trial, arm], at[trial, arm] = phi, k
    for arm in range(n_arms):
        allowed[arm] = (least[trial, arm] >= enough) | unknown[arm]
    for i in range(count):
        allowed[those[i]] |= means[trial, those[i]] == best


@_inlined
def _pull(
    outcomes: AnyArray,
    i: int,
    trial: int,
    arm: int,
    support: FloatArray,
    thresholds: FloatArray | None,
    table: IntArray | None,
    cuts: FloatArray | None,
) -> tuple[float, int]:
    """Look up a reward and its position: see `cmab_gym.models.base.Lookup`."""
    if cuts is not None:
        reward = outcomes[i, trial, arm]
        return reward, np.searchsorted(cuts, reward, side="right")
    index = 0
    if table is not None:
        index = table[outcomes[i, trial, 0], arm]
    if thresholds is not None:
        for j in range(thresholds.shape[1]):
            index += thresholds[arm, j] <= outcomes[i, trial, 0]
    return support[index], index


@_compiled
def play_rounds(
    t: int,
    counts: Counts,
    variance: float,
    prior_pulls: float,
    z: FloatArray | None,
    noise: FloatArray | None,
    uniform: FloatArray,
    known: Known | None,
    outcomes: AnyArray,
    lookup: Lookup,
    gaps: FloatArray,
    best_arms: BoolArray,
    checkpoints: IntArray,
    recorded: int,
    regret: FloatArray,
    best_arm_pulls: IntArray,
) -> None:
    """Play some rounds of environment and agent, trial by trial; as many as `uniform` has rows.

    Args:
        t: pulls of all arms before; if it is below K, the rounds end at K.
        counts: pulls, sums and means, as in `count_pulls`.
        variance: of a `StandardErrorPolicy`.
        prior_pulls: of that policy.
        z: float64 (rounds,), of the policy; None if it samples.
        noise: float64 (rounds, B, K), or None; not read until each arm was pulled once.
        uniform: float64 (rounds, B), which decide the ties.
        known: for a `CBandit`, pseudo_sums, rows and kept as in `add_pseudo_rewards`, and unknown
            as in `allowed_arms`; else None.
        outcomes: (rounds, B, W), of the model.
        lookup: of the model.
        gaps: float64 (K,), of the model.
        best_arms: bool (K,), of the model.
        checkpoints: int64 (C,), the rounds at which scores are recorded; the last is the horizon.
        recorded: how many of them are past.
        regret: float64 (B, C), the sum of gaps at each; so far in the last column.
        best_arm_pulls: int64 (B, C), the pulls of best arms likewise.
    """
    pulls, sums, means = counts
    trials, n_arms = pulls.shape
    index, error = np.empty(n_arms), np.empty(n_arms)
    significant, allowed = np.zeros(n_arms, np.bool_), np.empty(n_arms, np.bool_)
    those = np.empty(n_arms, np.int64)
    for trial in range(trials):
        for arm in range(n_arms):
            error[arm] = np.sqrt(variance / (pulls[trial, arm] + prior_pulls))
        count, changed, place = 0, True, recorded
        for i in range(uniform.shape[0]):
            now = t + i
            if now < n_arms:
                for arm in range(n_arms):
                    index[arm] = -np.inf if pulls[trial, arm] else 0.0
            else:
                for arm in range(n_arms):
                    if noise is not None:
                        index[arm] = means[trial, arm] + noise[i, trial, arm] * error[arm]
                    if z is not None:
                        index[arm] = means[trial, arm] + z[i] * error[arm]
                if known is not None:
                    pseudo_sums, _, kept, unknown = known
                    changed |= (now - 1) % n_arms == 0  # an arm may have too few pulls from now on
                    if changed:
                        count = _find_significant(pulls, now, trial, significant, those)
                    _allow(
                        pseudo_sums,
                        None,
                        kept,
                        None,
                        pulls,
                        means,
                        unknown,
                        trial,
                        significant,
                        those,
                        count,
                        changed,
                        allowed,
                    )
                    for arm in range(n_arms):
                        index[arm] = index[arm] if allowed[arm] else -np.inf
            arm = _largest(index, uniform[i, trial])
            reward, j = _pull(
                outcomes,
                i,
                trial,
                arm,
                lookup.support,
                lookup.thresholds,
                lookup.table,
                lookup.cuts,
            )
            _count_pull(pulls, sums, means, trial, arm, reward)
            error[arm] = np.sqrt(variance / (pulls[trial, arm] + prior_pulls))
            if known is not None:
                pseudo_sums, rows, kept, _ = known
                _add_pseudo_reward(
                    pseudo_sums, rows, None, kept, pulls, now + 1, trial, arm, j, reward
                )
                changed = not significant[arm] and pulls[trial, arm] * n_arms > now
            regret[trial, -1] += gaps[arm]
            best_arm_pulls[trial, -1] += best_arms[arm]
            if now + 1 == checkpoints[place]:
                regret[trial, place] = regret[trial, -1]
                best_arm_pulls[trial, place] = best_arm_pulls[trial, -1]
                place += 1


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
    add_pseudo_rewards(sums, rows, None, kept, counts, 1, arms, arms, rewards)
    allowed_arms(sums, None, kept, None, counts, numbers, 1, none[0])
