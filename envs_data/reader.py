"""Read ratings of any size: DuckDB scans the rows, and only those asked for are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, IntArray
from cmab_gym.envs_data.archive import UNREADABLE, Files, open_files
from cmab_gym.envs_data.damage import describe_damage
from cmab_gym.envs_data.formats import Columns, Layout, ratings_layout, table_layout
from cmab_gym.envs_data.items import read_items
from cmab_gym.envs_data.ratings import Ratings, coded, positions_of
from cmab_gym.envs_data.scan import ItemCounts, Rows, Scan, open_scan
from cmab_gym.envs_data.users import read_segments
from cmab_gym.files import checksum

# The published number of ratings identifies an edition of MovieLens.
_EDITIONS = {
    100_000: "MovieLens 100K",
    1_000_209: "MovieLens 1M",
    10_000_054: "MovieLens 10M",
    20_000_263: "MovieLens 20M",
    25_000_095: "MovieLens 25M",
    32_000_204: "MovieLens 32M",
}

OnError = Literal["raise", "skip"]


def read_ratings(
    path: str | Path,
    *,
    most_rated: int | None = None,
    only: Sequence[Any] | None = None,
    on_error: OnError = "raise",
) -> Ratings:
    """Read the ratings in a file, a folder or a zip archive of a known format.

    Known formats are MovieLens (100K, 1M, 10M, 20M, 25M, 32M, latest), the interactions of the UCSD
    Goodreads Book Graph (JSON lines or CSV) and goodbooks-10k; they are recognised by content. If a
    user rated an item more than once, the last rating counts.

    Args:
        path: the file, folder or archive.
        most_rated: keep only the ratings of this many items, the most rated ones, or of all if
            there are fewer. A file of any size then needs little memory. None keeps all.
        only: keep only the ratings of the items with these ids. This, too, needs little memory.
        on_error: "raise" an error that names the first damaged line, or "skip" damaged lines;
            `notes["damaged"]` of the result counts them.

    Raises:
        FileNotFoundError: the path does not exist.
        ValueError: the format is unknown, a line is damaged, or a rating is out of range.
    """
    checks.choice("on_error", on_error, ("raise", "skip"))
    with _readable(path), open_files(path) as files:
        return _read(files, ratings_layout(files), most_rated, only, on_error)


def read_table(
    path: str | Path,
    user: str,
    item: str,
    rating: str,
    category: str = "",
    time: str = "",
    segment_by: str = "",
    *,
    most_rated: int | None = None,
    only: Sequence[Any] | None = None,
    on_error: OnError = "raise",
) -> Ratings:
    """Read any table of ratings with named columns: CSV (also .csv.gz) or Parquet.

    Args:
        path: the file.
        user: name of the column of users.
        item: name of the column of items; may be "" if there is a category.
        rating: name of the column of ratings.
        category: name of a column whose values are used as the items; "" for none.
        time: name of the column of times, as integers; "" if there is none.
        segment_by: name of a column whose values are the segments of the users, one for each user;
            "" if there is none.
        most_rated: as in `read_ratings`.
        only: as in `read_ratings`.
        on_error: as in `read_ratings`.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: a column is missing, a user is in several segments, or as for `read_ratings`.
    """
    checks.choice("on_error", on_error, ("raise", "skip"))
    with _readable(path), open_files(path) as files:
        layout = table_layout(files, Columns(user, item, rating, category, time, segment_by))
        return _read(files, layout, most_rated, only, on_error)


def frame_ratings(
    frame: Any,
    user: str,
    item: str,
    rating: str,
    category: str = "",
    time: str = "",
    segment_by: str = "",
) -> Ratings:
    """Take ratings from a pandas frame; the other arguments are those of `read_table`.

    Raises:
        ValueError: `frame` is not a frame, lacks a column, or has a row without an id or a rating.

    Examples:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"who": ["a", "b"], "what": [7, 7], "stars": [4.0, 5.0]})
        >>> frame_ratings(frame, "who", "what", "stars")
        <Ratings of unknown source: 2 ratings, 2 users, 1 items>
    """
    if frame is None:
        raise ValueError("no ratings: pass data=, a path, a pandas frame, Ratings or a Survey")
    if not hasattr(frame, "columns"):
        raise ValueError(
            f"data of type {type(frame).__name__}: expected a path, a pandas frame, Ratings or a "
            "Survey"
        )
    Columns(user, item, rating, category, time, segment_by).check("the frame", list(frame.columns))
    try:
        stars = frame[rating].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {rating!r}: {error}; expected numbers") from error
    times = _whole_times(frame[time], time) if time else None
    key = category or item
    items = frame[key].to_numpy()
    pair_items = items if item == key else frame[item].to_numpy() if item else None
    segments = _texts(frame[segment_by], segment_by) if segment_by else None
    return _to_ratings(Rows(frame[user].to_numpy(), items, stars, times, pair_items, segments))


def _texts(column: Any, name: str) -> AnyArray:
    """Return a column of segments as texts."""
    if column.isna().any():
        raise ValueError(f"column {name!r} lacks {column.isna().sum()} segments: fill them")
    texts: AnyArray = column.astype(str).to_numpy(dtype=object)
    return texts


def _whole_times(column: Any, name: str) -> IntArray:
    """Return a column of integers or dates as integers, dates in the unit of their type."""
    if column.isna().any():
        raise ValueError(f"column {name!r} lacks {column.isna().sum()} times: drop these rows")
    if column.dtype.kind not in "iuM":
        raise ValueError(
            f"column {name!r} of type {column.dtype}: expected whole numbers or dates, as from "
            "pandas.to_datetime"
        )
    times: IntArray = column.to_numpy().astype(np.int64)
    return times


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Name the file in the errors of one that is damaged, truncated or encrypted."""
    import duckdb
    from pyarrow import ArrowException

    try:
        yield
    except (*UNREADABLE, duckdb.Error, ArrowException) as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {error}): expected a whole file, as "
            "published; fetch it again"
        ) from error


