"""From ratings to arms, to a split of the users, to a pseudo-reward table."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray, read_only
from cmab_gym.data.ratings import Ratings
from cmab_gym.models.histogram import HistogramModel
from cmab_gym.problem import BanditProblem
from cmab_gym.pseudo_rewards import mask_and_pad

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Arms:
    """Which arm each item belongs to.

    Args:
        names: K names.
        of_item: item to arm; items that are missing belong to none.
    """

    names: tuple[str, ...]
    of_item: Mapping[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What a survey leaves: the test half's histograms and the training half's pseudo-rewards.

    Args:
        pseudo_rewards: float64 (K, K, R), pooled conditional means [l, k, j] of the training half.
        test_counts: float64 (K, R), how often each arm got each reward in the test half.
        reward_support: float64 (R,).
        reward_bounds: (low, high).
        arm_names: K names.
        reward_unit: the unit of the rewards.
        provenance: source, licence, checksum, settings and sizes, as JSON can hold them.
    """

    pseudo_rewards: FloatArray
    test_counts: FloatArray
    reward_support: FloatArray
    reward_bounds: tuple[float, float]
    arm_names: tuple[str, ...]
    reward_unit: str = "stars"
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def model(self, mask: float = 0.0, pad: float = 0.0, mask_seed: int = 0) -> HistogramModel:
        """Make the bandit whose player knows this table, masked and padded.

        Args:
            mask: share of the entries to forget (the paper's p), from 0 to 1.
            pad: buffer added to the others (the paper's q), in the reward's unit.
            mask_seed: which entries are forgotten.

        Raises:
            ValueError: a setting is out of range.
        """
        # A second number in the seed, so that mask and genre draw of one number are independent.
        rng = default_rng((checks.whole_number("mask_seed", mask_seed, 0), 1))
        table = mask_and_pad(
            self.pseudo_rewards, self.reward_support, self.reward_bounds[1], mask, pad, rng
        )
        problem = BanditProblem(table, self.reward_support, self.reward_bounds)
        return HistogramModel(self.test_counts, problem, self.arm_names, self.reward_unit)

    def save(self, path: str | Path) -> None:
        """Write the survey as an `.npz` without pickles; the file appears whole or not at all."""
        meta = {
            "format": FORMAT,
            "reward_bounds": list(self.reward_bounds),
            "reward_unit": self.reward_unit,
            "provenance": dict(self.provenance),
        }
        path = Path(path)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        arrays = {
            "pseudo_rewards": self.pseudo_rewards,
            "test_counts": self.test_counts,
            "reward_support": self.reward_support,
            "arm_names": np.array(self.arm_names, dtype=np.str_),
            "meta": np.array(json.dumps(meta, sort_keys=True)),
        }
        try:
            _write_npz(partial, arrays)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey that `save` wrote.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not a survey, or of another format.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path} is not a file: expected a survey (.npz)")
        try:
            with np.load(path, allow_pickle=False) as arrays:
                content = {name: arrays[name] for name in arrays.files}
            meta = json.loads(str(content.pop("meta")))
        except (OSError, ValueError, KeyError, AttributeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is not a survey: {error}; rebuild it") from error
        if meta.get("format") != FORMAT:
            raise ValueError(
                f"{path} has format {meta.get('format')}: expected {FORMAT}; rebuild it"
            )
        low, high = meta["reward_bounds"]
        return cls(
            content["pseudo_rewards"],
            content["test_counts"],
            content["reward_support"],
            (low, high),
            tuple(str(name) for name in content["arm_names"]),
            meta["reward_unit"],
            meta["provenance"],
        )


def genre_arms(ratings: Ratings, draw: int = 0) -> Arms:
    """Make each genre an arm; one of a movie's genres is chosen at random per movie.

    Args:
        ratings: with genres.
        draw: which draw of the genres, 0 or more.

    Raises:
        ValueError: the ratings have no genres.

    Source: Section 5.1 of the paper.
    """
    if not ratings.genres:
        raise ValueError(f"{ratings!r} has no genres: expected a MovieLens archive; use most_rated")
    draw = checks.whole_number("genre_draw", draw, 0)
    names = tuple(sorted({genre for genres in ratings.genres.values() for genre in genres}))
    place = {name: arm for arm, name in enumerate(names)}
    uniform = default_rng(draw).random(len(ratings.genres))
    items = sorted(ratings.genres)
    return Arms(
        names,
        {
            item: place[ratings.genres[item][int(u * len(ratings.genres[item]))]]
            for item, u in zip(items, uniform, strict=True)
        },
    )


def most_rated_arms(ratings: Ratings, n_arms: int) -> Arms:
    """Make each of the most rated items an arm, most rated first, ties by number.

    Raises:
        ValueError: there are fewer items than arms.
    """
    n_arms = checks.whole_number("n_arms", n_arms, 1)
    items, place = ratings.item_codes
    counts = np.bincount(place)
    if items.size < n_arms:
        raise ValueError(f"n_arms={n_arms}: expected at most {items.size}, the number of items")
    chosen = items[np.argsort(-counts, kind="stable")[:n_arms]].tolist()
    return Arms(
        tuple(ratings.titles.get(item, f"item {item}") for item in chosen),
        {item: arm for arm, item in enumerate(chosen)},
    )


def assign_arms(ratings: Ratings, arms: Arms) -> IntArray:
    """Return the arm of each rating, int64 (N,); -1 where its item belongs to none."""
    items, place = ratings.item_codes
    arm_of = np.array([arms.of_item.get(item, -1) for item in items.tolist()], dtype=np.int64)
    return arm_of[place]


def take_survey(
    ratings: Ratings,
    arms: Arms,
    train_share: float = 0.5,
    min_support: int = 1,
    reward_support: ArrayLike = (1, 2, 3, 4, 5),
    provenance: Mapping[str, Any] | None = None,
) -> Survey:
    """Split the users, and compute the pseudo-rewards of the training half.

    The users with the most ratings of the arms are the training half: the fewest of them that hold
    more than `train_share` of these ratings; ties by user number. The pseudo-reward s_lk(r) is the
    mean of all their ratings of arm l, pooled over the users that rated arm k with r at least once.

    Args:
        ratings: the ratings.
        arms: the arms.
        train_share: share of the ratings to learn from, above 0 and below 1.
        min_support: entries that rest on fewer ratings become the largest reward.
        reward_support: the possible ratings, increasing.
        provenance: what to keep with the result.

    Raises:
        ValueError: a rating is not in the support, a half is empty, or an arm has no test rating.

    Source: Sections 2.2 and 5.1 of the paper. One pass over the ratings and two products of
    matrices of users by arms: the cost is O(N + U R K^2) for U training users.
    """
    support = read_only(reward_support)
    arm = assign_arms(ratings, arms)
    known = arm >= 0
    if not known.any():
        raise ValueError(f"none of {ratings!r} belongs to an arm: expected items that were rated")
    user, arm = ratings.user_codes[1][known], arm[known]
    level = _levels(ratings.stars[known], support)
    rated = np.bincount(user) > 0
    user, n_users = (np.cumsum(rated) - 1)[user], int(rated.sum())
    trains = training_users(np.bincount(user), train_share)
    n_arms, size = len(arms.names), support.size
    test = ~trains[user]
    counts = np.bincount(arm[test] * size + level[test], minlength=n_arms * size)
    counts = counts.reshape(n_arms, size)
    if counts.sum(axis=1).min() == 0:
        empty = int(counts.sum(axis=1).argmin())
        raise ValueError(
            f"arm {empty} ({arms.names[empty]}) has no test rating at train_share={train_share:g}: "
            "expected at least one; lower train_share or leave the arm out"
        )
    table = _pooled_means(
        user[~test], arm[~test], level[~test], (n_users, n_arms, size), support, min_support
    )
    sizes = {
        "ratings": int(user.size),
        "users": n_users,
        "training_ratings": int((~test).sum()),
        "training_users": int(trains.sum()),
    }
    return Survey(
        table,
        counts.astype(np.float64),
        support,
        (float(support[0]), float(support[-1])),
        arms.names,
        "stars",
        {**(provenance or {}), "source": ratings.source, "sha256": ratings.checksum, **sizes},
    )


def training_users(counts: IntArray, train_share: float) -> BoolArray:
    """Choose the training half: the heaviest users, as few as hold more than the wanted share.

    Args:
        counts: int64 (U,), ratings of each user; ties are broken by position.
        train_share: above 0 and below 1.

    Returns:
        bool (U,).

    Raises:
        ValueError: train_share is out of range, or no user would be left for the test.
    """
    share = checks.number_between("train_share", train_share, 0, 1, "it is a share of the ratings")
    order = np.argsort(-counts, kind="stable")
    held = np.cumsum(counts[order])
    # Exact for the bundled shares: share * total is compared with whole numbers of ratings.
    n_train = int(np.searchsorted(held, share * held[-1], side="right")) + 1
    if n_train >= counts.size:
        raise ValueError(
            f"train_share={share:g} leaves none of {counts.size} users for the test: expected a "
            "smaller share"
        )
    trains = np.zeros(counts.size, dtype=np.bool_)
    trains[order[:n_train]] = True
    return trains


def _write_npz(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Write what `np.load` reads; the same arrays give the same bytes everywhere.

    `np.savez` leaves it to the Python version which zip headers are written.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array, order="C"), allow_pickle=False)
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, as no file is
            member.create_system = 3
            archive.writestr(member, content.getvalue())


