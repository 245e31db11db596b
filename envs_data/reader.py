"""Read ratings of any size: the rows are scanned by DuckDB, and only what is wanted is kept."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, IntArray
from cmab_gym.envs_data.archive import UNREADABLE, Files, open_files
from cmab_gym.envs_data.cache import checksum_of
from cmab_gym.envs_data.formats import Layout, ratings_layout, table_layout
from cmab_gym.envs_data.items import read_items
from cmab_gym.envs_data.ratings import Ratings, coded
from cmab_gym.envs_data.scan import Counts, Rows, Scan, open_scan

# The published sizes of MovieLens, by which its editions are known.
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
    """Read the ratings in a file, a folder or a zip archive; the format is told by its content.

    Known are MovieLens (100K, 1M, 10M, 20M, 25M, 32M, latest), the interactions of the UCSD
    Goodreads Book Graph (JSON lines or CSV) and goodbooks-10k. Where a user rated an item more
    than once, the last rating counts.

    Args:
        path: where they are.
        most_rated: keep only the ratings of this many items, or of all if there are fewer. A file
            of any size then needs little memory. None keeps all.
        only: keep only the ratings of these items, by id, likewise.
        on_error: what a damaged line does: "raise" an error with its number and text, or "skip"
            it; `notes["damaged"]` of the result counts them.

    Raises:
        FileNotFoundError: there is nothing at the path.
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
    *,
    most_rated: int | None = None,
    only: Sequence[Any] | None = None,
    on_error: OnError = "raise",
) -> Ratings:
    """Read any table of ratings: CSV (also .csv.gz) or Parquet, with named columns.

    Args:
        path: the file.
        user: name of the column of users.
        item: name of the column of items; may be "" with a category.
        rating: name of the column of ratings.
        category: name of a column whose values count as the items; "" if items do.
        time: name of the column of times, as integers; "" if there is none.
        most_rated: as in `read_ratings`.
        only: as in `read_ratings`.
        on_error: as in `read_ratings`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a column is missing, or as `read_ratings`.
    """
    checks.choice("on_error", on_error, ("raise", "skip"))
    with _readable(path), open_files(path) as files:
        layout = table_layout(files, user, item, rating, category, time)
        return _read(files, layout, most_rated, only, on_error)


def frame_ratings(
    frame: Any, user: str, item: str, rating: str, category: str = "", time: str = ""
) -> Ratings:
    """Take ratings from a pandas frame; the arguments are those of `read_table`.

    Raises:
        ValueError: it is no frame, lacks a column, or an id or a rating is missing.
    """
    if frame is None:
        raise ValueError("no ratings: pass data=, a path, a pandas frame, Ratings or a Survey")
    if not hasattr(frame, "columns"):
        raise ValueError(
            f"data of type {type(frame).__name__}: expected a path, a pandas frame, Ratings or a "
            "Survey"
        )
    key = category or item
    for name, column in (("user", user), ("item", key), ("rating", rating), ("time", time)):
        if column not in frame.columns and (column or name != "time"):
            raise ValueError(
                f"{name}={column!r} is no column of the frame, which has {list(frame.columns)}: "
                f"name it by {name}="
            )
    for column in {user, key, rating, item, time} - {""}:
        if list(frame.columns).count(column) > 1:
            raise ValueError(f"the frame has several columns {column!r}: expected one; rename them")
    try:
        stars = frame[rating].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {rating!r}: {error}; expected numbers") from error
    times = _whole_times(frame[time], time) if time else None
    items = frame[key].to_numpy()
    pair = items if item == key else frame[item].to_numpy() if item else None
    return _coded(Rows(frame[user].to_numpy(), items, stars, times, pair))


