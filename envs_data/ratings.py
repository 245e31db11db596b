"""`Ratings`: a table of the ratings that users gave items."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray

_DENSE = 2  # integer ids that span at most this many times their count are counted, not sorted


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """A table of ratings, one row each, and what is known about the items.

    Users and items are stored as positions in `user_ids` and `item_ids`, never as bare ids.

    Args:
        users: int64 (N,), the user of each rating: a position in user_ids.
        items: int64 (N,), the item of each rating: a position in item_ids.
        stars: float64 (N,), the ratings.
        user_ids: (U,), the ids of the users in the source, sorted.
        item_ids: (I,), the ids of the items in the source, sorted.
        titles: item id to title.
        genres: item id to its genres; empty where the source has none.
        segments: (U,), the name of the segment to which each user belongs, "" where it is unknown;
            None where the source does not say.
        times: int64 (N,), when each rating was made; None where the source does not say.
        source: the name of the data set.
        file: the name of the file it was read from, if it was found in a folder or archive.
        checksum: SHA-256 of the file or archive.
        notes: counts of the rows left out on reading ("unrated", "duplicates", "damaged").

    Raises:
        ValueError: the columns differ in length or are empty, or a rating is not finite or its size
            is above 1e100.
    """

    users: IntArray
    items: IntArray
    stars: FloatArray
    user_ids: AnyArray
    item_ids: AnyArray
    titles: Mapping[Any, str] = field(default_factory=dict)
    genres: Mapping[Any, tuple[str, ...]] = field(default_factory=dict)
    segments: AnyArray | None = None
    times: IntArray | None = None
    source: str = ""
    file: str = ""
    checksum: str = ""
    notes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shapes = {name: getattr(self, name).shape for name in ("users", "items", "stars")}
        if self.times is not None:
            shapes["times"] = self.times.shape
        if len(set(shapes.values())) != 1 or self.stars.ndim != 1 or not self.stars.size:
            raise ValueError(f"ratings have columns {shapes}: expected one length, at least 1")
        if self.segments is not None and self.segments.shape != self.user_ids.shape:
            raise ValueError(
                f"segments has shape {self.segments.shape}: expected {self.user_ids.shape}, the "
                "name of the segment of each of user_ids"
            )
        checks.moderate("stars", self.stars, "correct these ratings, or drop their rows")

    @classmethod
    def from_columns(
        cls, users: ArrayLike, items: ArrayLike, stars: ArrayLike, **rest: Any
    ) -> Ratings:
        """Build ratings from columns of ids (N,), integers or strings.

        Args:
            users: ids of the users.
            items: ids of the items.
            stars: the ratings.
            rest: the other arguments of the class, by name.

        Raises:
            ValueError: as the class; or an id is neither an integer nor a string, or a rating is
                not a number.

        Examples:
            >>> ratings = Ratings.from_columns([20, 10, 20], ["b", "b", "a"], [4, 5, 1])
            >>> ratings
            <Ratings of unknown source: 3 ratings, 2 users, 2 items>
            >>> ratings.user_ids.tolist(), ratings.users.tolist()
            ([10, 20], [1, 0, 1])
        """
        user_ids, users = coded("user", users)
        item_ids, items = coded("item", items)
        return cls(users, items, checks.numbers("stars", stars), user_ids, item_ids, **rest)

    def __repr__(self) -> str:
        return (
            f"<Ratings of {self.source or 'unknown source'}: {self.stars.size:,} ratings, "
            f"{self.user_ids.size:,} users, {self.item_ids.size:,} items>"
        )

    def of_items(self, items: IntArray) -> Ratings:
        """Return only the ratings of the items at the given positions of item_ids."""
        items = np.sort(items)
        kept = np.isin(self.items, items)
        user_ids, users = np.unique(self.users[kept], return_inverse=True)
        return replace(
            self,
            users=users.astype(np.int64, copy=False),
            items=np.searchsorted(items, self.items[kept]),
            stars=self.stars[kept],
            user_ids=self.user_ids[user_ids],
            segments=None if self.segments is None else self.segments[user_ids],
            item_ids=self.item_ids[items],
            times=None if self.times is None else self.times[kept],
        )

    def rounded(self, to: ArrayLike) -> Ratings:
        """Replace each rating by the nearest of some numbers, the larger one of two.

        Ratings beyond the ends by more than half of the first or the last step are unchanged.

        Args:
            to: at least two numbers, increasing.

        Raises:
            ValueError: there are fewer than two, or they do not increase.

        Examples:
            >>> ratings = Ratings.from_columns([1, 1, 2], [7, 8, 7], [1.4, 2.5, 9.0])
            >>> ratings.rounded([1, 2, 3]).stars
            array([1., 3., 9.])
        """
        values = checks.increasing("round_to", to, at_least=2)
        cuts = (values[:-1] + values[1:]) / 2
        low, high = 2 * values[0] - cuts[0], 2 * values[-1] - cuts[-1]
        nearest = values[np.searchsorted(cuts, self.stars, side="right")]
        within = (self.stars >= low) & (self.stars <= high)
        return replace(self, stars=np.where(within, nearest, self.stars))

    def most_rated(self, n_items: int) -> IntArray:
        """Return the positions of the most rated items, most rated first, ties by id.

        Args:
            n_items: how many; all of them, if there are fewer.
        """
        counts = np.bincount(self.items, minlength=self.item_ids.size)
        return np.argsort(-counts, kind="stable")[:n_items]

    @cached_property
    def star_codes(self) -> tuple[FloatArray, IntArray]:
        """The different ratings, sorted, and the position of each rating among them."""
        values = np.unique(self.stars)
        return values, np.searchsorted(values, self.stars)

    def name_of(self, item: int) -> str:
        """Return the title of the item at a position of item_ids, or its id."""
        item_id = self.item_ids.item(item)
        title = self.titles.get(item_id)
        return title or (item_id if isinstance(item_id, str) else f"item {item_id}")


def coded(kind: str, ids: ArrayLike) -> tuple[AnyArray, IntArray]:
    """Return the sorted different ids, and the position of each id among them.

    Raises:
        ValueError: an id is missing, or is neither an integer nor a string.
    """
    ids = np.asarray(ids)
    if ids.dtype.kind in "iu":
        low, high = (int(ids.min()), int(ids.max())) if ids.size else (0, 0)
        if high - low <= _DENSE * ids.size:  # counted, which needs a fifth of the time of sorting
            offsets = ids - low
            occurs = np.bincount(offsets, minlength=1) > 0
            known = (np.flatnonzero(occurs) + low).astype(ids.dtype)
            return known, (np.cumsum(occurs) - 1)[offsets]
        known, positions = np.unique(ids, return_inverse=True)
        return known, positions.astype(np.int64, copy=False)
    import pandas as pd

    positions, known = pd.factorize(np.asarray(ids, dtype=object), use_na_sentinel=False)
    wrong = [each for each in known.tolist() if type(each) is not type(known[0])]
    wrong += [each for each in known[:1].tolist() if not isinstance(each, str)]
    if wrong:
        raise ValueError(
            f"{kind} id {wrong[0]!r} of type {type(wrong[0]).__name__}: expected integers, or "
            "strings alone; fill missing ids and convert, for example with .astype(int) or "
            ".astype(str)"
        )
    order = np.argsort(known.astype(str), kind="stable")
    return np.asarray(known)[order], np.argsort(order)[positions].astype(np.int64, copy=False)


def listed_ids(items: Iterable[Any]) -> tuple[Any, ...]:
    """Return a list of ids as a tuple.

    Raises:
        ValueError: it is not a list of ids, or it is empty.
    """
    ids = () if isinstance(items, str) or not isinstance(items, Iterable) else tuple(items)
    if not ids or not all(isinstance(each, Hashable) for each in ids):
        raise ValueError(f"items={items!r}: expected a list of ids, at least one")
    return ids


def positions_of(items: Iterable[Any], item_ids: AnyArray) -> IntArray:
    """Find items among the ids of a table; 7 and "7" are the same id.

    Raises:
        ValueError: there are no items, or one is not among the ids.
    """
    items = listed_ids(items)
    position = {str(item_id): i for i, item_id in enumerate(item_ids.tolist())}
    missing = [item for item in items if str(item) not in position]
    if missing:
        known = ", ".join(map(repr, item_ids[:5].tolist()))
        raise ValueError(f"item {missing[0]!r} has no rating: expected ids such as {known}")
    return np.array([position[str(item)] for item in items], dtype=np.int64)
