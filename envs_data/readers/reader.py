"""Read ratings of any size: DuckDB scans the rows, and only those asked for are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, IntArray
from cmab_gym.envs_data.ratings import Ratings, coded, positions_of
from cmab_gym.envs_data.readers.archive import Files, open_files
from cmab_gym.envs_data.readers.damage import TextScan
from cmab_gym.envs_data.readers.formats import find_layout
from cmab_gym.envs_data.readers.frames import arrow_table
from cmab_gym.envs_data.readers.items import read_items
from cmab_gym.envs_data.readers.layout import Layout, with_columns
from cmab_gym.envs_data.readers.options import ReadOptions
from cmab_gym.envs_data.readers.scan import ItemCounts, Rows, Scan, open_frame_scan, open_scan
from cmab_gym.envs_data.readers.text_file import prepare
from cmab_gym.envs_data.readers.users import read_segments
from cmab_gym.files import checksum
from cmab_gym.text import shortened

# The published number of ratings identifies an edition of MovieLens.
_EDITIONS = {
    100_000: "MovieLens 100K",
    1_000_209: "MovieLens 1M",
    10_000_054: "MovieLens 10M",
    20_000_263: "MovieLens 20M",
    25_000_095: "MovieLens 25M",
    32_000_204: "MovieLens 32M",
}


def read_ratings(
    path: str | Path,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    *,
    most_rated: int | None = None,
    items: Sequence[Any] | None = None,
) -> Ratings:
    """Read the ratings in a file, a folder or a zip archive.

    Without names of columns the format must be known: MovieLens (100K, 1M, 10M, 20M, 25M, 32M,
    latest), the interactions of the UCSD Goodreads Book Graph (JSON lines or CSV) or goodbooks-10k;
    they are recognised by content. With names, it is any CSV file, JSON lines or Parquet file. Text
    may be compressed with gzip. If a user rated an item more than once, the last rating counts.

    Args:
        path: the file, folder or archive; of a folder, the files that it holds directly.
        options: the names of the columns, and how the file is written.
        most_rated: keep only the ratings of this many items, the most rated ones, or of all if
            there are fewer. A file of any size then needs little memory. None keeps all.
        items: keep only the ratings of the items with these ids. This, too, needs little memory.

    Raises:
        FileNotFoundError: the path does not exist.
        ValueError: the format is unknown, a column or an item is missing, the file or a row of it
            is damaged, a rating is out of range, or a user is in several segments.
    """
    if most_rated is not None:
        most_rated = checks.whole_number("most_rated", most_rated, 1)
    with open_files(path) as files:
        layout = find_layout(files, options)
        file = files.path / layout.name if files.path.is_dir() else files.path
        before = file.stat()
        ratings = _read_file(files, layout, options, most_rated, items)
        described = read_items(files, layout, ratings.item_ids.tolist())
        segments = read_segments(files, layout, ratings.user_ids.tolist())
        digest, after = checksum(file), file.stat()
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ValueError(f"{file} changed while it was read: read it again when it is complete")
    return replace(
        ratings,
        titles=described.titles,
        genres=described.genres,
        segments=ratings.segments if layout.segment else segments,
        file="" if files.is_single else layout.name,
        checksum=digest,
    )


def frame_ratings(frame: Any, options: ReadOptions) -> Ratings:
    """Take ratings from a pandas frame, whose columns are checked like those of a Parquet file.

    Raises:
        ValueError: `frame` is not a frame, lacks a column, or has a row without an id or a rating;
            or an option is for files.

    Examples:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"who": ["a", "b"], "what": [7, 7], "stars": [4.0, 5.0]})
        >>> frame_ratings(frame, ReadOptions("who", "what", "stars"))
        <Ratings of unknown source: 2 ratings, 2 users, 1 items>
    """
    import pandas as pd

    if frame is None:
        raise ValueError("no ratings: pass data=, a path, a pandas frame, Ratings or a Survey")
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(
            f"data of type {type(frame).__name__}: expected a path, a pandas frame (call "
            ".to_pandas() of another table), Ratings or a Survey"
        )
    if wrong := {"separator", "encoding", "quote", "escape"} & set(options.changed()):
        raise ValueError(f"{', '.join(sorted(wrong))} with a frame: expected a path to a text file")
    options.check_columns("the frame", list(frame.columns))
    table = arrow_table(frame, list(options.columns.values()))
    layout = Layout("", "the frame", "frame", not_rated=options.not_rated)
    with open_frame_scan(table, with_columns(layout, options)) as scan:
        return _read(scan, options.on_error)


def _read_file(
    files: Files,
    layout: Layout,
    options: ReadOptions,
    most_rated: int | None,
    items: Sequence[Any] | None,
) -> Ratings:
    text = None if layout.kind == "parquet" else prepare(files, layout.name, layout.encoding)
    with open_scan(files, layout, text) as scan:
        if text is not None and most_rated is None and items is None:
            scan = scan.keep()
        lines = None if text is None else TextScan(files, text, scan)
        return _read(scan, options.on_error, lines, most_rated, items)


def _read(
    scan: Scan,
    on_error: str,
    lines: TextScan | None = None,
    most_rated: int | None = None,
    items: Sequence[Any] | None = None,
) -> Ratings:
    layout, counts = scan.layout, scan.counts()
    damaged = counts.damaged + counts.rejected
    damaged += 0 if lines is None else lines.lost_lines(counts)
    if damaged and on_error == "raise":
        raise ValueError(_first_damaged(scan) if lines is None else lines.first_damaged())
    if not counts.rows.size:
        raise ValueError(f"{scan.what} holds no rating: expected at least one")
    _check_range(scan, counts)
    if most_rated is not None:
        ratings = _most_rated(scan, counts, most_rated)
    else:
        wanted = None if items is None else counts.items[positions_of(items, counts.items)]
        rows = scan.rows(wanted)
        scan.forget()
        ratings = _to_ratings(scan, rows)
    edition = _EDITIONS.get(int(counts.rows.sum())) if layout.source == "MovieLens" else None
    return replace(
        ratings,
        source=edition or layout.source,
        notes={"damaged": damaged, "unrated": counts.unrated, **ratings.notes},
    )


def _first_damaged(scan: Scan) -> str:
    row, content, fault = scan.first_damaged() or (0, "", "")
    return (
        f"{scan.what} row {row}, counted from 1, is {shortened(content, 1000)} ({fault}): drop or "
        "correct it, or pass on_error='skip'"
    )


def _most_rated(scan: Scan, counts: ItemCounts, n_items: int) -> Ratings:
    """Read the ratings of the most rated items, of which each user counts once.

    An item has at least as many rows as ratings that count. So it is enough to read more items than
    asked for, until every other item has fewer rows than the last item chosen has ratings.
    """
    n_read = n_items + 10
    while True:
        ratings = _to_ratings(scan, scan.rows(counts.items[:n_read]))
        chosen = ratings.most_rated(n_items)
        fewest = np.count_nonzero(ratings.items == chosen[-1])
        if n_read >= counts.items.size or counts.rows[n_read] < fewest:
            return ratings.of_items(chosen)
        n_read *= 4


def _to_ratings(scan: Scan, rows: Rows) -> Ratings:
    """Replace ids by positions, and drop all but the last rating of each pair.

    Ids from a table of text become integers if all of them are written as integers.
    """
    user_ids, users = coded("user", rows.users)
    item_ids, items = coded("item", rows.items)
    if scan.layout.kind in ("csv", "json") and scan.layout.items == "":
        user_ids, users = _as_integers(user_ids, users)
        item_ids, items = _as_integers(item_ids, items)
    segments = None
    if rows.segments is not None:
        segments = _of_users(rows.segments, users, user_ids, scan.what)
    kept: Any = slice(None)
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
        segments=segments,
        times=None if rows.times is None else rows.times[kept],
        notes={"duplicates": int(rows.stars.size - rows.stars[kept].size)},
    )


def _of_users(segments: AnyArray, users: IntArray, user_ids: AnyArray, what: str) -> AnyArray:
    """Find the segment of each user, given that of each row of a table."""
    names, codes = coded("segment", segments)
    of_user = np.zeros(user_ids.size, np.int64)
    of_user[users] = codes
    wrong = np.flatnonzero(of_user[users] != codes)
    if wrong.size:
        row = wrong[0]
        found = sorted({str(names[codes[row]]), str(names[of_user[users[row]]])})
        raise ValueError(
            f"user {user_ids[users[row]]} is in several segments of {what}, {found}: expected one "
            "segment for each user"
        )
    return names.astype(str)[of_user]


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


def _last_of_each_pair(users: IntArray, items: IntArray, n_items: int) -> IntArray | slice:
    """Find the last row of each pair of user and item, in the order of the rows."""
    pairs = users * n_items + items
    in_order = np.sort(pairs)
    if (in_order[1:] != in_order[:-1]).all():
        return slice(None)  # all of them, without a copy
    del in_order
    pairs = pairs[::-1]
    _, last = np.unique(pairs, return_index=True)
    return np.sort(pairs.size - 1 - last)


def _check_range(scan: Scan, counts: ItemCounts) -> None:
    low, high = scan.layout.bounds
    for value in (counts.low, counts.high):
        if not low <= value <= high:
            raise ValueError(
                f"rating {value:g} in {scan.what}: expected {low:g} to {high:g}, as in "
                f"{scan.layout.source}; for another scale name the columns, or give their "
                "positions: user=0, item=1 and rating=2"
            )