def _read(
    files: Files,
    layout: Layout,
    most_rated: int | None,
    only: Sequence[Any] | None,
    on_error: OnError,
) -> Ratings:
    with open_scan(files, layout) as scan:
        if most_rated is None and only is None:
            scan = scan.keep()
        counts = scan.counts()
        if counts.damaged and on_error == "raise":
            raise ValueError(describe_damage(files, layout, scan.first_rejected()))
        if counts.damaged and files.is_gzip(layout.name):
            _check_gzip(files, layout.name)
        if not counts.rows.size:
            raise ValueError(f"{files.path} holds no rating: expected at least one")
        _check_range(layout, counts)
        if most_rated is not None:
            ratings = _most_rated(scan, counts, most_rated)
        else:
            wanted = None if only is None else counts.items[positions_of(only, counts.items)]
            ratings = _to_ratings(scan.rows(wanted), _is_text(layout))
    described = read_items(files, layout, ratings.item_ids.tolist())
    segments = read_segments(files, layout, ratings.user_ids.tolist())
    edition = _EDITIONS.get(int(counts.rows.sum())) if layout.source == "MovieLens" else None
    return replace(
        ratings,
        titles=described.titles,
        genres=described.genres,
        segments=ratings.segments if layout.segment else segments,
        source=edition or layout.source,
        checksum="" if files.path.is_dir() else checksum(files.path),
        notes={"damaged": counts.damaged, "unrated": counts.unrated, **ratings.notes},
    )


def _check_gzip(files: Files, name: str) -> None:
    """Read gzip to its end, where its checksum is: skipping lines must not hide a damaged file."""
    with files.open(name) as file:
        while file.read(1 << 20):
            pass


