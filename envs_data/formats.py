"""The formats of ratings files, told apart by their content."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from cmab_gym.envs_data.archive import Files


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a ratings file.

    Args:
        source: the name of the data set.
        name: the name of the file.
        kind: "csv", "json" (one object per line) or "parquet".
        columns: the names of all columns of a CSV file.
        delimiter: the text between its columns.
        header: whether its first line holds the names.
        user, item, rating, time, segment: the columns that hold these; time and segment, that of
            the user, may be "".
        zero_is_unrated: whether a rating of 0 means that there is no rating.
        bounds: the smallest and the largest possible rating.
        items: the kind of the files next to it that describe its items: "movies", "books" (of
            goodbooks-10k), "goodreads", or "" for none.
        whole_ids: whether users and items are integers, not text.
        pair_item: the column of items of which only a user's last rating counts; "" if all count.
    """

    source: str
    name: str = ""
    kind: str = "csv"
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    header: bool = True
    user: str = "user"
    item: str = "item"
    rating: str = "rating"
    time: str = ""
    segment: str = ""
    zero_is_unrated: bool = False
    bounds: tuple[float, float] = (float("-inf"), float("inf"))
    items: str = ""
    whole_ids: bool = False
    pair_item: str = ""


class Columns(NamedTuple):
    """The columns of a table of ratings; "" for one that is not given."""

    user: str
    item: str
    rating: str
    category: str = ""
    time: str = ""
    segment_by: str = ""

    def check(
        self, table: str, header: Sequence[Any], fold: Callable[[Any], Any] = lambda name: name
    ) -> None:
        """Check that a table has each of the columns once.

        Args:
            table: what to call the table in an error.
            header: the names of its columns.
            fold: function of a name; columns with the same result cannot be told apart.

        Raises:
            ValueError: a column is missing, or is there several times.
        """
        needed = ("user", "category" if self.category else "item", "rating")
        for parameter, column in self._asdict().items():
            if not column and parameter not in needed:
                continue
            if column not in header:
                raise ValueError(
                    f"{parameter}={column!r} is not a column of {table}, which has {list(header)}: "
                    f"name one of them by {parameter}="
                )
            same = [name for name in header if fold(name) == fold(column)]
            if len(same) > 1:
                raise ValueError(
                    f"{table} has several columns {same} for {parameter}={column!r}: expected one; "
                    "rename the others"
                )


_MOVIELENS = Layout(
    "MovieLens", time="time", bounds=(0.5, 5), items="movies", whole_ids=True, pair_item="item"
)
_WITHOUT_HEADER = replace(_MOVIELENS, header=False, columns=("user", "item", "rating", "time"))
_GOODREADS = Layout(
    "Goodreads (UCSD Book Graph)", user="user_id", item="book_id", zero_is_unrated=True,
    bounds=(1, 5), items="goodreads", pair_item="book_id",
)  # fmt: skip
_JSON = replace(_GOODREADS, kind="json")
# The pattern of the first line, and the layout.
_BY_FIRST_LINE = (
    (re.compile(r"\d+\t\d+\t\d\t\d+"), replace(_WITHOUT_HEADER, delimiter="\t", bounds=(1, 5))),
    (re.compile(r"\d+::\d+::[\d.]+::\d+"), replace(_WITHOUT_HEADER, delimiter="::")),
)
# The layout, and the columns that it needs in addition to user, item and rating.
_BY_HEADER = (
    (replace(_MOVIELENS, user="userId", item="movieId", time="timestamp", pair_item="movieId"), ()),
    (replace(_GOODREADS, whole_ids=True), ("is_read",)),
    (
        replace(
            _GOODREADS, source="Goodreads (goodbooks-10k)", zero_is_unrated=False, items="books",
            whole_ids=True,
        ),
        (),
    ),
)  # fmt: skip
# In an archive that also holds parts of the ratings, these files hold all of them.
_COMPLETE = ("u.data", "ratings.dat", "ratings.csv")

SUPPORTED = (
    "MovieLens (100K, 1M, 10M, 20M, 25M, 32M, latest), Goodreads interactions (JSON lines or CSV) "
    "and goodbooks-10k"
)


def ratings_layout(files: Files) -> Layout:
    """Find the ratings file among files, by its first line.

    Raises:
        ValueError: none of them is a known ratings file, or several are.
    """
    single = not files.path.is_dir() and files.names[0] == files.path.name
    names = files.names[:1] if single else files.names
    # Of several files one may be unrelated and damaged; a single one must be readable.
    found = [each for name in names if (each := _layout(name, files.head(name, strict=single)))]
    if not found:
        raise ValueError(
            f"{files.path} is not in a known format (its files: {list(names[:8])}): expected "
            f"{SUPPORTED}; for any other table, name its columns with user=, item= and rating="
        )
    if len(found) > 1:
        complete = [each for each in found if each.name.rsplit("/", 1)[-1] in _COMPLETE]
        if len(complete) != 1:
            raise ValueError(
                f"{files.path} holds several ratings files, {[each.name for each in found]}: "
                "expected one; pass its own path"
            )
        found = complete
    return found[0]


def table_layout(files: Files, columns: Columns) -> Layout:
    """Describe a CSV or Parquet file with the given columns.

    Raises:
        ValueError: it is neither, lacks a column, or has one of them twice.
    """
    if files.path.is_dir() or files.names[0] != files.path.name:
        raise ValueError(f"{files.path} is not a single file: expected a CSV or Parquet file")
    name = files.names[0]
    head = files.head(name)
    if head.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        kind, delimiter, header = "parquet", "", pq.read_schema(files.path).names
    else:
        line = first_line(head)
        delimiter = max(",;\t|", key=line.count)
        kind, header = "csv", header_of(line, delimiter)
    columns.check(str(files.path), header, str.casefold)  # DuckDB ignores the case of names
    user, item, rating, category, time, segment = columns
    return Layout(
        name, name, kind, tuple(header), delimiter, True, user, category or item, rating, time,
        segment, pair_item=item,
    )  # fmt: skip


def header_of(line: str, delimiter: str = ",") -> list[str]:
    """Split a header line into names; a nameless column i is called "column{i}"."""
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # Python 3.10 raises it for lines that are not text
        return []
    return [name.strip() or f"column{i}" for i, name in enumerate(names)]


def first_line(head: bytes) -> str:
    """Decode the first line of a file that is not empty; "" if all are."""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    return next((line for line in lines if line.strip()), "")


def json_fields(line: str) -> set[str]:
    """Return the names of the fields of a JSON object; an empty set if the line is not one."""
    try:
        fields = json.loads(line)
    except ValueError:
        return set()
    return set(fields) if isinstance(fields, dict) else set()


def _layout(name: str, head: bytes) -> Layout | None:
    line = first_line(head).strip()
    for pattern, layout in _BY_FIRST_LINE:
        if pattern.fullmatch(line):
            return replace(layout, name=name)
    if {_JSON.user, _JSON.item, _JSON.rating} <= json_fields(line):
        return replace(_JSON, name=name)
    header = header_of(line)
    for layout, others in _BY_HEADER:
        if {layout.user, layout.item, layout.rating, *others} <= set(header):
            time = layout.time if layout.time in header else ""
            return replace(layout, name=name, columns=tuple(header), time=time)
    return None
