"""What ratings files look like: a table of formats, told apart by content."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cmab_gym.envs_data.archive import Files


@dataclass(frozen=True)
class Layout:
    """How to read the rows of one ratings file.

    Args:
        source: what the data set is called.
        name: the file's name.
        kind: "csv", "json" (an object a line) or "parquet".
        columns: the names of all columns of a CSV file.
        delimiter: between its columns.
        header: whether the first line holds the names.
        user, item, rating, time: which columns are those; time may be "".
        zero_is_unrated: a rating of 0 means that there is none.
        bounds: the smallest and largest rating there can be.
        items: what kind of files beside it say what its items are: "movies", "books" (of
            goodbooks-10k), "goodreads" or "" for none.
        whole_ids: whether users and items are numbers, not text.
        pair_item: the column of items of which a user's last rating counts; "" if all do.
    """

    source: str
    name: str
    kind: str
    columns: tuple[str, ...]
    delimiter: str
    header: bool
    user: str
    item: str
    rating: str
    time: str = ""
    zero_is_unrated: bool = False
    bounds: tuple[float, float] = (float("-inf"), float("inf"))
    items: str = ""
    whole_ids: bool = False
    pair_item: str = ""


@dataclass(frozen=True)
class _Plain:
    """Rows without a header: user, item, rating, time."""

    source: str
    first_line: re.Pattern[str]
    delimiter: str
    bounds: tuple[float, float]


@dataclass(frozen=True)
class _Named:
    """Rows with named columns, or JSON objects with named fields."""

    source: str
    user: str
    item: str
    rating: str
    needs: tuple[str, ...] = ()
    time: str = ""
    zero_is_unrated: bool = False
    bounds: tuple[float, float] = (1, 5)
    items: str = "goodreads"


_PLAIN = (
    _Plain("MovieLens", re.compile(r"\d+\t\d+\t\d\t\d+"), "\t", (1, 5)),
    _Plain("MovieLens", re.compile(r"\d+::\d+::[\d.]+::\d+"), "::", (0.5, 5)),
)
_CSV = (
    _Named(
        "MovieLens", "userId", "movieId", "rating", time="timestamp", bounds=(0.5, 5),
        items="movies",
    ),
    _Named(
        "Goodreads (UCSD Book Graph)", "user_id", "book_id", "rating", ("is_read",),
        zero_is_unrated=True,
    ),
    _Named("Goodreads (goodbooks-10k)", "user_id", "book_id", "rating", items="books"),
)  # fmt: skip
_JSON = _Named("Goodreads (UCSD Book Graph)", "user_id", "book_id", "rating", zero_is_unrated=True)
# Where an archive holds parts of the ratings a second time, these are the whole.
_WHOLE = ("u.data", "ratings.dat", "ratings.csv")

SUPPORTED = (
    "MovieLens (100K, 1M, 10M, 20M, 25M, 32M, latest), Goodreads interactions (JSON lines or CSV) "
    "and goodbooks-10k"
)


def ratings_layout(files: Files) -> Layout:
    """Find the ratings file among files, by its first lines.

    Raises:
        ValueError: none is one, or several are.
    """
    single = not files.path.is_dir() and files.names[0] == files.path.name
    names = files.names[:1] if single else files.names
    # Of several files one may be no file of ours, and damaged; a single one must be readable.
    found = [each for name in names if (each := _layout(name, files.head(name, strict=single)))]
    if not found:
        raise ValueError(
            f"{files.path} holds no ratings that are known, only {list(names[:8])}: expected "
            f"{SUPPORTED}; for any other table name its columns: from_ratings(path, user=..., "
            "item=..., rating=...)"
        )
    if len(found) > 1:
        whole = [each for each in found if each.name.rsplit("/", 1)[-1] in _WHOLE]
        if len(whole) != 1:
            raise ValueError(
                f"{files.path} holds several ratings files, {[each.name for each in found]}: "
                "expected one; pass its own path"
            )
        found = whole
    return found[0]


def header_of(line: str, delimiter: str = ",") -> list[str]:
    """Split a header line into names; a nameless column gets the name of its position."""
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # no text at all, as Python 3.10 finds
        return []
    return [name.strip() or f"column{place}" for place, name in enumerate(names)]


def first_lines(head: bytes, number: int = 1) -> list[str]:
    """Decode the first lines of a file that are not empty."""
    text = head.decode("utf-8-sig", errors="replace")
    return [line for line in text.splitlines() if line.strip()][:number]


def _layout(name: str, head: bytes) -> Layout | None:
    lines = first_lines(head)
    if not lines:
        return None
    line = lines[0].strip()
    for plain in _PLAIN:
        if plain.first_line.fullmatch(line):
            columns = ("user", "item", "rating", "time")
            return Layout(
                plain.source, name, "csv", columns, plain.delimiter, False, *columns,
                bounds=plain.bounds, items="movies", whole_ids=True, pair_item="item",
            )  # fmt: skip
    if line.startswith("{"):
        return _json_layout(name, line)
    header = header_of(line)
    for named in _CSV:
        if {named.user, named.item, named.rating, *named.needs} <= set(header):
            return named_layout(name, header, named, ",")
    return None


def _json_layout(name: str, line: str) -> Layout | None:
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    if not {_JSON.user, _JSON.item, _JSON.rating} <= set(fields):
        return None
    return named_layout(name, (), _JSON, "")


def named_layout(name: str, header: Sequence[str], named: _Named, delimiter: str) -> Layout:
    """Describe a file whose columns, or fields, have names."""
    return Layout(
        named.source,
        name,
        "csv" if header else "json",
        tuple(header),
        delimiter,
        True,
        named.user,
        named.item,
        named.rating,
        named.time if named.time in header else "",
        named.zero_is_unrated,
        named.bounds,
        named.items,
        whole_ids=bool(header),
        pair_item=named.item,
    )


def table_layout(
    files: Files, user: str, item: str, rating: str, category: str, time: str
) -> Layout:
    """Describe a CSV or Parquet file of the user's, whose columns are given by name.

    Raises:
        ValueError: it is neither, or lacks a column.
    """
    if files.path.is_dir() or files.names[0] != files.path.name:
        raise ValueError(f"{files.path} is not a single file: expected a CSV or Parquet file")
    name = files.names[0]
    head = files.head(name)
    if head.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        kind, delimiter, header = "parquet", "", pq.read_schema(files.path).names
    else:
        line = (first_lines(head) or [""])[0]
        delimiter = max(",;\t|", key=line.count)
        kind, header = "csv", header_of(line, delimiter)
    named = {"user": user, "item": category or item, "rating": rating}
    unnamed = [what for what, column in named.items() if not column]
    if unnamed:
        raise ValueError(f"{unnamed[0]}='': expected the name of a column, one of {header}")
    wanted = (*named.values(), item, time)
    missing = [column for column in wanted if column and column not in header]
    if missing:
        raise ValueError(
            f"{files.path} has no column {missing[0]!r}, only {header}: name its columns by user=, "
            "item=, rating="
        )
    twice = [column for column in wanted if column and _count(header, column) > 1]
    if twice:
        raise ValueError(
            f"{files.path} has several columns called {twice[0]!r}, but for case, among {header}: "
            "expected one; rename the others"
        )
    return Layout(
        files.path.name,
        name,
        kind,
        tuple(header),
        delimiter,
        True,
        user,
        category or item,
        rating,
        time,
        pair_item=item,
    )


def _count(header: Sequence[str], column: str) -> int:
    return [name.casefold() for name in header].count(column.casefold())