def _most_rated(scan: Scan, counts: ItemCounts, n_arms: int) -> Ratings:
    """Read the ratings of the most rated items, of which each user counts once.

    An item has at least as many rows as ratings that count. So it is enough to read more items than
    asked for, until every other item has fewer rows than the last item chosen has ratings.
    """
    n_arms = min(checks.whole_number("n_arms", n_arms, 1), counts.items.size)
    n_read = n_arms + 10
    while True:
        ratings = _to_ratings(scan.rows(counts.items[:n_read]), _is_text(scan.layout))
        chosen = ratings.most_rated(n_arms)
        fewest = np.count_nonzero(ratings.items == chosen[-1])
        if n_read >= counts.items.size or counts.rows[n_read] < fewest:
            return ratings.of_items(chosen)
        n_read *= 4


def _to_ratings(rows: Rows, from_text: bool = False) -> Ratings:
    """Replace ids by positions, and drop all but the last rating of each pair.

    Ids from a table of text become integers if all of them are written as integers.
    """
    user_ids, users = coded("user", rows.users)
    item_ids, items = coded("item", rows.items)
    if from_text:
        user_ids, users = _as_integers(user_ids, users)
        item_ids, items = _as_integers(item_ids, items)
    kept = np.arange(rows.stars.size)
    if rows.pair_items is not None:
        same = rows.pair_items is rows.items
        pair_ids, pair_items = (item_ids, items) if same else coded("item", rows.pair_items)
        kept = _last_of_each_pair(users, pair_items, pair_ids.size)
    return Ratings(
        users[kept],
        items[kept],
        rows.stars[kept],
        user_ids,
        item_ids,
        segments=None if rows.segments is None else _of_users(rows.segments, users, user_ids),
        times=None if rows.times is None else rows.times[kept],
        notes={"duplicates": int(rows.stars.size - kept.size)},
    )


def _of_users(segments: AnyArray, users: IntArray, user_ids: AnyArray) -> AnyArray:
    """Find the segment of each user, given that of each row."""
    names, codes = coded("segment", segments)
    of_user = np.zeros(user_ids.size, np.int64)
    of_user[users] = codes
    wrong = np.flatnonzero(of_user[users] != codes)
    if wrong.size:
        row = wrong[0]
        found = sorted({str(names[codes[row]]), str(names[of_user[users[row]]])})
        raise ValueError(
            f"user {user_ids[users[row]]} is in several segments, {found}: expected one segment "
            "for each user"
        )
    return names.astype(str)[of_user]


def _is_text(layout: Layout) -> bool:
    return layout.kind == "csv" and not layout.whole_ids


def _as_integers(ids: AnyArray, positions: IntArray) -> tuple[AnyArray, IntArray]:
    """Convert text ids to integers, and sort them so, if all are written as integers."""
    if ids.dtype.kind in "iu" or not all(_is_whole(each) for each in ids.tolist()):
        return ids, positions
    integers = np.array([int(each) for each in ids.tolist()], dtype=np.int64)
    order = np.argsort(integers)
    return integers[order], np.argsort(order)[positions]


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 19 and str(int(text)) == text


def _last_of_each_pair(users: IntArray, items: IntArray, n_items: int) -> IntArray:
    """Find the last row of each pair of user and item, in the order of the rows."""
    pairs = (users * n_items + items)[::-1]
    _, last = np.unique(pairs, return_index=True)
    return np.sort(pairs.size - 1 - last)


def _check_range(layout: Layout, counts: ItemCounts) -> None:
    if np.isnan(counts.high):
        raise ValueError(f"a rating in {layout.name} is NaN: expected numbers; drop these rows")
    low, high = layout.bounds
    for value in (counts.low, counts.high):
        if not low <= value <= high:
            raise ValueError(
                f"rating {value:g} in {layout.name}: expected {low:g} to {high:g}, as in "
                f"{layout.source}; for another scale name the columns"
            )
