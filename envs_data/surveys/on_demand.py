"""Compute pseudo-rewards given an arm when that arm is first pulled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab_gym.envs_data.surveys.methods import Method
from cmab_gym.envs_data.surveys.pooled import Pooled, Statistics
from cmab_gym.pseudo_rewards import check_mask_and_pad, masked_given
from cmab_gym.rows import ArmRows, LazyRows

_ARMS_TRIED = 4  # arms whose pseudo-rewards are searched together for one that is informative


class _Entries(Statistics):
    """Statistics of E entries of a table, each float64 (E,)."""

    def __init__(self, pooled: Pooled) -> None:
        self._pooled = pooled

    def resampled(self, resamples: int, seed: int) -> IntArray:
        """Return how often each user is drawn: see `Statistics.resampled`."""
        return self._pooled.resampled(resamples, seed)


class _GivenArm(_Entries):
    """All entries [l, k, j] given one arm k that at least one rating supports.

    Attributes:
        rewards: int64 (E,), j.
        arms: int64 (E,), l.
    """

    def __init__(self, pooled: Pooled, arm: int) -> None:
        super().__init__(pooled)
        n_rewards = pooled.support.size
        self._gave = pooled.gave_by_cell(slice(arm * n_rewards, (arm + 1) * n_rewards))
        self._pattern = self._gave @ pooled.of_users("ratings")
        self.arms = self._pattern.indices.astype(np.int64)
        self.rewards = np.repeat(np.arange(n_rewards), np.diff(self._pattern.indptr))

    def _pool(self, name: str, weights: IntArray | None = None) -> AnyArray:
        if name == "ratings" and weights is None:
            ratings: AnyArray = self._pattern.data
            return ratings
        gave = self._gave
        if weights is not None:
            gave = gave.copy()
            gave.data = weights[gave.indices].astype(np.float64)
        sums = gave @ self._pooled.of_users(name)
        if np.array_equal(sums.indices, self._pattern.indices):
            found: AnyArray = sums.data
            return found
        return np.asarray(sums.toarray()[self.rewards, self.arms])  # sums of 0 were left out


class _OfArm(_Entries):
    """The entries [l, k, j] of one arm l given some cells (k, j).

    Args:
        pooled: the ratings.
        arm: l.
        cells: int64 (E,), k R + j.
    """

    def __init__(self, pooled: Pooled, arm: int, cells: IntArray) -> None:
        super().__init__(pooled)
        self._own = pooled.column(arm)
        self._gave = pooled.gave_by_cell(cells)

    def _pool(self, name: str, weights: IntArray | None = None) -> AnyArray:
        own = self._own[name]
        sums: AnyArray = self._gave @ (own if weights is None else own * weights)
        return sums


@dataclass(frozen=True, eq=False)
class RatingsOnDemand:
    """The table of a survey with too many arms to be held whole.

    Args:
        training: the ratings of the training users.
        method: how upper bounds are computed from them.
        bounds: (low, high) of the rewards.
    """

    training: Pooled
    method: Method
    bounds: tuple[float, float]
    _made: dict[tuple[float, float, int], LazyRows] = field(default_factory=dict, repr=False)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the whole table, (K, K, R)."""
        return (self.training.n_arms, self.training.n_arms, self.training.support.size)

    def rows(self, mask: float, pad: float, mask_seed: tuple[int, ...]) -> LazyRows:
        """Return the rows of the table, masked and padded as by `mask_and_pad`.

        The same arguments return the same object, so that no row is computed twice.

        Args:
            mask: as for `mask_and_pad`.
            pad: the same.
            mask_seed: the seed of its generator.

        Raises:
            ValueError: mask or pad is out of range.
        """
        mask, pad = check_mask_and_pad(mask, pad)
        key = (mask, pad, mask_seed[0])
        if key not in self._made:
            self._made.clear()
            compute = partial(self._given, mask=mask, pad=pad, mask_seed=mask_seed)
            made = LazyRows(self.training.n_arms, self.training.support, self.bounds[1], compute)
            self._made[key] = made
        return self._made[key]

    def _given(self, arm: int, mask: float, pad: float, mask_seed: tuple[int, ...]) -> ArmRows:
        """Compute the rows given an arm."""
        entries = _GivenArm(self.training, arm)
        values = self._padded(entries, pad)
        known = (values < self.bounds[1]) & (entries.arms != arm)
        masked = self._mask(mask, mask_seed)
        if masked is not None:
            known &= ~masked(arm)[entries.arms, entries.rewards]
        return ArmRows(
            entries.rewards[known],
            entries.arms[known],
            values[known],
            not self._is_known(arm, pad, masked),
        )

    def _padded(self, entries: _Entries, pad: float) -> FloatArray:
        return np.minimum(self.method.of_entries(entries, self.bounds) + pad, self.bounds[1])

    def _mask(self, mask: float, mask_seed: tuple[int, ...]) -> Callable[[int], BoolArray] | None:
        """Return which entries given an arm are masked, as a function of the arm; None for none."""
        n_arms, n_rewards = self.training.n_arms, self.training.support.size
        n_masked = int(mask * n_arms)
        if n_masked == n_arms:
            return lambda arm: np.ones((n_arms, n_rewards), np.bool_)
        if n_masked:
            return lambda arm: masked_given(arm, n_arms, n_rewards, n_masked, mask_seed)
        return None

    def _is_known(self, arm: int, pad: float, masked: Callable[[int], BoolArray] | None) -> bool:
        """Return whether some pseudo-reward of an arm given another is below the largest reward."""
        training, n_rewards = self.training, self.training.support.size
        # No method gives a bound below the smallest rating behind it.
        if training.smallest_reward(arm) + pad >= self.bounds[1]:
            return False
        tried = np.zeros(training.n_arms, np.bool_)
        tried[arm] = True
        for user in training.raters(arm).tolist():
            rated = training.arms_of(user)
            rated = np.unique(rated[~tried[rated]])
            tried[rated] = True
            for first in range(0, rated.size, _ARMS_TRIED):
                given = rated[first : first + _ARMS_TRIED].astype(np.int64)
                cells = given[:, None] * n_rewards + np.arange(n_rewards)
                values = self._padded(_OfArm(training, arm, cells.ravel()), pad)
                informative = values.reshape(cells.shape) < self.bounds[1]
                for k, own in zip(given.tolist(), informative, strict=True):
                    if own.any() and (masked is None or not masked(k)[arm, own].all()):
                        return True
        return False
