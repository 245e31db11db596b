"""The compiled loop of whole rounds: environment and agent of every trial, by numba.

It does what `IndexAgent` and `CBandit` do with UCB, TS or WarmTS on the native vector environment,
with the same order of additions, so that its numbers are equal to theirs to the bit. Those classes
are the definition; `cmab_gym.evaluation.compiled` decides for which runs it is used.
Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray, UInt64Array
from cmab_gym.rows import SparseStore
from cmab_gym.streams import MIX_1, MIX_2, STEP, UNIT

_F = TypeVar("_F", bound=Callable[..., Any])


class ArmStatistics(NamedTuple):
    """Pulls int64 (B, K), sums and means of the rewards float64 (B, K), as in `History`."""

    pulls: IntArray
    sums: FloatArray
    means: FloatArray


class Bounds(NamedTuple):
    """State of a C-Bandit, as in `CorrelatedHistory` and `LeastBounds`.

    sums float64 (S,): for each trial and each arm k pulled, the summed pseudo-rewards of all arms,
    or, with a store, of those about which k says anything. offset int64 (B, K): where the sums
    given an arm begin, -1 without a pull. used int64 (1,): the size of the part of `sums` in use.
    rows float64 (K, R, K): those of the whole table; or store, those computed on demand; the other
    one is None. unknown bool (K,); least float64 (B, K), the arm that it is given int64 (B, K),
    loose bool (B, K).
    """

    sums: FloatArray
    offset: IntArray
    used: IntArray
    rows: FloatArray | None
    store: SparseStore | None
    unknown: BoolArray
    least: FloatArray
    given: IntArray
    loose: BoolArray


class IndexWidth(NamedTuple):
    """The width of a policy's index after n pulls, sqrt(scale / (n + prior_pulls)).

    The index is the mean plus z times the width: UCB has scale 1, prior_pulls 0 and
    z = B sqrt(2 ln t); TS has scale beta B, prior_pulls 1 and a standard normal z; WarmTS has the
    same with `weight` more prior_pulls.
    """

    scale: float
    prior_pulls: float


class Prior(NamedTuple):
    """The prior of WarmTS: the sums of its rewards, float64 (K,), and its weight in pulls."""

    sums: FloatArray
    weight: float


class Rewards(NamedTuple):
    """The rewards by pulls, as in `cmab_gym.models.draws`.

    taken int64 (B, K); support float64 (R,); for finitely many rewards keys uint64 (B, K) and
    thresholds float64 (K, R - 1); for continuous ones drawn float64 (B, K, n) and cuts float64
    (R - 1,). The other pair is None.
    """

    taken: IntArray
    support: FloatArray
    keys: UInt64Array | None
    thresholds: FloatArray | None
    drawn: FloatArray | None
    cuts: FloatArray | None


class Noise(NamedTuple):
    """The agent's random numbers for some rounds.

    uniform float64 (rounds, B), which decide the ties; and the z of the index: either z float64
    (rounds,), the same for all arms, or normals float64 (rounds, B, K). The other one is None.
    """

    uniform: FloatArray
    z: FloatArray | None
    normals: FloatArray | None


class Scores(NamedTuple):
    """What is recorded of each trial at the checkpoints.

    gaps float64 (K,) and best_arms bool (K,) of the model; checkpoints int64 (C,), rounds,
    increasing, the last one the horizon; the sum of gaps at each, regret float64 (B, C), and
    best_arm_pulls int64 (B, C). The last column holds the sums so far.
    """

    gaps: FloatArray
    best_arms: BoolArray
    checkpoints: IntArray
    regret: FloatArray
    best_arm_pulls: IntArray


class _Scratch(NamedTuple):
    """Arrays (K,) that each trial overwrites: index, its width, phi, and the state of each arm."""

    value: FloatArray
    width: FloatArray
    phi: FloatArray
    significant: BoolArray
    listed: IntArray
    allowed: BoolArray


def _compiled(function: _F) -> _F:
    try:
        made = numba.njit(function, cache=True, error_model="numpy")
    except RuntimeError:  # no folder can hold the cache
        made = numba.njit(function, error_model="numpy")
    return cast(_F, made)


def _inlined(function: _F) -> _F:
    """Compile into the callers: a call would count references to every array, 15 ns each."""
    return cast(_F, numba.njit(function, forceinline=True, error_model="numpy"))


@_compiled
def play_rounds(
    t: int,
    done: IntArray,
    wanted: IntArray,
    seen: ArmStatistics,
    width: IndexWidth,
    prior: Prior | None,
    bounds: Bounds | None,
    noise: Noise,
    rewards: Rewards,
    scores: Scores,
) -> None:
    """Play as many rounds as `noise` has, trial by trial.

    A trial stops early before it pulls an arm whose rows were not computed or whose sums have no
    room. Called again, it goes on where it stopped, since a round depends on `noise` alone.

    Args:
        t: rounds before; the first round, t = 0, is played alone.
        done: int64 (B,), how many of these rounds each trial has played; updated in place.
        wanted: int64 (B,), the arm before whose pull each trial stopped; updated in place.
        seen: pulls, sums and means; updated in place.
        width: the width of the policy's index.
        prior: the prior of its means; None for none, so that every arm without a pull has an
            infinite index.
        bounds: the state of a C-Bandit, updated in place; None for an agent without bounds.
        noise: the agent's random numbers for these rounds.
        rewards: the environment's rewards, updated in place; each arm has enough left for these
            rounds.
        scores: what is recorded, updated in place.
    """
    trials, n_arms = seen.pulls.shape
    scratch = _Scratch(
        np.empty(n_arms),
        np.empty(n_arms),
        np.empty(n_arms),
        np.zeros(n_arms, np.bool_),
        np.empty(n_arms, np.int64),
        np.empty(n_arms, np.bool_),
    )
    for trial in range(trials):
        if done[trial] < noise.uniform.shape[0]:
            _play_trial(
                trial, t, done, wanted, seen, width, prior, bounds, noise, rewards, scores, scratch
            )


@_inlined
def _play_trial(
    trial: int,
    t: int,
    done: IntArray,
    wanted: IntArray,
    seen: ArmStatistics,
    width: IndexWidth,
    prior: Prior | None,
    bounds: Bounds | None,
    noise: Noise,
    rewards: Rewards,
    scores: Scores,
    scratch: _Scratch,
) -> None:
    n_arms = scratch.value.size
    _, support, keys, thresholds, drawn, cuts = rewards
    for arm in range(n_arms):
        scratch.width[arm] = _index_width(width, seen.pulls[trial, arm])
    n_unpulled = np.count_nonzero(seen.pulls[trial] == 0)
    n_significant, changed = 0, True  # changed: other arms may be significant than before
    checkpoint = int(np.searchsorted(scores.checkpoints, t + done[trial], side="right"))
    for i in range(done[trial], noise.uniform.shape[0]):
        now = t + i
        _set_index(trial, i, seen, scratch, noise.z, noise.normals, prior)
        if prior is None and n_unpulled:
            for arm in range(n_arms):
                if seen.pulls[trial, arm] == 0:
                    scratch.value[arm] = np.inf
        if bounds is not None:
            changed |= (now - 1) % n_arms == 0
            if changed:
                n_significant = _find_significant(trial, now, seen, scratch)
            _find_allowed(trial, seen, bounds, n_significant, changed, scratch)
            for arm in range(n_arms):
                scratch.value[arm] = scratch.value[arm] if scratch.allowed[arm] else -np.inf
        arm = _largest(scratch.value, noise.uniform[i, trial])
        if bounds is not None and not _has_room(trial, arm, bounds, bounds.rows, bounds.store):
            wanted[trial] = arm
            break
        n = rewards.taken[trial, arm]
        rewards.taken[trial, arm] += 1
        reward, j = _nth_reward(trial, arm, n, support, keys, thresholds, drawn, cuts)
        n_unpulled -= seen.pulls[trial, arm] == 0
        _count_pull(trial, arm, reward, seen)
        scratch.width[arm] = _index_width(width, seen.pulls[trial, arm])
        if bounds is not None:
            significant = seen.pulls[trial, arm] * n_arms >= now + 1
            _add_pseudo_rewards(
                trial, arm, j, reward, seen.pulls, bounds, bounds.rows, bounds.store, scratch.phi
            )
            _lower_bounds(trial, arm, significant, bounds, scratch.phi)
            changed = not scratch.significant[arm] and seen.pulls[trial, arm] * n_arms > now
        checkpoint = _record(trial, arm, now + 1, checkpoint, scores)
        done[trial] = i + 1


@_inlined
def _index_width(width: IndexWidth, pulls: int) -> float:
    return float(np.sqrt(width.scale / (pulls + width.prior_pulls)))


@_inlined
def _set_index(
    trial: int,
    i: int,
    seen: ArmStatistics,
    scratch: _Scratch,
    z: FloatArray | None,
    normals: FloatArray | None,
    prior: Prior | None,
) -> None:
    # z, normals and prior are arguments, so that numba omits the branches of those that are None.
    for arm in range(scratch.value.size):
        if normals is not None:
            above = normals[i, trial, arm] * scratch.width[arm]
            mean = seen.means[trial, arm]
            if prior is not None:
                sums = prior.sums[arm] + seen.sums[trial, arm]
                mean = sums / (prior.weight + seen.pulls[trial, arm])
            scratch.value[arm] = mean + above
        if z is not None:
            scratch.value[arm] = seen.means[trial, arm] + z[i] * scratch.width[arm]


@_inlined
def _find_significant(trial: int, t: int, seen: ArmStatistics, scratch: _Scratch) -> int:
    """Mark and list the significant arms; return how many there are."""
    n_arms, n_significant = scratch.value.size, 0
    for k in range(n_arms):
        scratch.significant[k] = seen.pulls[trial, k] * n_arms >= t
        if scratch.significant[k]:
            scratch.listed[n_significant] = k
            n_significant += 1
    return n_significant


@_inlined
def _find_allowed(
    trial: int,
    seen: ArmStatistics,
    bounds: Bounds,
    n_significant: int,
    changed: bool,
    scratch: _Scratch,
) -> None:
    """Mark the empirically competitive arms and the best significant ones."""
    n_arms, best = scratch.value.size, -np.inf
    for i in range(n_significant):
        best = max(best, seen.means[trial, scratch.listed[i]])
    n_wanted = 0
    for arm in range(n_arms):
        loose = bounds.loose[trial, arm] & (bounds.least[trial, arm] >= best)
        n_wanted += loose & (not bounds.unknown[arm])
    if n_wanted > 0 or changed:
        for arm in range(n_arms):
            matters = bounds.loose[trial, arm] and bounds.least[trial, arm] >= best
            outdated = not scratch.significant[bounds.given[trial, arm]]
            if not bounds.unknown[arm] and (matters or outdated):
                _find_least(
                    trial,
                    arm,
                    seen.pulls,
                    bounds,
                    bounds.rows,
                    bounds.store,
                    n_significant,
                    scratch.listed,
                )
    for arm in range(n_arms):
        scratch.allowed[arm] = (bounds.least[trial, arm] >= best) | bounds.unknown[arm]
    for i in range(n_significant):
        scratch.allowed[scratch.listed[i]] |= seen.means[trial, scratch.listed[i]] == best


@_inlined
def _find_least(
    trial: int,
    arm: int,
    pulls: IntArray,
    bounds: Bounds,
    rows: FloatArray | None,
    store: SparseStore | None,
    n_significant: int,
    listed: IntArray,
) -> None:
    """Compute the least bound of an arm given the significant arms."""
    bounds.least[trial, arm], bounds.loose[trial, arm] = np.inf, False
    for i in range(n_significant):
        k = listed[i]
        if pulls[trial, k] > 0:
            position, phi = arm, np.inf
            if store is not None:
                position, phi = _position(store, k, arm), store.high
            if position >= 0:
                phi = bounds.sums[bounds.offset[trial, k] + position] / pulls[trial, k]
            if phi < bounds.least[trial, arm]:
                bounds.least[trial, arm], bounds.given[trial, arm] = phi, k


@_inlined
def _position(store: SparseStore, k: int, arm: int) -> int:
    """Return the position of an arm among those about which arm k says anything, or -1."""
    first, stop = store.first[k], store.stop[k]
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if store.arms[middle] < arm:
            low = middle + 1
        else:
            high = middle
    return low - first if low < stop and store.arms[low] == arm else -1


@_inlined
def _has_room(
    trial: int, arm: int, bounds: Bounds, rows: FloatArray | None, store: SparseStore | None
) -> bool:
    """Reserve room for the sums given an arm; return False without its rows or without room."""
    if bounds.offset[trial, arm] >= 0:
        return True
    size = 0
    if rows is not None:
        size = rows.shape[2]
    if store is not None:
        if store.first[arm] < 0:
            return False
        size = store.stop[arm] - store.first[arm]
    offset = bounds.used[0]
    if offset + size > bounds.sums.size:
        return False
    bounds.sums[offset : offset + size] = 0
    bounds.offset[trial, arm] = offset
    bounds.used[0] = offset + size
    return True


@_inlined
def _add_pseudo_rewards(
    trial: int,
    arm: int,
    j: int,
    reward: float,
    pulls: IntArray,
    bounds: Bounds,
    rows: FloatArray | None,
    store: SparseStore | None,
    phi: FloatArray,
) -> None:
    """Add the pseudo-rewards of a pull to the sums given its arm, and compute phi given it."""
    n, offset = pulls[trial, arm], bounds.offset[trial, arm]
    if rows is not None:
        own = bounds.sums[offset + arm] + reward
        for other in range(phi.size):
            bounds.sums[offset + other] += rows[arm, j, other]
        bounds.sums[offset + arm] = own
        for other in range(phi.size):
            phi[other] = bounds.sums[offset + other] / n
    if store is not None:
        first, entry, stop = store.first[arm], store.row_first[arm, j], store.row_stop[arm, j]
        for other in range(phi.size):
            phi[other] = store.high
        for i in range(store.stop[arm] - first):
            value = store.high
            if entry < stop and store.positions[entry] == i:
                value = store.values[entry]
                entry += 1
            bounds.sums[offset + i] += value
            phi[store.arms[first + i]] = bounds.sums[offset + i] / n


@_inlined
def _lower_bounds(trial: int, arm: int, significant: bool, bounds: Bounds, phi: FloatArray) -> None:
    """Compare the least bounds with phi given the arm that was pulled."""
    for other in range(phi.size):  # without branches, which lets the compiler vectorise it
        low, was = phi[other] <= bounds.least[trial, other], bounds.given[trial, other]
        risen = (phi[other] > bounds.least[trial, other]) & (was == arm)
        lowers = low & significant
        bounds.least[trial, other] = phi[other] if lowers | risen else bounds.least[trial, other]
        bounds.given[trial, other] = arm if lowers else was
        bounds.loose[trial, other] |= risen


@_inlined
def _largest(row: FloatArray, uniform: float) -> int:
    """Find the position of the largest number; a uniform number chooses one of several."""
    best = _maximum(row)
    # Summed without a branch, which lets the compiler vectorise it.
    n_ties, position = np.int32(0), np.int32(0)
    for arm in range(row.size):
        tied = row[arm] == best
        n_ties += np.int32(tied)
        position += np.int32(arm) if tied else np.int32(0)
    if n_ties == 1:
        return int(position)
    skip = int(uniform * n_ties)
    for arm in range(row.size):
        if row[arm] == best:
            if skip == 0:
                return arm
            skip -= 1
    return 0


@_inlined
def _maximum(row: FloatArray) -> float:
    """Return the largest number, by four independent chains of comparisons."""
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
def _nth_reward(
    trial: int,
    arm: int,
    n: int,
    support: FloatArray,
    keys: UInt64Array | None,
    thresholds: FloatArray | None,
    drawn: FloatArray | None,
    cuts: FloatArray | None,
) -> tuple[float, int]:
    """Return a reward and its index, as `Stacks.take` and `ContinuousStacks.take` do."""
    if drawn is not None and cuts is not None:
        reward = drawn[trial, arm, n]
        return reward, np.searchsorted(cuts, reward, side="right")
    index = 0
    if keys is not None and thresholds is not None:
        uniform = _uniform_at(keys[trial, arm], n)
        for j in range(thresholds.shape[1]):
            index += thresholds[arm, j] <= uniform
    return support[index], index


@_inlined
def _uniform_at(key: np.uint64, n: int) -> float:
    """Return the n-th uniform number of a key: see `cmab_gym.streams.uniforms_at`."""
    z = key + (np.uint64(n) + np.uint64(1)) * np.uint64(STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * UNIT


@_inlined
def _count_pull(trial: int, arm: int, reward: float, seen: ArmStatistics) -> None:
    seen.pulls[trial, arm] += 1
    seen.sums[trial, arm] += reward
    seen.means[trial, arm] = seen.sums[trial, arm] / seen.pulls[trial, arm]


@_inlined
def _record(trial: int, arm: int, t: int, checkpoint: int, scores: Scores) -> int:
    """Add a pull to the scores; return the position of the next checkpoint."""
    scores.regret[trial, -1] += scores.gaps[arm]
    scores.best_arm_pulls[trial, -1] += scores.best_arms[arm]
    if t == scores.checkpoints[checkpoint]:
        scores.regret[trial, checkpoint] = scores.regret[trial, -1]
        scores.best_arm_pulls[trial, checkpoint] = scores.best_arm_pulls[trial, -1]
        checkpoint += 1
    return checkpoint
