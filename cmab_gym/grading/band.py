"""Bands: is the regret of a submission that of the reference, up to chance?

If a submission does what the reference does, its trials and the reference's are exchangeable: any
division of all of them into two groups of these sizes is equally likely. So the mean regret of the
submission is compared with that of groups drawn at random from all trials (a permutation test).
Whatever the distribution of the regret, the probability that a correct submission is outside the
band is at most `FALSE_ALARMS`, on all tests of an assignment together (Bonferroni).

Source: B. Phipson and G. K. Smyth, "Permutation p-values should never be zero" (2010), for counting
the group observed as one of those drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.grading.assignment import Assignment

FALSE_ALARMS = 1e-3  # the most correct submissions that lose points by chance
REFERENCE_TRIALS = 200
GROUPS = 99_999  # drawn at random
_CHUNK = 10_000


def checkpoints(rounds: int) -> tuple[int, ...]:
    """Return the rounds after which regret is compared."""
    return tuple(sorted({max(rounds // 10, 1), rounds}))


def share_of(assignment: Assignment) -> float:
    """Return the probability of a false alarm that each comparison of an assignment may have."""
    return FALSE_ALARMS / (len(assignment.instances) * len(checkpoints(assignment.rounds)))


@dataclass(frozen=True)
class Band:
    """The mean regrets that chance explains.

    Args:
        mean: that of the submission.
        low, high: the band, both included; low is -infinity if only large regret is wrong.
        reference: the mean of the reference.
    """

    mean: float
    low: float
    high: float
    reference: float

    @property
    def inside(self) -> bool:
        """Whether chance explains the regret."""
        return self.low <= self.mean <= self.high


def band(
    own: FloatArray,
    reference: FloatArray,
    share: float,
    both_sides: bool,
    groups: int = GROUPS,
) -> Band:
    """Compare the regret of a submission with that of the reference.

    Args:
        own: float64 (n,), of the submission's trials.
        reference: float64 (N,), of other trials with the reference.
        share: the probability of a false alarm that this comparison may have.
        both_sides: whether regret that is too small is wrong, too.
        groups: how many groups are drawn.

    Raises:
        ValueError: `share` is too small for the number of groups that are drawn.
    """
    every = np.concatenate([own, reference])
    # Rounding errors must not decide between groups with equal means.
    means = np.sort(every[_groups(own.size, every.size, groups)].mean(axis=1)).round(9)
    # The group observed counts as one: outside are at most `beyond` of all others.
    beyond = int(share / (2 if both_sides else 1) * (groups + 1)) - 1
    if beyond < 0:
        raise ValueError(f"share={share}: expected at least {2 / (groups + 1)}; use fewer tests")
    low = float(means[beyond]) if both_sides else -np.inf
    return Band(float(own.mean().round(9)), low, float(means[-1 - beyond]), float(reference.mean()))


@cache
def _groups(size: int, total: int, groups: int) -> IntArray:
    """Draw groups of `size` out of `total`, integers (groups, size)."""
    rng = np.random.default_rng(0)
    chunks = [
        rng.random((min(_CHUNK, groups - start), total)).argpartition(size - 1)[:, :size]
        for start in range(0, groups, _CHUNK)
    ]
    return np.concatenate(chunks).astype(np.int16 if total < 2**15 else np.int64)
