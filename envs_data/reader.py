"""Read ratings of any size: the rows are scanned by DuckDB, and only what is wanted is kept."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.data.archive import Files, open_files
from cmab_gym.data.formats import Layout, ratings_layout, table_layout
from cmab_gym.data.items import Items, read_items
from cmab_gym.data.ratings import Ratings, coded

_MEMORY = "1GB"  # of DuckDB's own; beyond it spills to a temporary folder
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
    path: str | Path, *, most_rated: int | None = None, on_error: OnError = "raise"
) -> Ratings:
    """Read the ratings in a file, a folder or a zip archive; the format is told by its content.

    Known are MovieLens (100K, 1M, 10M, 20M, 25M, 32M, latest), the interactions of the UCSD
    Goodreads Book Graph (JSON lines or CSV) and goodbooks-10k. Where a user rated an item more
    than once, the last rating counts.

    Args:
        path: where they are.
        most_rated: keep only the ratings of this many items; None keeps all. A file of any size
            then needs little memory.
        on_error: what a damaged line does: "raise" an error with its number and text, or "skip"
            it; `notes["damaged"]` of the result counts them.

    Raises:
        FileNotFoundError: there is nothing at the path.
        ValueError: the format is unknown, a line is damaged, a rating is out of range, or there
            are fewer items than asked for.
    """
    checks.choice("on_error", on_error, ("raise", "skip"))
    with _readable(path), open_files(path) as files:
        return _read(files, ratings_layout(files), most_rated, on_error)


def read_table(
    path: str | Path,
    user: str,
    item: str,
    rating: str,
    category: str = "",
    time: str = "",
    *,
    most_rated: int | None = None,
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
        on_error: as in `read_ratings`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a column is missing, or as `read_ratings`.
    """
    checks.choice("on_error", on_error, ("raise", "skip"))
    with _readable(path), open_files(path) as files:
        layout = table_layout(files, user, item, rating, category, time)
        return _read(files, layout, most_rated, on_error)


def frame_ratings(
    frame: Any, user: str, item: str, rating: str, category: str = "", time: str = ""
) -> Ratings:
    """Take ratings from a pandas frame; the arguments are those of `read_table`.

    Raises:
        ValueError: it is no frame, lacks a column, or an id or a rating is missing.
    """
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
    try:
        stars = frame[rating].to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {rating!r}: {error}; expected numbers") from error
    times = frame[time].to_numpy(dtype=np.int64) if time else None
    items = frame[key].to_numpy()
    pair = items if item == key else frame[item].to_numpy() if item else None
    return _coded(_Rows(frame[user].to_numpy(), items, stars, times, pair))


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Say of a file that is damaged, truncated or encrypted which one it is."""
    import duckdb
    from pyarrow import ArrowException

    broken = (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, RuntimeError)
    try:
        yield
    except (*broken, duckdb.Error, ArrowException) as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {error}): expected a whole file, as "
            "published; fetch it again"
        ) from error


def _read(files: Files, layout: Layout, most_rated: int | None, on_error: OnError) -> Ratings:
    scan = _Scan.of(files.on_disk(layout.name), layout, str(files.scratch))
    try:
        counts = scan.counts()
        damaged = int(counts["missing"].sum()) + len(scan.rejected())
        if damaged and on_error == "raise":
            raise ValueError(_say_damaged(files, layout, scan))
        if not counts["number"].sum():
            raise ValueError(f"{files.path} holds no rating: expected at least one")
        _check_range(layout, counts)
        ratings = _coded(scan.rows()) if most_rated is None else _top(scan, counts, most_rated)
    finally:
        scan.connection.close()
    item_ids = ratings.item_ids.tolist()
    known = read_items(files, item_ids) if layout.known else Items()
    # Where the items have another number elsewhere, the titles may be known by that one.
    titles = {
        item: title
        for item in item_ids
        if (title := known.titles.get(item) or known.titles.get(str(known.numbers.get(item))))
    }
    unrated = int(counts["zero"].sum()) if layout.zero_is_unrated else 0
    return replace(
        ratings,
        titles=titles,
        genres=known.genres,
        source=_EDITIONS.get(int(counts["number"].sum()), layout.source),
        checksum=sha256_of(files.path),
        notes={"damaged": damaged, "unrated": unrated, **ratings.notes},
    )


def _top(scan: _Scan, counts: dict[str, AnyArray], number: int) -> Ratings:
    """Read the ratings of the most rated items, counted when all but the last of a pair are gone.

    How often an item stands in the file is at least how often it is rated: so it is enough to read
    some more items than are asked for, until no other can be among them.
    """
    number = checks.whole_number("n_arms", number, 1)
    named = ~np.ma.getmaskarray(np.ma.asarray(counts["item"])) & (counts["number"] > 0)
    items, rows = np.asarray(counts["item"])[named], counts["number"][named]
    read = number + 10
    while True:
        ratings = _coded(scan.rows(items[:read]))
        chosen = ratings.most_rated(number)
        least = np.count_nonzero(ratings.items == chosen[-1])
        if read >= items.size or rows[read] < least:
            return ratings.of_items(chosen)
        read *= 4


def _coded(rows: _Rows) -> Ratings:
    """Give users and items their positions, and drop all but the last rating of each pair."""
    user_ids, users = coded("user", rows.users)
    item_ids, items = coded("item", rows.items)
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


def _last_of_each_pair(users: IntArray, items: IntArray, n_items: int) -> IntArray:
    """Find the last row of each pair of user and item, in the rows' order."""
    pairs = (users * n_items + items)[::-1]
    _, last = np.unique(pairs, return_index=True)
    return np.sort(pairs.size - 1 - last)


