"""Scan a table of ratings of any size with DuckDB, and find its damaged rows.

Only this module decides which rows are damaged.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.envs_data.readers.archive import Files
from cmab_gym.envs_data.readers.column_types import (
    Column,
    Reading,
    read_id,
    read_label,
    read_rating,
    read_time,
)
from cmab_gym.envs_data.readers.layout import Layout
from cmab_gym.envs_data.readers.text_file import LONGEST_LINE, TextFile
from cmab_gym.files import reading

_MEMORY = "1GB"  # limit for DuckDB, which then spills to a temporary folder
_COUNT, _IGNORE = "store_rejects = true", "ignore_errors = true"  # lines that are not a row


@dataclass(frozen=True)
class Rows:
    """Columns of ratings, in the order of the file.

    `pair_items` are the items of which only a user's last rating counts; None if all ratings count.
    `segments` are those of the users; None if unknown.
    """

    users: AnyArray
    items: AnyArray
    stars: FloatArray
    times: IntArray | None = None
    pair_items: AnyArray | None = None
    segments: AnyArray | None = None


@dataclass(frozen=True)
class ItemCounts:
    """How many rows each item has, and how many rows cannot be used.

    Args:
        items: the items that are rated, those with most rows first, ties by id.
        rows: int64, the number of rows of each item.
        total: the number of all rows.
        unrated: the number of rows that say that there is no rating.
        damaged: the number of rows without a readable user, item, rating or time.
        rejected: the number of lines that are not a row.
        low: the smallest rating.
        high: the largest rating.
    """

    items: AnyArray
    rows: IntArray
    total: int
    unrated: int
    damaged: int
    rejected: int
    low: float
    high: float


@dataclass(frozen=True)
class Scan:
    """A DuckDB connection, and the table that it reads.

    Args:
        connection: the connection.
        layout: the layout of the table.
        what: names the table in errors.
        source: returns SQL for the table, given DuckDB's option for lines that are not a row.
        columns: SQL that reads its columns, by the name of the result.
        kept: whether the rows have been parsed into a table of DuckDB.
    """

    connection: Any
    layout: Layout
    what: str
    source: Callable[[str], str]
    columns: Mapping[str, Reading]
    kept: bool = False

    def keep(self) -> Scan:
        """Parse all rows once, for callers that need all of them; they may spill to disk."""
        self._run(f"CREATE TEMP TABLE parsed AS {self._query(_COUNT)}")
        return replace(self, kept=True)

    def forget(self) -> None:
        """Free the memory of the rows that `keep` parsed; they cannot be read again."""
        if self.kept:
            self._run("DROP TABLE parsed")

    def counts(self) -> ItemCounts:
        """Count the rows of each item, and those that are unrated or damaged."""
        found = self._run(
            f"SELECT item, count(*) AS total, count(*) FILTER (WHERE {self._usable}) AS usable, "  # noqa: S608
            f"count(*) FILTER (WHERE {self._unrated}) AS unrated, "
            f"count(*) FILTER (WHERE NOT ({self._complete})) AS damaged, "
            f"min(stars) FILTER (WHERE {self._usable}) AS low, "
            f"max(stars) FILTER (WHERE {self._usable}) AS high "
            f"FROM ({self._query(_COUNT)}) GROUP BY item ORDER BY usable DESC, item"
        ).fetchnumpy()
        rejected = "SELECT count(DISTINCT line) FROM reject_errors"
        rated = found["usable"] > 0
        return ItemCounts(
            np.asarray(found["item"])[rated],
            found["usable"][rated],
            int(found["total"].sum()),
            int(found["unrated"].sum()),
            int(found["damaged"].sum()),
            int(self._run(rejected).fetchone()[0]) if self.layout.kind == "csv" else 0,
            float(np.min(np.asarray(found["low"])[rated], initial=np.inf)),
            float(np.max(np.asarray(found["high"])[rated], initial=-np.inf)),
        )

    def rows(self, items: AnyArray | None = None) -> Rows:
        """Fetch the usable rows of some items, or of all, in the order of the file."""
        source, wanted, parameters = self._query(_IGNORE), "", {}
        if items is not None:
            # DuckDB looks the items up by a join, which changes the order of the rows.
            source = f"SELECT row_number() OVER () AS number, * FROM ({source})"  # noqa: S608
            wanted = " AND list_contains($items, item) ORDER BY number"
            parameters["items"] = items.tolist()
        table = self._run(
            f"SELECT {', '.join(map(sql_name, self.columns))} FROM ({source}) "  # noqa: S608
            f"WHERE {self._usable}{wanted}",
            parameters,
        ).fetchnumpy()
        found = {name: np.asarray(column) for name, column in table.items()}
        pair = found.get("pair", found["item"] if self.layout.pair_item else None)
        given = (found["user"], found["item"], found["stars"], found.get("time"))
        return Rows(*given, pair, found.get("segment"))

    def first_damaged(self) -> tuple[int, str, str] | None:
        """Return number, content and fault of the first damaged row; rows are counted from 1."""
        faults = " ".join(
            f"WHEN ({each.raw}) IS NULL THEN {sql_text(f'no {each.name}')} "
            f"WHEN ({each.sql}) IS NULL THEN {sql_text(f'{each.name} is not {each.expected}')}"
            for each in self.columns.values()
        )
        content = " || ', ' || ".join(
            f"{sql_text(f'{each.name}=')} || coalesce(CAST({each.raw} AS VARCHAR), '')"
            for each in self.columns.values()
        )
        source = self.source(_IGNORE)
        found: tuple[int, str, str] | None = self._run(
            f"SELECT number, content, fault FROM (SELECT row_number() OVER () AS number, "  # noqa: S608
            f"{content} AS content, CASE {faults} END AS fault FROM {source}) "
            "WHERE fault IS NOT NULL ORDER BY number LIMIT 1"
        ).fetchone()
        return found

    def first_rejected(self, kind: str = "") -> tuple[int, str] | None:
        """Return the number of the first line that is not a row, and DuckDB's name of its fault.

        Args:
            kind: the fault to look for; "" takes any.
        """
        if self.layout.kind != "csv":
            return None
        found: tuple[int, str] | None = self._run(
            "SELECT line, CAST(error_type AS VARCHAR) FROM reject_errors "
            "WHERE $kind = '' OR error_type = $kind ORDER BY line LIMIT 1",
            {"kind": kind},
        ).fetchone()
        return found

    def lines_inside(self) -> int:
        """Count the lines, except empty ones, that begin inside a field of a row of a CSV file."""
        columns = [f"c{i}" for i in range(len(self.layout.columns))]
        # Each run of line ends begins one such line.
        runs = [f"regexp_replace({column}, '(\\r?\\n)+', chr(10), 'g')" for column in columns]
        inside = " + ".join(
            f"coalesce(len({run}) - len(replace({run}, chr(10), '')), 0)" for run in runs
        )
        source = self.source(_IGNORE)
        query = f"SELECT coalesce(sum({inside}), 0) FROM {source}"  # noqa: S608
        return int(self._run(query).fetchone()[0])

    @property
    def _complete(self) -> str:
        return " AND ".join(f"{sql_name(name)} IS NOT NULL" for name in self.columns)

    @property
    def _unrated(self) -> str:
        values = ", ".join(repr(float(value)) for value in self.layout.not_rated)
        return f"stars IN ({values})" if values else "false"

    @property
    def _usable(self) -> str:
        return f"{self._complete} AND NOT ({self._unrated})"

    def _query(self, errors: str) -> str:
        if self.kept:
            return "SELECT * FROM parsed"
        read = ", ".join(f"{each.sql} AS {sql_name(name)}" for name, each in self.columns.items())
        return f"SELECT {read} FROM {self.source(errors)}"  # noqa: S608

    def _run(self, query: str, parameters: Mapping[str, Any] | None = None) -> Any:
        with _querying(self.what):
            return self.connection.execute(query, parameters)


@contextmanager
def open_scan(files: Files, layout: Layout, text: TextFile | None) -> Iterator[Scan]:
    """Open a ratings file for scanning.

    Args:
        files: the files.
        layout: the layout of the ratings file.
        text: the file as DuckDB needs it, if it is a text file.

    Raises:
        ValueError: a column cannot hold what it should.
    """
    what = files.title(layout.name)
    with _connected(str(files.scratch)) as connection:
        if text is None:
            path = sql_text(glob.escape(str(files.on_disk(layout.name))))
            yield _scan(connection, layout, what, lambda _: f"read_parquet({path})")
        else:
            yield _scan(connection, layout, what, _text_source(layout, text))


@contextmanager
def open_frame_scan(table: Any, layout: Layout) -> Iterator[Scan]:
    """Open an Arrow table for scanning.

    Raises:
        ValueError: a column cannot hold what it should.
    """
    with _connected("") as connection:
        with reading(layout.name):
            connection.register("frame", table)
        yield _scan(connection, layout, layout.name, lambda _: "frame")


def _scan(connection: Any, layout: Layout, what: str, source: Callable[[str], str]) -> Scan:
    def run(query: str) -> Any:
        with _querying(what):
            return connection.execute(query)

    if layout.kind == "csv":
        sql_of = {name: f"c{i}" for i, name in enumerate(layout.columns)}
        kinds: dict[str, str] = {}
    else:
        sql_of = {}
        described = run(f"DESCRIBE SELECT * FROM {source(_IGNORE)}").fetchall()  # noqa: S608
        kinds = {row[0]: row[1] for row in described}  # text in JSON lines

    def column(name: str) -> Column:
        return Column(name, sql_of.get(name, sql_name(name)), kinds.get(name, "VARCHAR"), what)

    whole = layout.whole_ids and layout.kind == "csv"
    columns = {
        "user": read_id(column(layout.user), whole),
        "item": read_id(column(layout.item), whole),
        "stars": read_rating(column(layout.rating)),
    }
    if layout.time:
        time = column(layout.time)
        first = f"SELECT {time.sql} FROM {source(_IGNORE)} WHERE {time.sql} <> '' LIMIT 1"  # noqa: S608
        example = run(first).fetchone() if time.kind == "VARCHAR" else None
        columns["time"] = read_time(time, example and example[0])
    if layout.pair_item not in ("", layout.item):
        columns["pair"] = read_id(column(layout.pair_item))
    if layout.segment:
        columns["segment"] = read_label(column(layout.segment))
    return Scan(connection, layout, what, source, columns)


@contextmanager
def _querying(what: str) -> Iterator[None]:
    """Treat errors as `reading` does, and raise KeyboardInterrupt again, which DuckDB replaces."""
    with reading(what):
        try:
            yield
        except RuntimeError as error:
            if "interrupted" in str(error):
                raise KeyboardInterrupt from error
            raise


@contextmanager
def _connected(scratch: str) -> Iterator[Any]:
    import duckdb

    connection = duckdb.connect(
        config={
            "memory_limit": _MEMORY,
            "threads": os.cpu_count() or 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            **({"temp_directory": scratch} if scratch else {}),
        }
    )
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def _text_source(layout: Layout, text: TextFile) -> Callable[[str], str]:
    """Return `Scan.source` of a text file, with all options, so that DuckDB guesses none."""
    path = sql_text(glob.escape(str(text.path)))
    if layout.kind == "json":
        names = dict.fromkeys(
            name
            for name in (
                layout.user,
                layout.item,
                layout.rating,
                layout.time,
                layout.pair_item,
                layout.segment,
            )
            if name
        )
        columns = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in names)
        compression = "gzip" if text.is_gzip else "uncompressed"
        source = (
            f"read_json({path}, format = 'newline_delimited', ignore_errors = true, "
            f"compression = '{compression}', maximum_object_size = {LONGEST_LINE}, "
            f"columns = {{{columns}}})"
        )
        return lambda _: source
    columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(layout.columns)))
    source = (
        f"read_csv({path}, auto_detect = false, header = false, skip = {layout.skip}, "
        f"comment = '', delim = {sql_text(layout.delimiter)}, quote = {sql_text(layout.quote)}, "
        f"escape = {sql_text(layout.escape or layout.quote)}, max_line_size = {LONGEST_LINE}, "
        f"compression = '{'gzip' if text.is_gzip else 'none'}', columns = {{{columns}}}, "
    )
    return lambda errors: f"{source}{errors})"


def sql_text(value: str) -> str:
    """Quote a value for SQL."""
    return "'" + value.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'