def _whole_times(column: Any, name: str) -> IntArray:
    """Return the times of a frame's column as integers: whole numbers, or dates in their unit."""
    if column.isna().any():
        raise ValueError(f"column {name!r} lacks {column.isna().sum()} times: drop these rows")
    kind = column.dtype.kind
    if kind not in "iuM":
        raise ValueError(
            f"column {name!r} of type {column.dtype}: expected whole numbers or dates, as from "
            "pandas.to_datetime"
        )
    times: IntArray = column.to_numpy().astype(np.int64)
    return times


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Say of a file that is damaged, truncated or encrypted which one it is."""
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
            raise ValueError(_say_damaged(files, layout, scan))
        if counts.damaged and files.is_gzip(layout.name):
            _check_gzip(files, layout.name)
        if not counts.rows.size:
            raise ValueError(f"{files.path} holds no rating: expected at least one")
        _check_range(layout, counts)
        if most_rated is not None:
            ratings = _top(scan, counts, most_rated)
        else:
            ratings = _coded(scan.rows(_among(counts.items, only)), _is_text(layout))
    known = read_items(files, layout, ratings.item_ids.tolist())
    # Where the items have another number elsewhere, the titles may be known by that one.
    names = {item: str(known.numbers[item]) for item in known.numbers}
    titles = {
        item: title
        for item in ratings.item_ids.tolist()
        if (title := known.titles.get(item) or known.titles.get(names.get(item, "")))
    }
    edition = _EDITIONS.get(int(counts.rows.sum())) if layout.source == "MovieLens" else None
    return replace(
        ratings,
        titles=titles,
        genres=known.genres,
        source=edition or layout.source,
        checksum=_checksum(files.path),
        notes={"damaged": counts.damaged, "unrated": counts.unrated, **ratings.notes},
    )


def _checksum(path: Path) -> str:
    return "" if path.is_dir() else checksum_of(path).removeprefix("sha256:")


def _check_gzip(files: Files, name: str) -> None:
    """Read gzip to its end, where its checksum is: skipping lines must not hide a damaged file."""
    with files.open(name) as file:
        while file.read(1 << 20):
            pass


def _among(items: AnyArray, only: Sequence[Any] | None) -> AnyArray | None:
    """Find the wanted items among those of a file, in its own type; None keeps all.

    Raises:
        ValueError: one of them is not there.
    """
    if only is None:
        return None
    place = {str(item): i for i, item in enumerate(items.tolist())}
    missing = [item for item in only if str(item) not in place]
    if missing:
        known = ", ".join(map(repr, items[:5].tolist()))
        raise ValueError(f"item {missing[0]!r} has no rating: expected ids such as {known}")
    return items[[place[str(item)] for item in only]]


def _top(scan: Scan, counts: Counts, number: int) -> Ratings:
    """Read the ratings of the most rated items, counted when all but the last of a pair are gone.

    How often an item stands in the file is at least how often it is rated: so it is enough to read
    some more items than are asked for, until no other can be among them.
    """
    number = min(checks.whole_number("n_arms", number, 1), counts.items.size)
    read = number + 10
    while True:
        ratings = _coded(scan.rows(counts.items[:read]), _is_text(scan.layout))
        chosen = ratings.most_rated(number)
        least = np.count_nonzero(ratings.items == chosen[-1])
        if read >= counts.items.size or counts.rows[read] < least:
            return ratings.of_items(chosen)
        read *= 4


def _coded(rows: Rows, of_text: bool = False) -> Ratings:
    """Give users and items their positions, and drop all but the last rating of each pair.

    Ids that come from a table of text become numbers if all of them are written so.
    """
    user_ids, users = coded("user", rows.users)
    item_ids, items = coded("item", rows.items)
    if of_text:
        (user_ids, users), (item_ids, items) = (
            _numbered(user_ids, users),
            _numbered(item_ids, items),
        )
    kept = np.arange(rows.stars.size)
    if rows.pair_items is not None:
        same = rows.pair_items is rows.items
        pair_ids, of_pair = (item_ids, items) if same else coded("item", rows.pair_items)
        kept = _last_of_each_pair(users, of_pair, pair_ids.size)
    return Ratings(
        users[kept],
        items[kept],
        rows.stars[kept],
        user_ids,
        item_ids,
        times=None if rows.times is None else rows.times[kept],
        notes={"duplicates": int(rows.stars.size - kept.size)},
    )


def _is_text(layout: Layout) -> bool:
    return layout.kind == "csv" and not layout.whole_ids


def _numbered(ids: AnyArray, place: IntArray) -> tuple[AnyArray, IntArray]:
    """Make numbers of text ids if all are written as whole numbers, as a CSV file's may be."""
    if ids.dtype.kind in "iu" or not all(_is_whole(each) for each in ids.tolist()):
        return ids, place
    numbers = np.array([int(each) for each in ids.tolist()], dtype=np.int64)
    order = np.argsort(numbers)
    return numbers[order], np.argsort(order)[place]


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 19 and str(int(text)) == text


