"""`Split`: the training users, who are surveyed, and the test users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, IntArray

SPLITS = ("heavy-users", "random", "by-time")


@dataclass(frozen=True)
class Split:
    """Order the users, and take the shortest prefix that holds more than a share of the ratings.

    Args:
        train_share: share of the ratings that training users gave, from 0 to below 1.
        order: the order of the users: "heavy-users", most ratings first, as in the paper;
            "random"; or "by-time", the earliest first rating first.
        seed: seed of the order "random".

    Raises:
        ValueError: an argument is unknown or out of range.

    Examples:
        Of 6 ratings, user 1 gave 3: half of them, not more. So user 0 is added.

        >>> Split(0.5).training_users(np.array([0, 0, 1, 1, 1, 2])).tolist()
        [True, True, False]

    Source: Section 5.1 of the paper.
    """

    train_share: float = 0.5
    order: str = "heavy-users"
    seed: int = 0

    def __post_init__(self) -> None:
        remedy = "it is a share of the ratings"
        share = checks.number_between("train_share", self.train_share, 0, 1, remedy)
        object.__setattr__(self, "train_share", share)
        checks.choice("split", self.order, SPLITS)
        object.__setattr__(self, "seed", checks.whole_number("split_seed", self.seed, 0))

    def training_users(self, user: IntArray, times: IntArray | None = None) -> BoolArray:
        """Choose the training users.

        Args:
            user: int64 (N,), the user of each rating, from 0 to U - 1; ties are broken by user.
            times: int64 (N,), when each rating was made; needed by "by-time".

        Returns:
            bool (U,), whether each user is a training user.

        Raises:
            ValueError: no user would be left for the test, or times are needed but missing or
                all equal.
        """
        counts = np.bincount(user)
        order = self._ordered(user, counts, times)
        held = np.cumsum(counts[order])
        # Exact for shares such as 0.5: share * total is compared with integers.
        n_train = int(np.searchsorted(held, self.train_share * held[-1], side="right")) + 1
        if n_train >= counts.size:
            raise ValueError(
                f"train_share={self.train_share:g} leaves none of {counts.size} users for the "
                "test: expected a smaller share"
            )
        trains = np.zeros(counts.size, dtype=np.bool_)
        trains[order[:n_train]] = True
        return trains

    def _ordered(self, user: IntArray, counts: IntArray, times: IntArray | None) -> IntArray:
        if self.order == "random":
            return default_rng(self.seed).permutation(counts.size)
        if self.order == "heavy-users":
            return np.argsort(-counts, kind="stable")
        if times is None:
            raise ValueError(
                "split='by-time' without times: expected ratings with times; name their column by "
                "time=, or use another split"
            )
        if times.min() == times.max():
            raise ValueError(
                f"split='by-time': all times are {times[0]}: expected different ones; use another "
                "split"
            )
        first = np.full(counts.size, np.iinfo(np.int64).max)
        np.minimum.at(first, user, times)
        return np.argsort(first, kind="stable")