def _levels(stars: FloatArray, support: FloatArray) -> IntArray:
    level = np.searchsorted(support, stars).clip(max=support.size - 1)
    wrong = support[level] != stars
    if wrong.any():
        raise ValueError(
            f"rating {stars[wrong][0]:g}: expected one of {support}; give the right reward_support"
        )
    return level


def _pooled_means(
    user: IntArray,
    arm: IntArray,
    level: IntArray,
    shape: tuple[int, int, int],
    support: FloatArray,
    min_support: int,
) -> FloatArray:
    n_users, n_arms, size = shape
    seen = np.bincount((user * n_arms + arm) * size + level, minlength=n_users * n_arms * size)
    seen = seen.reshape(n_users, n_arms * size)
    by_arm = seen.reshape(n_users, n_arms, size)
    number = by_arm.sum(axis=2).astype(np.float64)
    total = by_arm @ support
    rated = (seen > 0).astype(np.float64)
    # Sums of whole and half stars are exact in floating point, in whatever order BLAS adds them:
    # so the tables are the same to the bit on every machine.
    pooled_number = (rated.T @ number).reshape(n_arms, size, n_arms)
    pooled_total = (rated.T @ total).reshape(n_arms, size, n_arms)
    enough = pooled_number >= checks.whole_number("min_support", min_support, 1)
    means = np.full(pooled_total.shape, support[-1])
    np.divide(pooled_total, pooled_number, out=means, where=enough)
    table: FloatArray = means.transpose(2, 0, 1).copy()
    arms = np.arange(n_arms)
    table[arms, arms] = support
    return table