def _say_damaged(files: Files, layout: Layout, scan: _Scan) -> str:
    """Name the first damaged line: the rare case, so it is searched for line by line."""
    if rejected := scan.rejected():
        number, text, reason = rejected[0]
    else:
        number, text, reason = _first_incomplete(files, layout)
    return (
        f"{files.path}: {layout.name} line {number} is {text.strip()[:200]!r} ({reason}): expected "
        f"{layout.user}, {layout.item} and {layout.rating}; mend it, or pass on_error='skip'"
    )


def _first_incomplete(files: Files, layout: Layout) -> tuple[int, str, str]:
    if layout.kind == "parquet":
        return 0, "", "a user, item or rating is missing"
    wrong = _wrong_json if layout.kind == "json" else _wrong_csv
    with files.open(layout.name) as file:
        for number, line in enumerate(file, start=1):
            text = line.decode("utf-8", errors="replace")
            if text.strip() and (reason := wrong(text, layout)):
                return number, text, reason
    return 0, "", "a user, item or rating is missing"


def _wrong_csv(line: str, layout: Layout) -> str:
    fields = next(csv.reader([line.strip()], delimiter=layout.delimiter[0]))
    names = [name for name, _ in layout.columns]
    if len(layout.delimiter) > 1:
        fields = line.strip().split(layout.delimiter)
    for name in (layout.user, layout.item, layout.rating):
        if not fields[names.index(name)]:
            return f"no {name}"
    return ""


def _wrong_json(line: str, layout: Layout) -> str:
    try:
        fields = json.loads(line)
    except ValueError as error:
        return str(error)
    for name in (layout.user, layout.item, layout.rating):
        if fields.get(name) is None:
            return f"no {name}"
    try:
        float(fields[layout.rating])
    except (TypeError, ValueError):
        return f"{layout.rating} is no number"
    return ""


def _check_range(layout: Layout, counts: dict[str, AnyArray]) -> None:
    if np.isnan(np.asarray(counts["high"], dtype=np.float64)).any():
        raise ValueError(f"a rating in {layout.name} is NaN: expected numbers; drop these rows")
    low, high = layout.bounds
    for value in (np.ma.min(counts["low"]), np.ma.max(counts["high"])):
        if not low <= value <= high:
            raise ValueError(
                f"rating {value:g} in {layout.name}: expected {low:g} to {high:g}, as in "
                f"{layout.source}; for another scale name the columns"
            )


@dataclass(frozen=True)
class _Rows:
    users: AnyArray
    items: AnyArray
    stars: FloatArray
    times: IntArray | None
    pair_items: AnyArray | None = None  # items of which the last rating counts


