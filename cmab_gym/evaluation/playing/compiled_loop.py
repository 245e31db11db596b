"""The compiled loop of whole rounds: environment and agent of every trial, by numba.

It does what `IndexAgent`, `CBandit` and `TightenedCBandit` do with UCB, TS or WarmTS on the native
vector environment, with the same order of additions, so that its numbers are equal to theirs to the
bit. Those classes are the definition; `cmab_gym.evaluation.playing.compiled` decides for which runs
it is used. Importing this module imports numba.

numba compiles a function again for other types of arguments. So what a run does not use is an empty
array, not None, and one compiled version serves every run.
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


class Policy(NamedTuple):
    """An index policy: the index of an arm after n pulls is centre + z sqrt(scale / (n + shift)).

    The centre is (prior_sums + sum of the rewards) / (prior_pulls + n); prior_sums is float64 (K,).
    UCB has scale 1, shift 0, no prior (0 and 0), and z = B sqrt(2 ln t); TS has scale beta B,
    shift 1, no prior and a standard normal z; WarmTS has a prior, which also adds to the shift.
    ranks_unpulled: whether arms without a pull have this index too, not an infinite one.
    """

    scale: float
    shift: float
    prior_sums: FloatArray
    prior_pulls: float
    ranks_unpulled: bool


class Tightened(NamedTuple):
    """State of a tightened C-Bandit: its vectors given some arms, as in `KeptVectors`.

    counts int64 (B, K, R), of each reward of each arm; next_solve float64 (B, K); kept int64
    (B, K), the row of an arm in the arrays that follow, 0 without vectors; vectors float64
    (S, V, R, K); sums float64 (S, V, K); least float64 (S, K). Empty for other agents.
    """

    counts: IntArray
    next_solve: FloatArray
    kept: IntArray
    vectors: FloatArray
    sums: FloatArray
    least: FloatArray


class Bounds(NamedTuple):
    """State of a C-Bandit, as in `CorrelatedHistory` and `LeastBounds`.

    correlated: whether the agent is a C-Bandit; if not, the arrays are empty. until: rounds in
    which it rules arms out. all_first: whether it pulls every arm once first.
    sums float64 (S, K): for each trial and each arm k pulled, the summed pseudo-rewards of all
    arms, infinite for those that k never bounds. slot int64 (B, K): the row of `sums` of an arm, -1
    without a pull. used int64 (1,): the number of rows in use. rows float64 (K, R, K): those of the
    whole table; or store, those computed on demand; the other one is empty. unknown bool (K,);
    least float64 (B, K), the arm that it is given int64 (B, K), loose bool (B, K).
    tightened: other bounds.
    """

    correlated: bool
    until: float
    all_first: bool
    sums: FloatArray
    slot: IntArray
    used: IntArray
    rows: FloatArray
    store: SparseStore
    unknown: BoolArray
    least: FloatArray
    given: IntArray
    loose: BoolArray
    tightened: Tightened


class Rewards(NamedTuple):
    """The rewards by pulls, as in `cmab_gym.models.draws`.

    taken int64 (B, K); support float64 (R,); for finitely many rewards keys uint64 (B, K) and
    thresholds float64 (K, R - 1); for continuous ones drawn float64 (B, K, n) and cuts float64
    (R - 1,). The other pair is empty.
    """

    taken: IntArray
    support: FloatArray
    keys: UInt64Array
    thresholds: FloatArray
    drawn: FloatArray
    cuts: FloatArray


class Scores(NamedTuple):
    """What is recorded of each trial at the checkpoints.

    gaps float64 (K,) and best_arms bool (K,) of the model; checkpoints int64 (C,), rounds,
    increasing, the last one the horizon; the arrays of `Record`: regret and reward float64 (B, C),
    best_arm_pulls int64 (B, C), whose last column holds the sums so far; competitive int64 (B, C),
    empty for an agent that rules no arms out; and last int64 (B, K), empty if it is not recorded.
    """

    gaps: FloatArray
    best_arms: BoolArray
    checkpoints: IntArray
    regret: FloatArray
    best_arm_pulls: IntArray
    reward: FloatArray
    competitive: IntArray
    last: IntArray


class Run(NamedTuple):
    """All trials of an agent in its environment; the arrays are updated in place."""

    seen: ArmStatistics
    policy: Policy
    bounds: Bounds
    rewards: Rewards
    scores: Scores


class Part(NamedTuple):
    """The part of a run that is played next: n rounds of G trials.

    trial, t: the first trial, and the rounds that were played before.
    uniforms float64 (G, n), which decide the ties; and the z of the index: either z float64 (n,),
    the same for all arms, or normals float64 (G, n, K). The other one is empty.
    needed int64 (n + 1,): pulls that make an arm significant in each of these rounds and the next.
    checked bool (n,): rounds before which linear programs may be due.
    done int64 (G,): how many of these rounds each trial has played; wanted int64 (G,): the arm
    before whose pull it stopped, -1 if programs are due. Both are updated in place.
    """

    trial: int
    t: int
    uniforms: FloatArray
    z: FloatArray
    normals: FloatArray
    needed: IntArray
    checked: BoolArray
    done: IntArray
    wanted: IntArray


class _Trial(NamedTuple):
    """The arrays (K,) of one trial, and counts (K, R): its rows of those of the run."""

    pulls: IntArray
    sums: FloatArray
    means: FloatArray
    taken: IntArray
    slot: IntArray
    least: FloatArray
    given: IntArray
    loose: BoolArray
    counts: IntArray
    next_solve: FloatArray
    kept: IntArray


class Scratch(NamedTuple):
    """Arrays (K,) that each trial overwrites.

    The index, its centre and width; the pseudo-rewards of a pull, later the least sums; which arms
    are significant, and their list; a list of arms whose least bound is computed.
    """

    value: FloatArray
    centre: FloatArray
    width: FloatArray
    row: FloatArray
    significant: BoolArray
    listed: IntArray
    open: IntArray


# Nothing here makes an array, so no references are counted: a round of C-UCB takes half the time.
# No wrapper for C: it would hold a copy of the whole loop.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_INLINED: dict[str, Any] = _OPTIONS | {"forceinline": True, "no_cpython_wrapper": True}


def _compiled(function: _F) -> _F:
    try:
        made = numba.njit(function, cache=True, **_OPTIONS)
    except RuntimeError:  # no folder can hold the cache
        made = numba.njit(function, **_OPTIONS)
    return cast(_F, made)


def _inlined(function: _F) -> _F:
    return cast(_F, numba.njit(function, **_INLINED))


@_compiled
def play_rounds(run: Run, part: Part, scratch: Scratch) -> None:
    """Play a part of a run, trial by trial.

    A trial stops early before it pulls an arm whose rows were not computed or whose sums have no
    room, and when linear programs are due. Called again, it goes on where it stopped, since a round
    depends on `part` alone.

    Args:
        run: the run; each arm has enough rewards left for these rounds.
        part: the trials and rounds; the first round of a policy that does not rank arms without a
            pull is played with any z.
        scratch: arrays to work in.
    """
    for g in range(part.done.size):
        if part.done[g] < part.uniforms.shape[1]:
            _play_trial(g, run, part, scratch)


@_inlined
def _play_trial(g: int, run: Run, part: Part, scratch: Scratch) -> None:
    row, seen, policy, bounds, scores = part.trial + g, run.seen, run.policy, run.bounds, run.scores
    tightened = bounds.tightened
    own = _Trial(
        seen.pulls[row],
        seen.sums[row],
        seen.means[row],
        run.rewards.taken[row],
        bounds.slot[row],
        bounds.least[row],
        bounds.given[row],
        bounds.loose[row],
        tightened.counts[row],
        tightened.next_solve[row],
        tightened.kept[row],
    )
    n_arms = own.pulls.size
    for arm in range(n_arms):
        _set_centre_and_width(arm, own, policy, scratch)
    first = n_arms if bounds.all_first else 0  # rounds in which only arms without a pull are pulled
    n_significant, changed = 0, True  # changed: other arms may be significant than before
    checkpoint = int(np.searchsorted(scores.checkpoints, part.t + part.done[g], side="right"))
    for i in range(part.done[g], part.uniforms.shape[1]):
        now = part.t + i
        _set_index(g, i, part.z, part.normals, scratch)
        correlated = bounds.correlated and now < bounds.until
        if correlated and now < first:
            _keep_unpulled(own, scratch)
        elif correlated:
            changed |= part.needed[i] != part.needed[max(i - 1, 0)]
            if changed:
                n_significant = _find_significant(part.needed[i], own, scratch)
            _rule_out(own, bounds, n_significant, changed, scratch)
            if part.checked[i] and _is_due(own, bounds.unknown, scratch):
                part.wanted[g] = -1
                break
        arm = _largest(scratch.value, part.uniforms[g, i])
        if correlated and not _has_room(arm, own, bounds):
            part.wanted[g] = arm
            break
        reward, j = _next_reward(row, arm, own, run.rewards)
        _count_pull(arm, reward, own)
        _set_centre_and_width(arm, own, policy, scratch)
        if correlated:
            _add_row(arm, j, reward, own, bounds, scratch.row)
            if own.kept.size:
                _add_vectors(arm, j, own, tightened)
            significant = own.pulls[arm] >= part.needed[i + 1]
            plain = bounds.sums[own.slot[arm]]
            sums = _least_sums(arm, plain, own, tightened, scratch.row)
            _compare(arm, significant, own, bounds.store.high, sums)
            changed = (significant and not scratch.significant[arm]) or now + 1 == first
        checkpoint = _record(row, arm, reward, now + 1, checkpoint, scores, scratch.value)
        part.done[g] = i + 1


@_inlined
def _set_centre_and_width(arm: int, own: _Trial, policy: Policy, scratch: Scratch) -> None:
    n = own.pulls[arm]
    if n == 0 and not policy.ranks_unpulled:
        scratch.centre[arm], scratch.width[arm] = np.inf, 0.0
    else:
        scratch.centre[arm] = (policy.prior_sums[arm] + own.sums[arm]) / (policy.prior_pulls + n)
        scratch.width[arm] = np.sqrt(policy.scale / (n + policy.shift))


@_inlined
def _set_index(g: int, i: int, z: FloatArray, normals: FloatArray, scratch: Scratch) -> None:
    if z.size:
        for arm in range(scratch.value.size):
            scratch.value[arm] = scratch.centre[arm] + z[i] * scratch.width[arm]
    else:
        for arm in range(scratch.value.size):
            scratch.value[arm] = scratch.centre[arm] + normals[g, i, arm] * scratch.width[arm]


@_inlined
def _keep_unpulled(own: _Trial, scratch: Scratch) -> None:
    """Set the index of all arms that have a pull to -infinity."""
    for arm in range(own.pulls.size):
        scratch.value[arm] = scratch.value[arm] if own.pulls[arm] == 0 else -np.inf


@_inlined
def _find_significant(needed: int, own: _Trial, scratch: Scratch) -> int:
    """Mark and list the arms with the pulls needed to be significant; return how many there are."""
    n_significant = 0
    for k in range(own.pulls.size):
        scratch.significant[k] = own.pulls[k] >= needed
        if scratch.significant[k]:
            scratch.listed[n_significant] = k
            n_significant += 1
    return n_significant


@_inlined
def _rule_out(
    own: _Trial, bounds: Bounds, n_significant: int, changed: bool, scratch: Scratch
) -> None:
    """Set the index of all arms to -infinity but the competitive ones and the best significant."""
    n_arms, best = own.pulls.size, -np.inf
    for i in range(n_significant):
        best = max(best, own.means[scratch.listed[i]])
    n_open = 0
    for arm in range(n_arms):
        n_open += own.loose[arm] & (own.least[arm] >= best) & (not bounds.unknown[arm])
    if n_open > 0 or changed:
        n_open = 0
        for arm in range(n_arms):
            matters = own.loose[arm] and own.least[arm] >= best
            outdated = not scratch.significant[own.given[arm]]
            if not bounds.unknown[arm] and (matters or outdated):
                own.least[arm], own.loose[arm] = np.inf, False
                scratch.open[n_open] = arm
                n_open += 1
        _find_least(own, bounds, n_open, n_significant, scratch)
    for arm in range(n_arms):
        leads = scratch.significant[arm] & (own.means[arm] == best)
        allowed = (own.least[arm] >= best) | bounds.unknown[arm] | leads
        scratch.value[arm] = scratch.value[arm] if allowed else -np.inf


@_inlined
def _is_due(own: _Trial, unknown: BoolArray, scratch: Scratch) -> bool:
    """Return whether several arms are open, and programs given a significant arm are due."""
    n_open, due = 0, False
    for arm in range(unknown.size):
        n_open += (scratch.value[arm] != -np.inf) and not unknown[arm]
        due |= scratch.significant[arm] and own.pulls[arm] >= own.next_solve[arm]
    return due and n_open > 1


@_inlined
def _find_least(
    own: _Trial, bounds: Bounds, n_open: int, n_significant: int, scratch: Scratch
) -> None:
    """Compute the least bounds of the open arms given the significant arms."""
    high = bounds.store.high
    for i in range(n_significant):
        k = scratch.listed[i]
        n = own.pulls[k]
        if n > 0:
            plain = bounds.sums[own.slot[k]]
            sums = _least_sums(k, plain, own, bounds.tightened, scratch.row)
            for position in range(n_open):
                arm = scratch.open[position]
                phi = sums[arm] / n
                phi = high if phi == np.inf else phi
                if phi < own.least[arm]:
                    own.least[arm], own.given[arm] = phi, k


@_inlined
def _has_room(arm: int, own: _Trial, bounds: Bounds) -> bool:
    """Reserve room for the sums given an arm; return False without its rows or without room."""
    if own.slot[arm] >= 0:
        return True
    slot, store = bounds.used[0], bounds.store
    if slot == len(bounds.sums):
        return False
    if bounds.rows.size:
        bounds.sums[slot] = 0
    else:
        if store.first[arm] < 0:
            return False
        bounds.sums[slot] = np.inf
        for position in range(store.first[arm], store.stop[arm]):
            bounds.sums[slot, store.arms[position]] = 0
    own.slot[arm] = slot
    bounds.used[0] = slot + 1
    return True


@_inlined
def _add_row(arm: int, j: int, reward: float, own: _Trial, bounds: Bounds, row: FloatArray) -> None:
    """Add the pseudo-rewards of a pull to the sums."""
    sums, rows, store = bounds.sums[own.slot[arm]], bounds.rows, bounds.store
    own_sum = sums[arm] + reward
    if rows.size:
        for other in range(sums.size):
            sums[other] += rows[arm, j, other]
    else:
        row[:] = store.high
        for entry in range(store.row_first[arm, j], store.row_stop[arm, j]):
            row[store.arms[store.first[arm] + store.positions[entry]]] = store.values[entry]
        for other in range(sums.size):
            sums[other] += row[other]
    sums[arm] = own_sum


@_inlined
def _add_vectors(arm: int, j: int, own: _Trial, tightened: Tightened) -> None:
    """Count a reward, and add the vectors of the pull to their sums."""
    own.counts[arm, j] += 1
    kept = own.kept[arm]
    if kept == 0:
        return
    least = tightened.least[kept]
    least[:] = np.inf
    for v in range(tightened.sums.shape[1]):
        vector, sums = tightened.vectors[kept, v, j], tightened.sums[kept, v]
        for other in range(least.size):
            total = sums[other] + vector[other]
            sums[other] = total
            least[other] = min(least[other], total)
    least[arm] = np.inf


@_inlined
def _least_sums(
    arm: int, sums: FloatArray, own: _Trial, tightened: Tightened, lowest: FloatArray
) -> FloatArray:
    """Return the sums given an arm; for one with vectors the least sums, in another array."""
    if own.kept.size == 0 or own.kept[arm] == 0:
        return sums
    least = tightened.least[own.kept[arm]]
    for other in range(sums.size):
        lowest[other] = min(sums[other], least[other])
    return lowest


@_inlined
def _compare(arm: int, significant: bool, own: _Trial, high: float, sums: FloatArray) -> None:
    """Compare the bounds given the arm pulled, sums over its pulls, with the least bounds."""
    n = own.pulls[arm]
    for other in range(sums.size):  # without branches, which lets the compiler vectorise it
        phi = sums[other] / n
        phi = high if phi == np.inf else phi
        least, was = own.least[other], own.given[other]
        low = phi <= least
        risen = (phi > least) & (was == arm)
        lowers = low & significant
        own.least[other] = phi if lowers | risen else least
        own.given[other] = arm if lowers else was
        own.loose[other] |= risen


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
def _next_reward(row: int, arm: int, own: _Trial, rewards: Rewards) -> tuple[float, int]:
    """Return a reward and its index, as `Stacks.take` and `ContinuousStacks.take` do."""
    n = own.taken[arm]
    own.taken[arm] += 1
    if rewards.drawn.size:
        reward = rewards.drawn[row, arm, n]
        return reward, np.searchsorted(rewards.cuts, reward, side="right")
    index, uniform = 0, _uniform_at(rewards.keys[row, arm], n)
    for j in range(rewards.thresholds.shape[1]):
        index += rewards.thresholds[arm, j] <= uniform
    return rewards.support[index], index


@_inlined
def _uniform_at(key: np.uint64, n: int) -> float:
    """Return the n-th uniform number of a key: see `cmab_gym.streams.uniforms_at`."""
    z = key + (np.uint64(n) + np.uint64(1)) * np.uint64(STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * UNIT


@_inlined
def _count_pull(arm: int, reward: float, own: _Trial) -> None:
    own.pulls[arm] += 1
    own.sums[arm] += reward
    own.means[arm] = own.sums[arm] / own.pulls[arm]


@_inlined
def _record(
    row: int, arm: int, reward: float, t: int, checkpoint: int, scores: Scores, index: FloatArray
) -> int:
    """Add a pull to the scores; return the position of the next checkpoint."""
    scores.regret[row, -1] += scores.gaps[arm]
    scores.best_arm_pulls[row, -1] += scores.best_arms[arm]
    scores.reward[row, -1] += reward
    if scores.last.size:
        scores.last[row, arm] = t
    if t == scores.checkpoints[checkpoint]:
        scores.regret[row, checkpoint] = scores.regret[row, -1]
        scores.best_arm_pulls[row, checkpoint] = scores.best_arm_pulls[row, -1]
        scores.reward[row, checkpoint] = scores.reward[row, -1]
        if scores.competitive.size:
            for each in range(index.size):
                scores.competitive[row, checkpoint] += index[each] > -np.inf
        checkpoint += 1
    return checkpoint
