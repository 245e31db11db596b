"""Take a survey of ratings: `take_survey`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, FloatArray, IntArray, read_only
from cmab_gym.envs_data.ratings import Ratings
from cmab_gym.envs_data.surveys.arms import Arms
from cmab_gym.envs_data.surveys.classes import learn_classes
from cmab_gym.envs_data.surveys.factors import learn_factors
from cmab_gym.envs_data.surveys.methods import Method, validate
from cmab_gym.envs_data.surveys.on_demand import RatingsOnDemand
from cmab_gym.envs_data.surveys.pooled import Pooled
from cmab_gym.envs_data.surveys.split import Split
from cmab_gym.envs_data.surveys.survey import Survey
from cmab_gym.envs_data.surveys.unknown import (
    SparseSurveyWarning,
    says_little,
    unknown_note,
    unknown_share,
)
from cmab_gym.rows import is_small

_FLOAT32 = 2.0**-23  # a rating read as float32 differs from its float64 by less than this share


def take_survey(
    ratings: Ratings,
    arms: Arms,
    split: Split = Split(),  # noqa: B008 (frozen)
    method: Method = Method(),  # noqa: B008
    reward_support: ArrayLike | None = None,
    provenance: Mapping[str, Any] | None = None,
    min_test: int = 1,
    factors: int = 0,
    classes: int = 0,
) -> Survey:
    """Split the users, and compute the pseudo-rewards of the training users.

    Args:
        ratings: the ratings.
        arms: the arms.
        split: which users are training users.
        method: how upper bounds are computed from their ratings.
        reward_support: the possible ratings, increasing; None takes those that occur.
        provenance: what to record in the result in addition to sizes, arguments, and the number of
            entries that the test users violate.
        min_test: arms with fewer test ratings are left out; provenance["left_out"] counts them.
        factors: how many `SurveyFactors` are learned; 0 learns none, which saves time.
        classes: how many `SurveyClasses` are learned; 0 learns none.

    Raises:
        ValueError: a rating is not in the support, there are no test users, or no arm has enough
            test ratings.

    Warns:
        SparseSurveyWarning: more than half of the pseudo-rewards that pulls can show are unknown;
            provenance["unknown_share"] holds the share in any case.

    Source: Sections 2.2 and 5.1 of the paper. The cost is that of `Pooled`, after a step of
    O(N log N) for N ratings.

    Examples:
        Users 2 and 3 are surveyed: both gave item "a" 5 stars, and item "b" 1 and 3 stars.

        >>> from cmab_gym.envs_data.surveys.arms import listed_arms
        >>> users, items = [1, 1, 2, 2, 3, 3], ["a", "b"] * 3
        >>> ratings = Ratings.from_columns(users, items, [5, 3, 5, 1, 5, 3])
        >>> survey = take_survey(ratings, listed_arms(ratings, ["a", "b"]), Split(0.4))
        >>> survey.reward_support
        array([1., 3., 5.])
        >>> survey.pseudo_rewards[1, 0]  # 5 where nothing is known
        array([5., 5., 2.])
    """
    n_factors = checks.whole_number("factors", factors, 0)
    n_classes = checks.whole_number("classes", classes, 0)
    given = ratings.star_codes[0] if reward_support is None else reward_support
    support = read_only(checks.increasing("reward_support", given))
    bounds = (float(support[0]), float(support[-1]))
    training, test = split_ratings(ratings, arms, split, support)
    counts = _histograms(test)
    kept = _tested(counts, min_test, split)
    names = tuple(name for name, own in zip(arms.names, kept.tolist(), strict=True) if own)
    left_out = {}
    if len(names) < kept.size:
        left_out[_few_ratings(min_test)] = kept.size - len(names)
        counts = counts[kept]
        training, test = _of_arms(training, kept), _of_arms(test, kept)
        if not training.user.size:
            raise ValueError(
                f"no surveyed user rated any of the {len(names)} arms with {min_test} test ratings "
                "or more: expected arms that both halves of the users rated; choose other arms, or "
                "another split"
            )
    table: FloatArray | RatingsOnDemand = RatingsOnDemand(training, method, bounds)
    whole: dict[str, Any] = {}  # provenance that needs the whole table
    if is_small(len(names), support.size):
        table = method.upper(training, bounds)
        whole = {
            "unknown_share": unknown_share(training, counts, method.min_support),
            "test_half": asdict(validate(table, test)),
        }
    computed = {
        "source": ratings.source,
        "sha256": ratings.checksum,
        "left_out": {**ratings.notes, **left_out},
        "ratings": training.user.size + test.user.size,
        "users": training.n_users + test.n_users,
        "training_ratings": training.user.size,
        "training_users": training.n_users,
        "split": split.described,
        "method": asdict(method),
        **({"factors": n_factors} if n_factors else {}),
        **({"classes": n_classes} if n_classes else {}),
        **whole,
    }
    merged = {**(provenance or {}), **computed}
    learned = (
        learn_factors(training, n_factors) if n_factors else None,
        learn_classes(training, n_classes) if n_classes else None,
    )
    if says_little(merged):
        warnings.warn(unknown_note(merged), SparseSurveyWarning, stacklevel=2)
    surveyed = _histograms(training)
    return Survey(table, surveyed, counts, support, bounds, names, "stars", merged, *learned)


def split_ratings(
    ratings: Ratings, arms: Arms, split: Split, reward_support: ArrayLike
) -> tuple[Pooled, Pooled]:
    """Split ratings into those of the training users and those of the test users.

    Args:
        ratings: the ratings.
        arms: the arms; ratings of other items do not count.
        split: which users are training users.
        reward_support: the possible ratings, increasing.

    Raises:
        ValueError: as for `take_survey`.
    """
    support = read_only(checks.increasing("reward_support", reward_support))
    rows, arm = arms.of_ratings(ratings.items)
    if not rows.size:
        raise ValueError(f"none of {ratings!r} belongs to an arm: expected items that were rated")
    level = _levels(ratings, rows, support)
    user = _renumbered(ratings.users[rows])
    times = None if ratings.times is None else ratings.times[rows]
    segments = ratings.segments
    if segments is not None:
        segments = segments[np.unique(ratings.users[rows])]
    trains = split.training_users(user, times, segments)
    training, test = (
        Pooled(
            _renumbered(user[part[user]]),
            arm[part[user]],
            level[part[user]],
            int(part.sum()),
            len(arms.names),
            support,
            None if segments is None else segments[part],
        )
        for part in (trains, ~trains)
    )
    return training, test


def _histograms(pooled: Pooled) -> FloatArray:
    """Count how often each arm got each reward, float64 (K, R)."""
    size = pooled.support.size
    counts = np.bincount(pooled.arm * size + pooled.level, minlength=pooled.n_arms * size)
    return counts.reshape(pooled.n_arms, size).astype(np.float64)


def _tested(test_counts: FloatArray, min_test: int, split: Split) -> BoolArray:
    """Return which arms have enough test ratings, bool (K,)."""
    min_test = checks.whole_number("min_test", min_test, 1)
    tested: BoolArray = test_counts.sum(axis=1) >= min_test
    if not tested.any():
        where, remedy = f"at train_share={split.train_share:g}", "lower min_test or train_share"
        if split.segment:
            where, remedy = f"in segment {split.segment!r}", "lower min_test"
        raise ValueError(
            f"none of {tested.size} arms has {min_test} test ratings {where}: expected at least "
            f"one such arm; {remedy}, or choose other arms"
        )
    return tested


def _few_ratings(min_test: int) -> str:
    """Name the arms that are left out, as `left_out` of the provenance does."""
    few = "without a test rating" if min_test == 1 else f"with fewer than {min_test} test ratings"
    return f"arms {few}"


def _of_arms(pooled: Pooled, kept: BoolArray) -> Pooled:
    """Return the ratings of some of the arms, and of the users who rated any of them."""
    rows = kept[pooled.arm]
    user = _renumbered(pooled.user[rows])
    arm = (np.cumsum(kept) - 1)[pooled.arm[rows]]
    n_users, n_arms = int(user.max(initial=-1)) + 1, int(kept.sum())
    segments = pooled.segments
    if segments is not None:
        segments = segments[np.unique(pooled.user[rows])]
    return Pooled(user, arm, pooled.level[rows], n_users, n_arms, pooled.support, segments)


def _renumbered(user: IntArray) -> IntArray:
    """Number the users that occur from 0 on, in the same order."""
    renumbered: IntArray = (np.cumsum(np.bincount(user) > 0) - 1)[user]
    return renumbered


def _levels(ratings: Ratings, rows: IntArray, support: FloatArray) -> IntArray:
    """Find the position in the support of the rating in each of the rows."""
    stars, code = ratings.star_codes
    level = np.searchsorted((support[:-1] + support[1:]) / 2, stars)
    wrong = np.abs(support[level] - stars) > _FLOAT32 * np.abs(stars)
    wrong &= np.bincount(code[rows], minlength=stars.size) > 0
    if wrong.any():
        raise ValueError(
            f"rating {stars[wrong][0]:.9g}: expected one of {support}; CMAB-Ratings-v0 takes "
            "another reward_support, and with round_to it rounds ratings"
        )
    levels: IntArray = level[code[rows]]
    return levels
