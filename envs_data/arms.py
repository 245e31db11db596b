"""Which arm an item belongs to: the most rated items, given ones, or genres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.arrays import IntArray
from cmab_gym.envs_data.ratings import Ratings

GENRES = ("random", "first", "all")


@dataclass(frozen=True, eq=False)
class Arms:
    """Which arm, or arms, each item belongs to.

    Args:
        names: K names.
        items: int64 (P,), positions in `Ratings.item_ids`, one for each pair of item and arm.
        arms: int64 (P,), the arm of each pair. Items that are missing belong to none.
    """

    names: tuple[str, ...]
    items: IntArray
    arms: IntArray

    def of_ratings(self, items: IntArray) -> tuple[IntArray, IntArray]:
        """Find the arms of the items of some ratings.

        Args:
            items: int64 (N,), positions in `Ratings.item_ids`.

        Returns:
            The rows of the ratings that belong to an arm, int64 (M,), and the arm of each; a row
            appears as often as its item has arms.
        """
        arms = self.arms[np.argsort(self.items, kind="stable")]
        size = max(int(self.items.max(initial=0)), int(items.max(initial=0))) + 1
        number_of = np.bincount(self.items, minlength=size)
        number, first = number_of[items], (np.cumsum(number_of) - number_of)[items]
        if number_of.max() <= 1:
            rows = np.flatnonzero(number)
            return rows, arms[first[rows]]
        rows = np.repeat(np.arange(items.size), number)
        within = np.arange(rows.size) - np.repeat(np.cumsum(number) - number, number)
        return rows, arms[np.repeat(first, number) + within]


def most_rated_arms(ratings: Ratings, n_arms: int) -> Arms:
    """Make each of the most rated items an arm, most rated first, ties by id.

    Raises:
        ValueError: there are fewer items than arms.
    """
    return _one_each(ratings, ratings.most_rated(n_arms))


def listed_arms(ratings: Ratings, items: Sequence[Any]) -> Arms:
    """Make each of the given items an arm, in the given order.

    Raises:
        ValueError: an item is unknown or is given twice.
    """
    place = {item: i for i, item in enumerate(ratings.item_ids.tolist())}
    # Ids of a text file are strings, even those that look like numbers.
    items = [str(item) if item not in place and str(item) in place else item for item in items]
    missing = [item for item in items if item not in place]
    if missing:
        known = ", ".join(map(repr, ratings.item_ids[:5].tolist()))
        raise ValueError(f"item {missing[0]!r} has no rating: expected ids such as {known}")
    if len(set(items)) != len(items) or not items:
        raise ValueError(f"items={list(items)!r}: expected different items, at least one")
    return _one_each(ratings, np.array([place[item] for item in items]))


def genre_arms(ratings: Ratings, genres: str = "random", draw: int = 0) -> Arms:
    """Make each genre an arm.

    Args:
        ratings: with genres.
        genres: which of its genres a movie counts for: "random", one drawn for each movie; "first"
            in the list; or "all".
        draw: which random draw, 0 or more.

    Raises:
        ValueError: the ratings have no genres, or an argument is unknown.

    Source: Section 5.1 of the paper, for "random".
    """
    if not ratings.genres:
        raise ValueError(f"{ratings!r} has no genres: expected a MovieLens archive; use movies")
    checks.choice("genres", genres, GENRES)
    draw = checks.whole_number("genre_draw", draw, 0)
    names = tuple(sorted({genre for each in ratings.genres.values() for genre in each}))
    arm_of = {name: arm for arm, name in enumerate(names)}
    chosen = _chosen_genres(ratings.genres, genres, draw)
    pairs = [
        (place, arm_of[genre])
        for place, item in enumerate(ratings.item_ids.tolist())
        for genre in chosen.get(item, ())
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
    # One number for each movie that has a genre, rated or not, in the order of their ids: so a
    # draw does not depend on who rated what.
    uniform = default_rng(draw).random(len(genres))
    return {
        item: (genres[item][int(u * len(genres[item]))],)
        for item, u in zip(sorted(genres), uniform, strict=True)
    }


def _one_each(ratings: Ratings, items: IntArray) -> Arms:
    names = tuple(ratings.name_of(int(item)) for item in items)
    return Arms(names, items, np.arange(items.size))
