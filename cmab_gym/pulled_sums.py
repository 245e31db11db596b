"""Sums of pseudo-rewards over the pulls of each arm, kept only for arms that were pulled."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.competitive import empirical_pseudo_rewards, least_bounds
from cmab_gym.rows import DenseRows, LazyRows, PseudoRewardRows
from cmab_gym.state import Stateful

_PART = 1 << 16  # count of bounds that are computed together


class PulledSums(Stateful, ABC):
    """The pseudo-rewards of all arms, summed over the pulls of each arm, in B trials.

    Shapes: arms, rewards and their indices (B,); pulls and significant (B, K), of the history.
    """

    @abstractmethod
    def add(self, arms: IntArray, index: IntArray, rewards: FloatArray | None) -> None:
        """Add a pull in each trial; `rewards` replace the arm's own entry, None keeps it."""

    @abstractmethod
    def phi_given(self, arms: IntArray, pulls: IntArray) -> FloatArray:
        """Return phi of all arms given one arm of each trial, which was pulled, (B, K)."""

    @abstractmethod
    def phi(self, pulls: IntArray) -> FloatArray:
        """Return phi of all arms given all arms, (B, K, K) as [b, l, k]; infinity without a pull.

        Raises:
            ValueError: the problem's rows are computed on demand, and there are too many arms.
        """

    @abstractmethod
    def bounds(self, pulls: IntArray, significant: BoolArray) -> FloatArray:
        """Return the least phi of each arm given a significant arm, (B, K)."""

    @abstractmethod
    def least_sum(self, pulls: IntArray, widths: FloatArray, high: float) -> FloatArray:
        """Return the least phi + width over the arms given that were pulled, (B, K).

        Args:
            pulls: as in the history.
            widths: (B, K), of the arm given.
            high: phi of at least this are left out.
        """

    @abstractmethod
    def least(
        self,
        trial: IntArray,
        arm: IntArray,
        pulls: IntArray,
        significant: BoolArray,
        tight: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Find the least phi of some arms given a significant arm.

        Args:
            trial: int64 (n,), increasing.
            arm: int64 (n,).
            pulls: as in the history, after the first pull.
            significant: the same.
            tight: (B, K, K), other bounds as [b, k, l] of arm l given arm k; None for none.

        Returns:
            The bounds, float64 (n,), and an arm k of each minimum, int64 (n,).
        """


class DenseSums(PulledSums):
    """Sums of all K entries for each arm that was pulled, O(arms pulled x K) a trial.

    Args:
        rows: float64 (K, R, K), as [k, j, l].
        trials: B.
    """

    _changing = ("_slot", "_pulled", "_n_pulled", "_n_slots", "_sums")

    def __init__(self, rows: FloatArray, trials: int) -> None:
        n_arms = len(rows)
        self._rows = rows
        self._trial = np.arange(trials)
        self._slot = np.full((trials, n_arms), -1)  # the row of `_sums`
        # The arms pulled in the order of their first pulls; then the first one, repeated.
        self._pulled: IntArray = np.empty((trials, 0), dtype=np.int64)
        self._n_pulled = np.zeros(trials, dtype=np.int64)
        self._n_slots = 0
        self._sums = np.empty((min(n_arms, 4) * trials, n_arms))

    def add(self, arms: IntArray, index: IntArray, rewards: FloatArray | None) -> None:
        """Add a pull in each trial: see `PulledSums.add`."""
        row = self._rows[arms, index]
        if rewards is not None:
            row[self._trial, arms] = rewards
        slot = self._slot[self._trial, arms]
        if slot.min() < 0:
            self._open(np.flatnonzero(slot < 0), arms)
            slot = self._slot[self._trial, arms]
        self._sums[slot] += row

    def phi_given(self, arms: IntArray, pulls: IntArray) -> FloatArray:
        """Return phi given one arm of each trial: see `PulledSums.phi_given`."""
        given: FloatArray = self._sums[self._slot[self._trial, arms]]
        given /= pulls[self._trial, arms][:, None]
        return given

    def phi(self, pulls: IntArray) -> FloatArray:
        """Return phi: see `PulledSums.phi`."""
        trials, n_arms = self._slot.shape
        sums = np.zeros((trials, n_arms, n_arms))
        pulled = self._slot >= 0
        sums[pulled] = self._sums[self._slot[pulled]]
        return empirical_pseudo_rewards(sums, pulls)

    def bounds(self, pulls: IntArray, significant: BoolArray) -> FloatArray:
        """Return the least phi of each arm: see `PulledSums.bounds`."""
        return least_bounds(self.phi(pulls), significant)

    def least_sum(self, pulls: IntArray, widths: FloatArray, high: float) -> FloatArray:
        """Return the least phi + width of each arm: see `PulledSums.least_sum`."""
        pulled, n_arms = self._pulled, self._rows.shape[0]
        least = np.full((self._trial.size, n_arms), np.inf)
        part = max(1, _PART // max(1, pulled.shape[1] * n_arms))  # trials that fit in the cache
        for first in range(0, self._trial.size if pulled.size else 0, part):
            own = self._trial[first : first + part]
            of = pulled[own]
            phi = self._sums[self._slot[own[:, None], of]]
            phi /= pulls[own[:, None], of][:, :, None]
            np.putmask(phi, phi >= high, np.inf)
            phi += widths[own[:, None], of][:, :, None]
            phi.min(axis=1, out=least[own[0] : own[-1] + 1])
        return least

    def least(
        self,
        trial: IntArray,
        arm: IntArray,
        pulls: IntArray,
        significant: BoolArray,
        tight: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Find the least phi of some arms: see `PulledSums.least`."""
        least, given = np.empty(trial.size), np.empty(trial.size, dtype=np.int64)
        pulled, rows = self._pulled, self._trial[:, None]
        slots, divisor = self._slot[rows, pulled], pulls[rows, pulled]
        excluded = np.where(significant[rows, pulled], 0.0, np.inf)
        # In parts to limit the memory: many arms stop being significant at once when t passes a
        # multiple of K.
        part = max(1, _PART // max(1, pulled.shape[1]))
        for first in range(0, trial.size, part):
            some = slice(first, first + part)
            own, of = trial[some], arm[some]
            phi = self._sums[slots[own], of[:, None]]
            phi /= divisor[own]
            if tight is not None:
                np.minimum(phi, tight[own[:, None], pulled[own], of[:, None]], out=phi)
            phi += excluded[own]
            position = phi.argmin(axis=1)
            least[some] = phi[np.arange(own.size), position]
            given[some] = pulled[own, position]
        return least, given

    def _open(self, trials: IntArray, arms: IntArray) -> None:
        """Make room for the sums of arms that were not pulled before in some of the trials."""
        needed = self._n_slots + trials.size
        if needed > len(self._sums):
            grown = np.empty((max(needed, len(self._sums) * 3 // 2), self._sums.shape[1]))
            grown[: self._n_slots] = self._sums[: self._n_slots]
            self._sums = grown
        self._sums[self._n_slots : needed] = 0
        self._slot[trials, arms[trials]] = np.arange(self._n_slots, needed)
        self._n_slots = needed
        position = self._n_pulled[trials]
        if position.max() == self._pulled.shape[1]:
            first = self._pulled[:, :1] if position.max() else arms[:, None]
            self._pulled = np.append(self._pulled, first, axis=1)
        self._pulled[trials, position] = arms[trials]
        self._n_pulled[trials] += 1


class SparseSums(PulledSums):
    """Sums of the entries below the largest reward, for rows that are computed on demand.

    Args:
        rows: the rows.
        high: the largest reward, the value of every other entry.
        trials: B.
    """

    _changing = ("_of",)

    def __init__(self, rows: LazyRows, high: float, trials: int) -> None:
        self._rows, self._high, self._shape = rows, high, (trials, rows.n_arms)
        # By trial and arm pulled: the arms about which that arm says anything, and their sums.
        self._of: list[dict[int, tuple[IntArray, FloatArray]]] = [{} for _ in range(trials)]

    def add(self, arms: IntArray, index: IntArray, rewards: FloatArray | None) -> None:
        """Add a pull in each trial: see `PulledSums.add`; the own entry is the reward."""
        for own, arm, reward in zip(self._of, arms.tolist(), index.tolist(), strict=True):
            known, values = self._rows.known(arm, reward)
            if arm in own:
                own[arm][1][:] += values
            else:
                own[arm] = known, values

    def phi_given(self, arms: IntArray, pulls: IntArray) -> FloatArray:
        """Return phi given one arm of each trial: see `PulledSums.phi_given`."""
        given = np.full(self._shape, self._high)
        for trial, arm in enumerate(arms.tolist()):
            known, sums = self._of[trial][arm]
            given[trial, known] = sums / pulls[trial, arm]
        return given

    def phi(self, pulls: IntArray) -> FloatArray:
        """Refuse: see `PulledSums.phi`."""
        return self._rows.table("phi")

    def bounds(self, pulls: IntArray, significant: BoolArray) -> FloatArray:
        """Return the least phi of each arm: see `PulledSums.bounds`."""
        bounds = np.full(self._shape, np.inf)
        for trial, own in enumerate(self._of):
            for arm, (known, sums) in own.items():
                if significant[trial, arm]:
                    np.minimum(bounds[trial], self._high, out=bounds[trial])
                    phi = sums / pulls[trial, arm]
                    bounds[trial, known] = np.minimum(bounds[trial, known], phi)
        return bounds

    def least_sum(self, pulls: IntArray, widths: FloatArray, high: float) -> FloatArray:
        """Return the least phi + width of each arm: see `PulledSums.least_sum`."""
        least = np.full(self._shape, np.inf)
        for trial, own in enumerate(self._of):
            for arm, (known, sums) in own.items():
                phi = sums / pulls[trial, arm]
                bound = np.where(phi < high, phi + widths[trial, arm], np.inf)
                least[trial, known] = np.minimum(least[trial, known], bound)
        return least

    def least(
        self,
        trial: IntArray,
        arm: IntArray,
        pulls: IntArray,
        significant: BoolArray,
        tight: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Find the least phi of some arms: see `PulledSums.least`."""
        least, given = np.full(trial.size, np.inf), np.zeros(trial.size, dtype=np.int64)
        for own in np.unique(trial).tolist():
            cells = slice(*np.searchsorted(trial, [own, own + 1]))
            wanted, lowest, of = arm[cells], least[cells], given[cells]
            for k, (known, sums) in self._of[own].items():
                if significant[own, k]:
                    position = np.searchsorted(known, wanted).clip(max=known.size - 1)
                    phi = np.where(
                        known[position] == wanted, sums[position] / pulls[own, k], self._high
                    )
                    np.copyto(of, k, where=phi < lowest)
                    np.minimum(lowest, phi, out=lowest)
        return least, given


def pulled_sums(rows: PseudoRewardRows, high: float, trials: int) -> PulledSums:
    """Return the sums for the rows of a problem, before the first pull.

    Args:
        rows: the rows.
        high: the largest reward.
        trials: B.
    """
    if isinstance(rows, LazyRows):
        return SparseSums(rows, high, trials)
    assert isinstance(rows, DenseRows)  # noqa: S101 (there are two kinds)
    return DenseSums(rows.rows, trials)
