"""`Ratings`: who rated what, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """A table of ratings, one row each, and what is known of the items.

    Users and items are kept as positions in `user_ids` and `item_ids`, never as bare ids.

    Args:
        users: int64 (N,), the user of each rating: a position in user_ids.
        items: int64 (N,), the item of each rating: a position in item_ids.
        stars: float64 (N,), the ratings.
        user_ids: (U,), the users as the source numbers or names them, sorted.
        item_ids: (I,), the items likewise.
        titles: item id to title.
        genres: item id to its genres; empty where the source has none.
        times: int64 (N,), when each rating was made; None where the source does not say.
        source: what the data set is called.
        checksum: SHA-256 of the file it was read from.
        notes: counts of what was left out on reading ("unrated", "duplicates", "damaged").

    Raises:
        ValueError: the columns differ in length, are empty, or a rating is not finite.
    """

    users: IntArray
    items: IntArray
    stars: FloatArray
    user_ids: AnyArray
    item_ids: AnyArray
    titles: Mapping[Any, str] = field(default_factory=dict)
    genres: Mapping[Any, tuple[str, ...]] = field(default_factory=dict)
    times: IntArray | None = None
    source: str = ""
    checksum: str = ""
    notes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shapes = {name: getattr(self, name).shape for name in ("users", "items", "stars")}
        if self.times is not None:
            shapes["times"] = self.times.shape
        if len(set(shapes.values())) != 1 or self.stars.ndim != 1 or not self.stars.size:
            raise ValueError(f"ratings have columns {shapes}: expected one length, at least 1")
        checks.finite("stars", self.stars, "drop these rows, as by frame.dropna()")

    @classmethod
    def from_columns(
        cls, users: AnyArray, items: AnyArray, stars: FloatArray, **rest: Any
    ) -> Ratings:
        """Build ratings from columns of ids (N,), integers or strings.

        Args:
            users: ids of the users.
            items: ids of the items.
            stars: float64, the ratings.
            rest: as in the class.

        Raises:
            ValueError: as the class; or an id is neither an integer nor a string.
        """
        user_ids, users = coded("user", users)
        item_ids, items = coded("item", items)
        return cls(users, items, stars, user_ids, item_ids, **rest)

    def __repr__(self) -> str:
        return (
            f"<Ratings of {self.source or 'unknown source'}: {self.stars.size:,} ratings, "
            f"{self.user_ids.size:,} users, {self.item_ids.size:,} items>"
        )

    def of_items(self, items: IntArray) -> Ratings:
        """Return the ratings of the items at some positions of item_ids, and no others."""
        items = np.sort(items)
        kept = np.isin(self.items, items)
        user_ids, users = np.unique(self.users[kept], return_inverse=True)
        return replace(
            self,
            users=users.astype(np.int64, copy=False),
            items=np.searchsorted(items, self.items[kept]),
            stars=self.stars[kept],
            user_ids=self.user_ids[user_ids],
            item_ids=self.item_ids[items],
            times=None if self.times is None else self.times[kept],
        )

    def most_rated(self, number: int) -> IntArray:
        """Return the positions of the most rated items, most rated first, ties by id.

        Raises:
            ValueError: there are fewer items.
        """
        number = checks.whole_number("n_arms", number, 1)
        if self.item_ids.size < number:
            raise ValueError(
                f"n_arms={number}: expected at most {self.item_ids.size}, the number of items"
            )
        counts = np.bincount(self.items, minlength=self.item_ids.size)
        return np.argsort(-counts, kind="stable")[:number]

    @cached_property
    def star_codes(self) -> tuple[FloatArray, IntArray]:
        """The sorted ratings that occur, and the position of each rating among them."""
        values, place = np.unique(self.stars, return_inverse=True)
        return values, place.astype(np.int64, copy=False)

    def name_of(self, item: int) -> str:
        """Return the title of the item at a position of item_ids, or its id."""
        known = self.item_ids[item].item() if self.item_ids.dtype.kind in "iu" else None
        key = self.item_ids[item] if known is None else known
        title = self.titles.get(key)
        return title if title else f"item {key}" if known is not None else str(key)


def coded(what: str, ids: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the sorted different ids, and the position of each one among them.

    Raises:
        ValueError: an id is missing, or is neither an integer nor a string.
    """
    ids = np.asarray(ids)
    if ids.dtype.kind in "iu":
        known, place = np.unique(ids, return_inverse=True)
        return known, place.astype(np.int64, copy=False)
    import pandas as pd

    place, known = pd.factorize(np.asarray(ids, dtype=object), use_na_sentinel=False)
    wrong = [each for each in known.tolist() if type(each) is not type(known[0])]
    wrong += [each for each in known[:1].tolist() if not isinstance(each, str)]
    if wrong:
        raise ValueError(
            f"{what} id {wrong[0]!r} of type {type(wrong[0]).__name__}: expected integers, or "
            "strings alone; fill missing ids and convert, as with .astype(int) or .astype(str)"
        )
    order = np.argsort(known.astype(str), kind="stable")
    return np.asarray(known)[order], np.argsort(order)[place].astype(np.int64, copy=False)
