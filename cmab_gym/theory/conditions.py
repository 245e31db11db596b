"""Conditions on models and rounds under which a bound holds, and the error if one does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.models.base import BanditModel


class NoBoundError(ValueError):
    """A bound does not hold, or cannot be computed, for a model; the message says why."""


def check_finite_support(model: BanditModel) -> None:
    """Refuse a model with continuous rewards.

    Raises:
        NoBoundError: the rewards are continuous.
    """
    if model.problem.reward_edges is not None:
        raise NoBoundError("the rewards are continuous: this bound needs finitely many rewards")


def check_unique_best_arm(model: BanditModel) -> None:
    """Refuse a model with more than one best arm.

    Raises:
        NoBoundError: two arms have the largest mean.
    """
    best = np.flatnonzero(model.best_arms)
    if best.size > 1:
        raise NoBoundError(f"arms {best[0]} and {best[1]} are both best: the bound needs one")


def checked_rounds(rounds: ArrayLike) -> FloatArray:
    """Return numbers of rounds T, of any shape, as float64.

    Raises:
        ValueError: a T is not a number from 1 to 1e100.
    """
    at = checks.numbers("rounds", rounds)
    if not ((at >= 1) & (at <= checks.LARGEST)).all():  # NaN is not
        raise ValueError(f"rounds={rounds!r}: expected numbers from 1 to {checks.LARGEST:g}")
    return at
