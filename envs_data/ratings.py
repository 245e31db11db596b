"""`Ratings`: who rated what, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """A table of ratings, one row each, and what is known of the items.

    Args:
        users: int64 (N,), the user of each rating, as numbered in the source.
        items: int64 (N,), the item of each rating, as numbered in the source.
        stars: float64 (N,), the ratings.
        titles: item to title.
        genres: item to its genres; empty where the source has none.
        source: what the data set is called.
        checksum: SHA-256 of the file it was read from.

    Raises:
        ValueError: the columns differ in length, are empty, or a rating is not finite.
    """

    users: IntArray
    items: IntArray
    stars: FloatArray
    titles: Mapping[int, str]
    genres: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    source: str = ""
    checksum: str = ""

    def __post_init__(self) -> None:
        columns: dict[str, AnyArray] = {
            "users": self.users,
            "items": self.items,
            "stars": self.stars,
        }
        shapes = {name: column.shape for name, column in columns.items()}
        if len(set(shapes.values())) != 1 or self.stars.ndim != 1 or not self.stars.size:
            raise ValueError(f"ratings have columns {shapes}: expected three of one length, N >= 1")
        checks.finite("stars", self.stars)

    def __repr__(self) -> str:
        (users, _), (items, _) = self.user_codes, self.item_codes
        return (
            f"<Ratings of {self.source or 'unknown source'}: {self.stars.size:,} ratings, "
            f"{users.size:,} users, {items.size:,} items>"
        )

    @cached_property
    def user_codes(self) -> tuple[IntArray, IntArray]:
        """The sorted users, and the position of each rating's user among them."""
        users, place = np.unique(self.users, return_inverse=True)
        return users, place

    @cached_property
    def item_codes(self) -> tuple[IntArray, IntArray]:
        """The sorted items, and the position of each rating's item among them."""
        items, place = np.unique(self.items, return_inverse=True)
        return items, place
