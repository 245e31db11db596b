"""`Arms`: the arm of each item; arms are the most rated items, listed items, or genres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.arrays import IntArray
from cmab_gym.envs_data.ratings import Ratings, positions_of

GENRES = ("random", "first", "all")


@dataclass(frozen=True, eq=False)
class Arms:
    """The arm, or arms, to which each item belongs.

    Args:
        names: K names.
        items: int64 (P,), positions in `Ratings.item_ids`, one for each pair of item and arm.
        arms: int64 (P,), the arm of each pair. An item that is not in a pair has no arm.
    """

    names: tuple[str, ...]
    items: IntArray
    arms: IntArray

    def of_ratings(self, items: IntArray) -> tuple[IntArray, IntArray]:
        """Find the arms of ratings.

        Args:
            items: int64 (N,), the item of each rating: a position in `Ratings.item_ids`.

        Returns:
            The rows of the ratings that belong to an arm, int64 (M,), and the arm of each; a row
            is repeated for every arm of its item.
        """
        arms = self.arms[np.argsort(self.items, kind="stable")]
        size = max(int(self.items.max(initial=0)), int(items.max(initial=0))) + 1
        arms_per_item = np.bincount(self.items, minlength=size)
        if arms_per_item.max(initial=0) <= 1:  # with a fifth of the memory
            arm_of = np.full(size, -1)
            arm_of[self.items] = self.arms
            own = arm_of[items]
            rows = np.flatnonzero(own >= 0)
            return rows, own[rows]
        n_arms, first = arms_per_item[items], (np.cumsum(arms_per_item) - arms_per_item)[items]
        rows = np.repeat(np.arange(items.size), n_arms)
        within = np.arange(rows.size) - np.repeat(np.cumsum(n_arms) - n_arms, n_arms)
        return rows, arms[np.repeat(first, n_arms) + within]


def most_rated_arms(ratings: Ratings, n_arms: int) -> Arms:
    """Make each of the most rated items an arm, most rated first, ties by id.

    Raises:
        ValueError: there are fewer items than arms.

    Examples:
        >>> ratings = Ratings.from_columns([1, 2, 1], [30, 30, 20], [5, 4, 1])
        >>> most_rated_arms(ratings, 2).names
        ('item 30', 'item 20')
    """
    n_arms, n_items = checks.whole_number("n_arms", n_arms, 1), ratings.item_ids.size
    if n_items < n_arms:
        raise ValueError(f"n_arms={n_arms}: expected at most {n_items}, the number of items")
    return _one_item_each(ratings, ratings.most_rated(n_arms))


def listed_arms(ratings: Ratings, items: Sequence[Any]) -> Arms:
    """Make each of the listed items an arm, in the same order.

    Raises:
        ValueError: an item is unknown or listed twice, or the list is empty.
    """
    positions = positions_of(items, ratings.item_ids)
    again = np.setdiff1d(np.arange(positions.size), np.unique(positions, return_index=True)[1])
    if again.size:
        raise ValueError(f"item {items[again[0]]!r} is listed twice: expected different items")
    return _one_item_each(ratings, positions)


def genre_arms(ratings: Ratings, genres: str = "random", draw: int = 0) -> Arms:
    """Make each genre an arm.

    Args:
        ratings: ratings whose items have genres.
        genres: the genres for which a movie counts: "random", one of its genres, drawn for each
            movie; "first", the first in its list; or "all".
        draw: the number of the random draw, 0 or more.

    Raises:
        ValueError: the ratings have no genres, or an argument is invalid.

    Source: Section 6.1 of the paper, for "random".
    """
    if not ratings.genres:
        raise ValueError(
            f"{ratings!r} has no genres: expected a MovieLens archive; take items as arms"
        )
    checks.choice("genres", genres, GENRES)
    draw = checks.whole_number("genre_draw", draw, 0)
    names = tuple(sorted({genre for each in ratings.genres.values() for genre in each}))
    arm_of = {name: arm for arm, name in enumerate(names)}
    chosen = _chosen_genres(ratings.genres, genres, draw)
    pairs = [
        (position, arm_of[genre])
        for position, item_id in enumerate(ratings.item_ids.tolist())
        for genre in chosen.get(item_id, ())
    ]
    items, arms = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Arms(names, items, arms)


def _chosen_genres(
    genres: Mapping[Any, tuple[str, ...]], which: str, draw: int
) -> Mapping[Any, tuple[str, ...]]:
    if which == "all":
        return genres
    if which == "first":
        return {item: own[:1] for item, own in genres.items()}
    # One random number for each movie with a genre, rated or not, in the order of their ids, so
    # that the draw does not depend on the ratings.
    uniform = default_rng(draw).random(len(genres))
    return {
        item: (genres[item][int(u * len(genres[item]))],)
        for item, u in zip(sorted(genres), uniform, strict=True)
    }


def _one_item_each(ratings: Ratings, items: IntArray) -> Arms:
    names = tuple(ratings.name_of(int(item)) for item in items)
    return Arms(names, items, np.arange(items.size))
