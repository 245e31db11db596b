"""`PseudoRewardRows`: a table of pseudo-rewards, held whole or computed row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray, frozen, read_only

LARGEST_TABLE = 64 * 2**20  # bytes; a larger table is neither computed nor copied whole


class PseudoRewardRows(ABC):
    """The rows of a table of pseudo-rewards: s_{l,k}(r_j) of all arms l, for one k and one j.

    Attributes:
        n_arms: K.
        n_rewards: R.
        unknown: bool (K,), read-only: the arms whose pseudo-rewards given every other arm are the
            largest reward. A table that is computed row by row marks an arm when its rows are read.
    """

    n_arms: int
    n_rewards: int
    unknown: BoolArray

    @abstractmethod
    def of(self, arm: int, reward: int) -> FloatArray:
        """Return the pseudo-rewards of all arms for one pull, float64 (K,), read-only.

        Args:
            arm: k, the arm pulled.
            reward: j, the index of its reward.
        """

    def of_each(self, arms: IntArray, rewards: IntArray) -> FloatArray:
        """Return the rows of n pulls, float64 (n, K), a copy.

        Args:
            arms: int64 (n,).
            rewards: int64 (n,), the indices of their rewards.
        """
        return np.stack(
            [self.of(*pull) for pull in zip(arms.tolist(), rewards.tolist(), strict=True)]
        )

    @abstractmethod
    def table(self, caller: str = "this") -> FloatArray:
        """Return the whole table, float64 (K, K, R) as [l, k, j], read-only.

        Args:
            caller: what needs it, for the error.

        Raises:
            ValueError: the table is computed row by row, since it is larger than `LARGEST_TABLE`.
        """

    @property
    def is_small(self) -> bool:
        """Whether the table is held whole and takes at most `LARGEST_TABLE` bytes."""
        return False


class DenseRows(PseudoRewardRows):
    """A table that is held whole.

    Args:
        table: float64 (K, K, R), pseudo-rewards [l, k, j]; copied.
        high: the largest reward.

    Attributes:
        rows: float64 (K, R, K), a view of the table as [k, j, l].
    """

    def __init__(self, table: ArrayLike, high: float) -> None:
        self._table = stored(table)
        self.rows = pseudo_reward_rows(self._table)
        self.n_arms, self.n_rewards = self._table.shape[1:]
        informative = self._table.min(axis=2) < high
        np.fill_diagonal(informative, False)
        self.unknown = frozen(~informative.any(axis=1))

    @property
    def is_small(self) -> bool:
        """Whether the table takes at most `LARGEST_TABLE` bytes, so that it may be copied."""
        return is_small(self.n_arms, self.n_rewards)

    def of(self, arm: int, reward: int) -> FloatArray:
        """Return the pseudo-rewards of all arms for one pull: see `PseudoRewardRows.of`."""
        row: FloatArray = self.rows[arm, reward]
        return row

    def of_each(self, arms: IntArray, rewards: IntArray) -> FloatArray:
        """Return the rows of n pulls: see `PseudoRewardRows.of_each`."""
        return self.rows.reshape(-1, self.n_arms).take(arms * self.n_rewards + rewards, axis=0)

    def table(self, caller: str = "this") -> FloatArray:
        """Return the whole table, however large."""
        return self._table


class ArmRows(NamedTuple):
    """The entries given one arm that are below the largest reward.

    Args:
        rewards: int64 (E,), the index j of each entry, increasing.
        arms: int64 (E,), its arm l, increasing for each j.
        values: float64 (E,), s_{l,k}(r_j).
        unknown: whether this arm's pseudo-rewards given every other arm are the largest reward.
    """

    rewards: IntArray
    arms: IntArray
    values: FloatArray
    unknown: bool


class SparseStore(NamedTuple):
    """The rows read so far, as arrays that a compiled loop can read.

    Args:
        first, stop: int64 (K,), where the arms about which arm k says anything, and k itself, begin
            and end in `arms`; -1 if no row given k was read.
        arms: int32 (C,), increasing for each k.
        row_first, row_stop: int64 (K, R), where the entries of a row begin and end.
        positions: int32 (E,), of each entry's arm among those of k.
        values: float64 (E,).
        high: the largest reward, the value of every other entry.
    """

    first: IntArray
    stop: IntArray
    arms: AnyArray
    row_first: IntArray
    row_stop: IntArray
    positions: AnyArray
    values: FloatArray
    high: float

    @classmethod
    def empty(cls) -> SparseStore:
        """Return the store of no arms."""
        arms, rows = np.empty(0, np.int64), np.empty((0, 0), np.int64)
        small = np.empty(0, np.int32)
        return cls(arms, arms, small, rows, rows, small, np.empty(0), 0.0)


class LazyRows(PseudoRewardRows):
    """A table whose rows given an arm are computed when the first of them is read, and then kept.

    Only entries below the largest reward are kept, a small part of those of a large catalogue.

    Args:
        n_arms: K.
        rewards: float64 (R,), the rewards r_j; the entries [k, k, j].
        high: the largest reward.
        compute: returns the entries given an arm, without its own.
    """

    def __init__(
        self, n_arms: int, rewards: FloatArray, high: float, compute: Callable[[int], ArmRows]
    ) -> None:
        self.n_arms, self.n_rewards = n_arms, rewards.size
        self._rewards, self._high, self._compute = rewards, high, compute
        self._unknown = np.zeros(n_arms, np.bool_)
        self.unknown = self._unknown.view()
        self.unknown.flags.writeable = False
        self._first, self._stop = np.full((2, n_arms), -1)
        self._row_first, self._row_stop = np.full((2, n_arms, rewards.size), -1)
        self._arms = _Buffer(np.int32)
        self._positions, self._values = _Buffer(np.int32), _Buffer(np.float64)

    def of(self, arm: int, reward: int) -> FloatArray:
        """Return the pseudo-rewards of all arms for one pull: see `PseudoRewardRows.of`."""
        arms, values = self.known(arm, reward)
        row = np.full(self.n_arms, self._high)
        row[arms] = values
        row.flags.writeable = False
        return row

    def known(self, arm: int, reward: int) -> tuple[IntArray, FloatArray]:
        """Return the arms about which an arm says anything, and their entries of one row."""
        self.read(arm)
        arms = self._arms.values[self._first[arm] : self._stop[arm]]
        entries = slice(self._row_first[arm, reward], self._row_stop[arm, reward])
        values = np.full(arms.size, self._high)
        values[self._positions.values[entries]] = self._values.values[entries]
        return arms, values

    def read(self, arm: int) -> int:
        """Compute the rows given an arm if that was not done, and return the size of `known`."""
        if self._first[arm] < 0:
            self._keep(arm, self._compute(arm))
        return int(self._stop[arm] - self._first[arm])

    def _keep(self, arm: int, found: ArmRows) -> None:
        own = np.arange(self.n_rewards)
        rewards, arms = np.append(found.rewards, own), np.append(found.arms, np.full(own.size, arm))
        order = np.argsort(rewards * self.n_arms + arms)
        is_known = np.zeros(self.n_arms, np.bool_)
        is_known[arms] = True
        position = np.cumsum(is_known) - 1
        stops = self._values.size + np.searchsorted(rewards[order], own, side="right")
        self._row_stop[arm] = stops
        self._row_first[arm] = np.append(self._values.size, stops[:-1])
        self._first[arm], self._stop[arm] = self._arms.append(np.flatnonzero(is_known))
        self._positions.append(position[arms[order]])
        self._values.append(np.append(found.values, self._rewards)[order])
        self._unknown[arm] = found.unknown

    @property
    def store(self) -> SparseStore:
        """The rows read so far; `read` may replace the arrays."""
        return SparseStore(
            self._first,
            self._stop,
            self._arms.values,
            self._row_first,
            self._row_stop,
            self._positions.values,
            self._values.values,
            self._high,
        )

    def table(self, caller: str = "this") -> FloatArray:
        """Refuse: see `PseudoRewardRows.table`."""
        raise too_large(caller, self.n_arms, self.n_rewards)


def is_small(n_arms: int, n_rewards: int) -> bool:
    """Return whether a whole table of this size takes at most `LARGEST_TABLE` bytes."""
    return 8 * n_arms**2 * n_rewards <= LARGEST_TABLE


def too_large(caller: str, n_arms: int, n_rewards: int) -> ValueError:
    """Return the error for a caller that needs a whole table that is too large.

    Args:
        caller: what needs it.
        n_arms: K.
        n_rewards: R.
    """
    most = int((LARGEST_TABLE / (8 * n_rewards)) ** 0.5)
    return ValueError(
        f"{caller} needs the whole table of {n_arms:,} arms and {n_rewards} rewards, "
        f"{8 * n_arms**2 * n_rewards / 2**20:,.0f} MB: expected at most "
        f"{LARGEST_TABLE // 2**20} MB, which is {most:,} arms; choose fewer arms"
    )


def pseudo_reward_rows(table: FloatArray) -> FloatArray:
    """Return a table [l, k, j] as (K, R, K): [k, j] holds s_lk(r_j) for every arm l.

    The tables of a `BanditProblem` are returned as views, since a copy would take much memory when
    there are many arms.

    Args:
        table: float64 (K, K, R), pseudo-rewards or pseudo-lower bounds.
    """
    return np.ascontiguousarray(table.transpose(1, 2, 0))


def stored(table: ArrayLike) -> FloatArray:
    """Copy a table [l, k, j], read-only, in the memory layout of `pseudo_reward_rows`."""
    table = np.asarray(table)
    if table.ndim != 3:
        return read_only(table)
    copied: FloatArray = read_only(table.transpose(1, 2, 0)).transpose(2, 0, 1)
    return copied


class _Buffer:
    """A growing array.

    Attributes:
        values: the array; entries from `size` on are not used.
        size: entries in use.
    """

    def __init__(self, dtype: type[np.generic]) -> None:
        self.values: AnyArray = np.empty(1024, dtype)
        self.size = 0

    def append(self, values: AnyArray) -> tuple[int, int]:
        """Append values, and return where they begin and end."""
        start, stop = self.size, self.size + values.size
        if stop > self.values.size:
            grown = np.empty(max(stop, self.values.size * 5 // 4), self.values.dtype)
            grown[:start] = self.values[:start]
            self.values = grown
        self.values[start:stop] = values
        self.size = stop
        return start, stop
