"""`CMAB-Ratings-v0`: a bandit from any table of ratings, and `from_ratings`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from numpy.typing import ArrayLike

from cmab_gym.arrays import read_only
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.envs_data.archive import stamp
from cmab_gym.envs_data.arms import Arms, genre_arms, listed_arms, most_rated_arms
from cmab_gym.envs_data.cache import locate
from cmab_gym.envs_data.methods import Method
from cmab_gym.envs_data.ratings import Ratings
from cmab_gym.envs_data.reader import frame_ratings, read_ratings, read_table
from cmab_gym.envs_data.split import Split
from cmab_gym.envs_data.survey import Survey, take_survey
from cmab_gym.models.histogram import HistogramModel

if TYPE_CHECKING:
    import pandas as pd

N_ARMS = 20


def ratings_model(
    data: str | Path | pd.DataFrame | Ratings | Survey | None = None,
    user: str = "",
    item: str = "",
    rating: str = "",
    category: str = "",
    time: str = "",
    n_arms: int | None = None,
    items: Sequence[Any] | None = None,
    genres: str = "",
    genre_draw: int = 0,
    train_share: float = 0.5,
    split: str = "heavy-users",
    split_seed: int = 0,
    method: str = "mean",
    deviations: float = 1.0,
    delta: float = 0.05,
    min_support: int = 1,
    reward_support: ArrayLike | None = None,
    mask: float = 0.0,
    pad: float = 0.0,
    mask_seed: int = 0,
    on_error: str = "raise",
) -> HistogramModel:
    """Build the model of `CMAB-Ratings-v0`; the arguments are those of `RatingsEnv`."""
    if isinstance(data, Survey):
        if any((user, item, rating, category, time, n_arms, items is not None, genres)):
            raise ValueError(
                "data is a Survey: expected mask, pad and mask_seed alone; columns and arms are "
                "chosen when a survey is taken"
            )
        return data.model(mask, pad, mask_seed)
    if sum((n_arms is not None, items is not None, bool(genres))) > 1:
        given = f"n_arms={n_arms!r}, items={items!r}, genres={genres!r}"
        raise ValueError(f"{given}: expected one of them at most, to choose the arms")
    who = Split(train_share, split, split_seed)
    how = Method(method, deviations, delta, min_support)
    support = None if reward_support is None else tuple(read_only(reward_support).tolist())
    listed = None if items is None else tuple(items)
    choice = (category != "", n_arms, listed, genres, genre_draw)
    columns = (user, item, rating, category, time)
    if isinstance(data, str | Path):
        path = locate(data).resolve()
        number = N_ARMS if n_arms is None else n_arms
        wanted = None if genres or category or listed is not None else number
        key = (str(path), stamp(path))
        survey = _surveyed(key, columns, wanted, on_error, choice, who, how, support)
    else:
        if on_error != "raise":
            raise ValueError("on_error is for files: expected a path; use frame.dropna()")
        ratings = data if isinstance(data, Ratings) else frame_ratings(data, *columns)
        survey = take_survey(ratings, _arms(ratings, *choice), who, how, support)
    return survey.model(mask, pad, mask_seed)


@lru_cache(maxsize=4)
def _surveyed(
    key: tuple[str, Hashable],
    columns: tuple[str, ...],
    most_rated: int | None,
    on_error: Any,
    choice: tuple[Any, ...],
    split: Split,
    method: Method,
    support: tuple[float, ...] | None,
) -> Survey:
    """Read and survey a file; kept for the next call, as every agent's batch asks for it."""
    only = choice[2]  # listed items: with them, too, a file of any size needs little memory
    if any(columns):
        ratings = read_table(key[0], *columns, most_rated=most_rated, only=only, on_error=on_error)
    else:
        ratings = read_ratings(key[0], most_rated=most_rated, only=only, on_error=on_error)
    return take_survey(ratings, _arms(ratings, *choice), split, method, support)


def _arms(
    ratings: Ratings,
    by_category: bool,
    n_arms: int | None,
    items: tuple[Any, ...] | None,
    genres: str,
    draw: int,
) -> Arms:
    if items is not None:
        return listed_arms(ratings, items)
    if genres:
        return genre_arms(ratings, genres, draw)
    if by_category and n_arms is None:
        return listed_arms(ratings, ratings.item_ids.tolist())
    default = min(N_ARMS, ratings.item_ids.size)
    return most_rated_arms(ratings, default if n_arms is None else n_arms)


def from_ratings(source: Any, **settings: Any) -> gym.Env[Any, Any]:
    """Make a bandit of any table of ratings.

    Args:
        source: a path, a pandas frame, `Ratings`, or a `Survey`.
        settings: keywords of `CMAB-Ratings-v0`, such as user="who", item="what",
            rating="stars", n_arms=20, pad=0.1.

    Returns:
        `gym.make("CMAB-Ratings-v0", data=source, ...)`.
    """
    env: gym.Env[Any, Any] = gym.make("CMAB-Ratings-v0", data=source, **settings)
    return env


class RatingsEnv(BanditEnv):
    """A recommender without a history, from ratings of your own.

    Description:
        As `MovieLensEnv`: some users were surveyed, and their ratings give the pseudo-rewards; the
        others are the new population, and pulling an arm draws one of their ratings of it.

    Arms:
        `Discrete(K)`: the most rated items, given items, categories, or genres.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        A rating, in its own unit.

    Information:
        As `MovieLensEnv`, with the R ratings that occur as reward_support.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        data: path of a known archive (see `cmab_gym.envs_data.read_ratings`), or name of a data set
            that was fetched; path of a CSV or Parquet file whose columns are named; a pandas
            frame, `Ratings`, or a `Survey`.
        user, item, rating: names of the columns; needed unless the format is known. A 0 is a
            rating like any other, but in the Goodreads interactions, where it means none.
        category: name of a column whose values are the arms, instead of items. A user's ratings
            of a category all count, while of several ratings of one item the last one does.
        time: name of a column of integer times, for split="by-time".
        n_arms: how many of the most rated items are arms; default 20 (or all, if there are fewer),
            or all categories.
        items: ids of the items that are arms, instead.
        genres: make genres the arms: "random", "first" or "all" of a movie's genres count.
        genre_draw: which random draw of the genres.
        train_share: share of the ratings that is learned from; default 0.5.
        split: who is surveyed: "heavy-users" (default), "random" or "by-time".
        split_seed: of split="random".
        method: "mean" (default), "mean+sd", "soft", "hoeffding" or "bootstrap".
        deviations: of method="mean+sd"; default 1.
        delta: of the last three methods; default 0.05.
        min_support: pseudo-rewards that rest on fewer ratings are unknown; default 1.
        reward_support: the possible ratings; default those that occur.
        mask, pad, mask_seed: as in `MovieLensEnv`; default none.
        on_error: "skip" leaves damaged lines of a file out; default "raise".
        horizon, step_info, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-Ratings-v0`.

    Source:
        Gupta et al. (2021), Sections 2.2 and 5.

    Version history:
        v0: first version.
    """

    build_model = staticmethod(ratings_model)


class RatingsVectorEnv(BanditVectorEnv):
    """Many trials of `RatingsEnv` in lockstep."""

    build_model = staticmethod(ratings_model)
