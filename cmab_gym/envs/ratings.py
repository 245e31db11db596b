"""`CMAB-Ratings-v0` and `from_ratings`: a bandit from any table of ratings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.envs_data.downloads.cache import locate
from cmab_gym.envs_data.ratings import Ratings, listed_ids
from cmab_gym.envs_data.readers.archive import stamp
from cmab_gym.envs_data.readers.options import ReadOptions
from cmab_gym.envs_data.readers.reader import frame_ratings, read_ratings
from cmab_gym.envs_data.surveys.arms import GENRES, Arms, genre_arms, listed_arms, most_rated_arms
from cmab_gym.envs_data.surveys.methods import Method
from cmab_gym.envs_data.surveys.split import Split
from cmab_gym.envs_data.surveys.survey import Survey
from cmab_gym.envs_data.surveys.taking import take_survey
from cmab_gym.models.histogram import HistogramModel

if TYPE_CHECKING:
    import pandas as pd


def ratings_model(
    data: str | Path | pd.DataFrame | Ratings | Survey | None = None,
    user: str | int = "",
    item: str | int = "",
    rating: str | int = "",
    category: str | int = "",
    time: str | int = "",
    n_arms: int | None = None,
    items: Sequence[Any] | None = None,
    genres: str = "",
    genre_draw: int = 0,
    train_share: float = 0.5,
    split: str = "heavy-users",
    split_seed: int = 0,
    segment: str = "",
    segment_by: str | int = "",
    method: str = "mean",
    deviations: float = 1.0,
    delta: float = 0.05,
    min_support: int = 1,
    min_test: int = 1,
    reward_support: ArrayLike | None = None,
    round_to: ArrayLike | None = None,
    mask: float = 0.0,
    pad: float = 0.0,
    mask_seed: int = 0,
    factors: int = 0,
    classes: int = 0,
    separator: str = "",
    encoding: str = "utf-8",
    quote: str = '"',
    escape: str = "",
    not_rated: float | Sequence[float] = (),
    on_error: str = "raise",
) -> HistogramModel:
    """Build the model of `CMAB-Ratings-v0`; the arguments are those of `RatingsEnv`."""
    options = ReadOptions(
        user, item, rating, category, time, segment_by, separator, encoding, quote, escape,
        not_rated, on_error,
    )  # fmt: skip
    listed = None if items is None else listed_ids(items)
    choice = _ArmChoice(category != "", n_arms, listed, genres, genre_draw)
    plan = _Plan(
        choice,
        Split(train_share, split, split_seed, segment),
        Method(method, deviations, delta, min_support),
        _numbers("reward_support", reward_support),
        _numbers("round_to", round_to),
        checks.whole_number("min_test", min_test, 1),
        checks.whole_number("factors", factors, 0),
        checks.whole_number("classes", classes, 0),
    )
    if isinstance(data, Survey):
        if options.changed() or plan != _Plan():
            raise ValueError(
                "data is a Survey: expected only mask, pad and mask_seed; the other arguments are "
                "chosen when a survey is taken"
            )
        return data.model(mask, pad, mask_seed)
    if isinstance(data, str | Path):
        path = locate(data).resolve()
        file = (str(path), stamp(path))
        survey = _survey_of_file(file, options, plan)
    else:
        ratings = data if isinstance(data, Ratings) else frame_ratings(data, options)
        if ratings is data and options.changed():
            raise ValueError(
                f"data is Ratings: expected no {', '.join(options.changed())}; they are chosen "
                "when ratings are read"
            )
        survey = plan.take(ratings)
    return survey.model(mask, pad, mask_seed)


@dataclass(frozen=True)
class _ArmChoice:
    """Which items, categories or genres of a table of ratings are the arms.

    Raises:
        ValueError: n_arms is not a positive integer, genres is unknown, or more than one of n_arms,
            items and genres is given.
    """

    by_category: bool = False
    n_arms: int | None = None
    items: tuple[Any, ...] | None = None
    genres: str = ""
    genre_draw: int = 0

    def __post_init__(self) -> None:
        if self.n_arms is not None:
            checks.whole_number("n_arms", self.n_arms, 1)
        if self.genres != "":
            checks.choice("genres", self.genres, GENRES)
        if sum((self.n_arms is not None, self.items is not None, bool(self.genres))) > 1:
            items = None if self.items is None else list(self.items)
            raise ValueError(
                f"n_arms={self.n_arms!r}, items={items!r}, genres={self.genres!r}: expected at "
                "most one of them, to choose the arms"
            )

    @property
    def most_rated(self) -> int | None:
        """How many of the most rated items a reader may keep; None, all items."""
        return None if self.by_category else self.n_arms

    def of(self, ratings: Ratings) -> Arms:
        """Choose the arms of a table of ratings."""
        if self.items is not None:
            return listed_arms(ratings, self.items)
        if self.genres:
            return genre_arms(ratings, self.genres, self.genre_draw)
        if self.by_category and self.n_arms is None:
            return listed_arms(ratings, ratings.item_ids.tolist())
        return most_rated_arms(
            ratings, ratings.item_ids.size if self.n_arms is None else self.n_arms
        )


@dataclass(frozen=True)
class _Plan:
    """How a survey of a table of ratings is taken.

    Raises:
        ValueError: both reward_support and round_to are given.
    """

    arms: _ArmChoice = _ArmChoice()
    split: Split = field(default_factory=Split)
    method: Method = field(default_factory=Method)
    reward_support: tuple[float, ...] | None = None
    round_to: tuple[float, ...] | None = None
    min_test: int = 1
    factors: int = 0
    classes: int = 0

    def __post_init__(self) -> None:
        if self.reward_support is not None and self.round_to is not None:
            raise ValueError(
                f"reward_support={list(self.reward_support)} and round_to={list(self.round_to)}: "
                "expected one of them; ratings that are rounded have round_to as their support"
            )

    def take(self, ratings: Ratings) -> Survey:
        """Take the survey."""
        arms, support = self.arms.of(ratings), self.reward_support
        provenance: dict[str, Any] = {"file": ratings.file} if ratings.file else {}
        if self.round_to is not None:
            support, provenance["round_to"] = self.round_to, list(self.round_to)
            ratings = ratings.rounded(support)
        return take_survey(
            ratings,
            arms,
            self.split,
            self.method,
            support,
            provenance,
            self.min_test,
            self.factors,
            self.classes,
        )


def _numbers(name: str, values: ArrayLike | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(checks.increasing(name, values).tolist())


@lru_cache(maxsize=4)  # an evaluation asks for the same survey once for each batch
def _survey_of_file(
    file: tuple[str, Hashable],
    options: ReadOptions,
    plan: _Plan,
) -> Survey:
    """Read and survey a file, given by its path and a stamp that changes with it."""
    # With `most_rated` or `items`, a file of any size needs little memory.
    most_rated, items = plan.arms.most_rated, plan.arms.items
    return plan.take(read_ratings(file[0], options, most_rated=most_rated, items=items))


def from_ratings(source: Any, **env_kwargs: Any) -> gym.Env[Any, Any]:
    """Make a bandit environment from any table of ratings.

    Args:
        source: a path, a pandas frame, `Ratings`, or a `Survey`.
        env_kwargs: keyword arguments of `CMAB-Ratings-v0`; see `cmab_gym.envs.RatingsEnv`.

    Returns:
        `gym.make("CMAB-Ratings-v0", data=source, **env_kwargs)`.

    Raises:
        ValueError, FileNotFoundError: as `gym.make`.

    Examples:
        >>> import pandas as pd
        >>> from cmab_gym import from_ratings
        >>> frame = pd.DataFrame(
        ...     {
        ...         "who": ["ann", "ann", "bob", "bob", "cid", "cid"],
        ...         "what": ["tea", "jam", "tea", "jam", "tea", "jam"],
        ...         "stars": [5, 1, 4, 2, 5, 2],
        ...     }
        ... )
        >>> env = from_ratings(frame, user="who", item="what", rating="stars")
        >>> env.unwrapped.model.arm_names
        ('jam', 'tea')
    """
    env: gym.Env[Any, Any] = gym.make("CMAB-Ratings-v0", data=source, **env_kwargs)
    return env


class RatingsEnv(BanditEnv):
    """A recommender without a history, from your own ratings.

    Description:
        As in `MovieLensEnv`, some users were surveyed, and their ratings give the pseudo-rewards.
        The other users are the new population: pulling an arm draws one of their ratings of it.

    Arms:
        `Discrete(K)`: the most rated items, given items, categories, or genres.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        A rating, in its own unit.

    Information:
        As in `MovieLensEnv`, with the R ratings that occur as reward_support; with `factors`, also
        survey_loadings float64 (K, r), survey_deviation float64 () and survey_sigmas float64 (K,):
        see `cmab_gym.survey_factors.SurveyFactors`; with `classes`, survey_class_weights float64
        (C,), survey_class_means float64 (C, K) and survey_class_sigmas float64 (K,): see
        `cmab_gym.survey_classes.SurveyClasses`.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        data: the ratings: path of a known archive (see `cmab_gym.envs_data.read_ratings`), or name
            of a fetched data set; path of a CSV or Parquet file or of JSON lines, with the names of
            its columns; a pandas frame, with the names of its columns; `Ratings`; or a `Survey`.
        user, item, rating: names of the columns; needed unless the format is known. In a file
            without a header, their positions, counted from 0. A rating of 0 counts like any other,
            except in the Goodreads interactions, or with not_rated=0.
        category: name of a column whose values are the arms, instead of items. All of a user's
            ratings of a category count; of several ratings of one item, only the last one does.
        time: name of a column of times, integers or dates, for split="by-time".
        n_arms: how many of the most rated items are arms; default all of them, or with `category`
            all categories. A table of more than 64 MB is computed row by row, when an arm is first
            pulled, and info has no `pseudo_rewards`.
        items: ids of the items that are arms, instead of n_arms.
        genres: makes genres the arms; of an item's genres, "random" counts one, drawn at random,
            "first" the first, "all" each.
        genre_draw: which random draw of the genres.
        train_share: share of the ratings that the survey uses; default 0.5.
        split: which users are surveyed: "heavy-users" (default), "heavy-users-smaller-ids",
            "random" or "by-time".
        split_seed: seed of split="random".
        segment: name of a segment of users that are the new population; all others are surveyed.
            Of MovieLens 1M it is gender and age, such as "F-25".
        segment_by: name of a column whose values are the segments, one for each user.
        method: "mean" (default), "mean+sd", "soft", "hoeffding" or "bootstrap".
        deviations: for method="mean+sd", how many standard deviations are added; default 1.
        delta: for "soft", "hoeffding" and "bootstrap", the probability of an error; default 0.05.
        min_support: a pseudo-reward based on fewer ratings is unknown; default 1.
        min_test: an arm with fewer ratings by the new population is left out; default 1. Of
            thousands of items, those with few ratings have the best means by luck: choose 20 or
            more.
        reward_support: the possible ratings; default those that occur.
        round_to: replaces each rating by the nearest of these numbers, which are then the possible
            ratings: for decimal ratings, since few users give the same one. The rewards, the means
            and the pseudo-rewards are those of the rounded ratings.
        mask, pad, mask_seed: as in `MovieLensEnv`; default 0.
        factors: how many directions in which users differ are learned from the survey, for agents
            such as `factor-ts`; default 0, none.
        classes: how many kinds of users are learned from the survey, for `class-ts` and
            `class-ucb`; default 0, none.
        separator, encoding, quote, escape, not_rated, on_error: how the file is written, and what
            to do with damaged rows; see `cmab_gym.envs_data.ReadOptions`.
        horizon, step_info, draws, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-Ratings-v0`.

    Source:
        Gupta et al. (2021), Sections 2.2 and 5.

    Version history:
        v0: first version.

    Examples:
        See `cmab_gym.from_ratings`.
    """

    build_model = staticmethod(ratings_model)


class RatingsVectorEnv(BanditVectorEnv):
    """Many trials of `RatingsEnv` in lockstep."""

    compiled_loop = True
    build_model = staticmethod(ratings_model)