def _last_of_each_pair(users: IntArray, items: IntArray, n_items: int) -> IntArray:
    """Find the last row of each pair of user and item, in the rows' order."""
    pairs = (users * n_items + items)[::-1]
    _, last = np.unique(pairs, return_index=True)
    return np.sort(pairs.size - 1 - last)


def _say_damaged(files: Files, layout: Layout, scan: Scan) -> str:
    """Name the first damaged line: the rare case, so it is searched for line by line."""
    rejected = scan.first_rejected()
    number, text, reason = _first_damaged(files, layout) or rejected or (0, "", "see its rows")
    if rejected and rejected[0] < number:
        number, text, reason = rejected
    where = f"line {number} is {text.strip()[:200]!r}" if number else "a row is damaged"
    return (
        f"{files.path}: {layout.name} {where} ({reason}): expected {layout.user}, {layout.item} "
        f"and {layout.rating}; mend it, or pass on_error='skip'"
    )


def _first_damaged(files: Files, layout: Layout) -> tuple[int, str, str] | None:
    if layout.kind == "parquet":
        return None
    wrong = _wrong_json if layout.kind == "json" else _wrong_csv
    with files.open(layout.name) as file:
        for number, line in enumerate(file, start=1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
            header = layout.kind == "csv" and layout.header and number == 1
            if text.strip() and not header and (reason := wrong(text.strip(), layout)):
                return number, text, reason
    return None


def _wrong_csv(line: str, layout: Layout) -> str:
    if len(layout.delimiter) > 1:
        fields = line.split(layout.delimiter)
    else:
        fields = next(csv.reader([line], delimiter=layout.delimiter))
    if len(fields) != len(layout.columns):
        return f"{len(fields)} fields instead of {len(layout.columns)}"
    row = dict(zip(layout.columns, fields, strict=True))
    for name in (layout.user, layout.item, layout.rating, layout.time, layout.pair_item):
        if name and not row[name]:
            return f"no {name}"
    numbers = [layout.user, layout.item] if layout.whole_ids else []
    for name in (*numbers, *([layout.time] if layout.time else [])):
        if not row[name].removeprefix("-").isdecimal():
            return f"{name} is no whole number"
    return _wrong_rating(row[layout.rating], layout)


def _wrong_json(line: str, layout: Layout) -> str:
    try:
        fields = json.loads(line)
    except ValueError as error:
        return str(error)
    if not isinstance(fields, dict):
        return "no object"
    for name in (layout.user, layout.item, layout.rating):
        if fields.get(name) is None:
            return f"no {name}"
    return _wrong_rating(fields[layout.rating], layout)


def _wrong_rating(value: Any, layout: Layout) -> str:
    try:
        float(value)
    except (TypeError, ValueError):
        return f"{layout.rating} is no number"
    return f"{layout.rating} is no number" if "_" in str(value) else ""


def _check_range(layout: Layout, counts: Counts) -> None:
    if np.isnan(counts.high):
        raise ValueError(f"a rating in {layout.name} is NaN: expected numbers; drop these rows")
    low, high = layout.bounds
    for value in (counts.low, counts.high):
        if not low <= value <= high:
            raise ValueError(
                f"rating {value:g} in {layout.name}: expected {low:g} to {high:g}, as in "
                f"{layout.source}; for another scale name the columns"
            )