@dataclass(frozen=True)
class _Scan:
    """A DuckDB connection, and the query that yields a file's rows."""

    connection: Any
    layout: Layout
    query: str

    @classmethod
    def of(cls, path: Path, layout: Layout, scratch: str) -> _Scan:
        import duckdb

        connection = duckdb.connect(
            config={
                "memory_limit": _MEMORY,
                "threads": os.cpu_count() or 1,
                "temp_directory": scratch,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        source = _SOURCES[layout.kind](path, layout)
        time = _quoted(layout.time) if layout.time else "NULL"
        apart = layout.pair_item and layout.pair_item != layout.item
        pair = _quoted(layout.pair_item) if apart else "NULL"
        query = (
            f'SELECT {_quoted(layout.user)} AS "user", {_quoted(layout.item)} AS item, '  # noqa: S608
            f"CAST({_quoted(layout.rating)} AS DOUBLE) AS stars, {time} AS time, "
            f"{pair} AS pair FROM {source}"
        )
        return cls(connection, layout, query)

    def counts(self) -> dict[str, AnyArray]:
        """Count each item's ratings, and note what is unrated or damaged."""
        query = self.query.replace("\0", ", store_rejects = true")
        usable = self._usable()
        found: dict[str, AnyArray] = self.connection.execute(
            f"SELECT item, count(*) FILTER (WHERE {usable}) AS number, "  # noqa: S608
            "count(*) FILTER (WHERE stars = 0) AS zero, "
            'count(*) FILTER (WHERE stars IS NULL OR "user" IS NULL OR item IS NULL) AS missing, '
            f"min(stars) FILTER (WHERE {usable}) AS low, "
            f"max(stars) FILTER (WHERE {usable}) AS high "
            f"FROM ({query}) GROUP BY item ORDER BY number DESC, item"
        ).fetchnumpy()
        return found

    def rows(self, items: AnyArray | None = None) -> _Rows:
        """Fetch the usable rows, in the file's order; those of some items, or all."""
        query = self.query.replace("\0", ", ignore_errors = true")
        wanted, parameters = "", {}
        if items is not None:
            # A function, not a join: a join may change the order of the rows.
            wanted = " AND list_contains($items, item)"
            parameters["items"] = items.tolist()
        apart = self.layout.pair_item not in ("", self.layout.item)
        columns = ['"user"', "item", "stars", *(["time"] if self.layout.time else [])]
        columns += ["pair"] if apart else []
        table = self.connection.execute(
            f"SELECT {', '.join(columns)} FROM ({query}) "  # noqa: S608
            f"WHERE {self._usable()}{wanted}",
            parameters,
        ).fetchnumpy()
        times = table["time"].astype(np.int64) if self.layout.time else None
        pair = table["pair"] if apart else table["item"] if self.layout.pair_item else None
        stars = table["stars"].astype(np.float64, copy=False)
        return _Rows(table["user"], table["item"], stars, times, pair)

    def rejected(self) -> list[tuple[int, str, str]]:
        """Return line number, text and reason of the damaged lines of a CSV file, after `counts`.

        Of JSON there are none: what does not parse counts as missing.
        """
        if self.layout.kind != "csv":
            return []
        found: list[tuple[int, str, str]] = self.connection.execute(
            "SELECT line, any_value(csv_line), any_value(error_message) FROM reject_errors "
            "GROUP BY line ORDER BY line"
        ).fetchall()
        return found

    def _usable(self) -> str:
        rated = " AND stars <> 0" if self.layout.zero_is_unrated else ""
        return f'"user" IS NOT NULL AND item IS NOT NULL AND stars IS NOT NULL{rated}'


def _csv_source(path: Path, layout: Layout) -> str:
    # Everything is said, so that nothing is guessed; yet auto_detect stays on: without it DuckDB
    # 2.0 takes 1.6 times as long and three times the memory for the same rows.
    columns = ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in layout.columns)
    quote = '"' if layout.header else ""
    return (
        f"read_csv({_text(str(path))}, header = {layout.header}, skip = 0, comment = '', "
        f"delim = {_text(layout.delimiter)}, quote = {_text(quote)}, escape = {_text(quote)}, "
        f"columns = {{{columns}}}\0)"
    )


def _json_source(path: Path, layout: Layout) -> str:
    return (
        f"read_json({_text(str(path))}, format = 'newline_delimited', ignore_errors = true, "
        f"columns = {{{_text(layout.user)}: 'VARCHAR', {_text(layout.item)}: 'VARCHAR', "
        f"{_text(layout.rating)}: 'DOUBLE'}})"
    )


def _parquet_source(path: Path, layout: Layout) -> str:
    return f"read_parquet({_text(str(path))})"


_SOURCES = {"csv": _csv_source, "json": _json_source, "parquet": _parquet_source}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder there is none."""
    if path.is_dir():
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _text(value: str) -> str:
    """Quote a value for SQL."""
    return "'" + value.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    """Quote a column's name for SQL."""
    return '"' + name.replace('"', '""') + '"'
