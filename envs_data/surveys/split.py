"""`Split`: the training users, who are surveyed, and the test users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, BoolArray, IntArray

SPLITS = ("heavy-users", "heavy-users-smaller-ids", "random", "by-time")


def segment_name(segment: Any) -> str:
    """Return the name of a segment as text.

    Raises:
        ValueError: it is neither text nor an integer.
    """
    if not isinstance(segment, str | int | np.integer):
        raise ValueError(f"segment={segment!r}: expected the name of one segment")
    return str(segment)


@dataclass(frozen=True)
class Split:
    """Order the users, and take the shortest prefix that holds more than a share of the ratings.

    Or, with a segment, take the users of all other segments, so that it is a new population.

    Args:
        train_share: share of the ratings that training users gave, from 0 to below 1.
        order: the order of the users: "heavy-users", most ratings first, as in the paper, and the
            larger id first among users with equally many; "heavy-users-smaller-ids", the same
            with the smaller id first; "random"; or "by-time", the earliest first rating first.
        seed: seed of the order "random". Errors call order and seed `split` and `split_seed`, as
            the environments do.
        segment: the name of the segment of the test users; 7 and "7" are the same; "" for none.

    Raises:
        ValueError: an argument is unknown or out of range, or a segment comes with another one.

    Examples:
        Of 6 ratings, user 1 gave 3: half of them, not more. So user 0 is added.

        >>> Split(0.5).training_users(np.array([0, 0, 1, 1, 1, 2])).tolist()
        [True, True, False]

    Source: Section 6.1 of the paper. It does not give the order of equal users; with the larger id
    first, UCB and TS have the regret of its figure 11.
    """

    train_share: float = 0.5
    order: str = "heavy-users"
    seed: int = 0
    segment: str = ""

    def __post_init__(self) -> None:
        remedy = "it is a share of the ratings"
        share = checks.number_between("train_share", self.train_share, 0, 1, remedy)
        object.__setattr__(self, "train_share", share)
        checks.choice("split", self.order, SPLITS)
        object.__setattr__(self, "seed", checks.whole_number("split_seed", self.seed, 0))
        object.__setattr__(self, "segment", segment_name(self.segment))
        if self.segment and (share, self.order, self.seed) != (0.5, "heavy-users", 0):
            raise ValueError(
                f"segment={self.segment!r} with train_share={share:g}, split={self.order!r}, "
                f"split_seed={self.seed}: expected only segment, which decides who is surveyed; "
                "leave the others out"
            )

    @property
    def described(self) -> dict[str, Any]:
        """What decides who is surveyed, as values of JSON."""
        if self.segment:
            return {"segment": self.segment}
        return {"train_share": self.train_share, "order": self.order, "seed": self.seed}

    def training_users(
        self, user: IntArray, times: IntArray | None = None, segments: AnyArray | None = None
    ) -> BoolArray:
        """Choose the training users.

        Args:
            user: int64 (N,), the user of each rating, from 0 to U - 1 in the order of their ids.
            times: int64 (N,), when each rating was made; needed by "by-time".
            segments: (U,), the name of the segment of each user; needed with a segment.

        Returns:
            bool (U,), whether each user is a training user.

        Raises:
            ValueError: no user would be left for the test, times are needed but missing or all
                equal, or the segment is unknown or that of all users.
        """
        if self.segment:
            return self._others(segments)
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

    def _others(self, segments: AnyArray | None) -> BoolArray:
        if segments is None:
            raise ValueError(
                f"segment={self.segment!r} without the segments of users: expected MovieLens 1M, "
                "whose users.dat has them, or name the column that holds them by segment_by="
            )
        names, sizes = np.unique(segments, return_counts=True)
        if self.segment not in names:
            known = ", ".join(
                f"{name} ({size})" for name, size in zip(names, sizes, strict=True) if name
            )
            raise ValueError(
                f"unknown segment {self.segment!r}: expected one of (users) {known[:1000]}"
            )
        if names.size == 1:
            raise ValueError(
                f"segment={self.segment!r} is that of all {segments.size} users: expected users of "
                "other segments, to be surveyed"
            )
        others: BoolArray = segments != self.segment
        return others

    def _ordered(self, user: IntArray, counts: IntArray, times: IntArray | None) -> IntArray:
        if self.order == "random":
            return default_rng(self.seed).permutation(counts.size)
        if self.order == "heavy-users":
            return np.argsort(counts, kind="stable")[::-1]
        if self.order == "heavy-users-smaller-ids":
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
