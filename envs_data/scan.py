"""Scan the rows of a ratings file with DuckDB, whatever its size."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.envs_data.archive import Files
from cmab_gym.envs_data.formats import Layout

_MEMORY = "1GB"  # limit for DuckDB, which then spills to a temporary folder


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
        unrated: the number of rows that say that there is no rating.
        damaged: the number of rows without a readable user, item, rating or time.
        low: the smallest rating.
        high: the largest rating; NaN if one is NaN.
    """

    items: AnyArray
    rows: IntArray
    unrated: int
    damaged: int
    low: float
    high: float


@dataclass(frozen=True)
class Scan:
    """A DuckDB connection, and the file that it reads."""

    connection: Any
    layout: Layout
    path: str
    compression: str
    kept: bool = False  # whether the rows have been parsed into a table of DuckDB

    def keep(self) -> Scan:
        """Parse all rows once, for callers that need all of them; they may spill to disk."""
        query = self._query("store_rejects = true")
        self.connection.execute(f"CREATE TEMP TABLE parsed AS {query}")
        return replace(self, kept=True)

    def counts(self) -> ItemCounts:
        """Count the rows of each item, and those that are unrated or damaged."""
        found = self.connection.execute(
            f"SELECT item, count(*) FILTER (WHERE {self._usable()}) AS usable, "  # noqa: S608
            "count(*) FILTER (WHERE stars = 0) AS zero, "
            f"count(*) FILTER (WHERE NOT ({self._complete()})) AS damaged, "
            f"min(stars) FILTER (WHERE {self._usable()}) AS low, "
            f"max(stars) FILTER (WHERE {self._usable()}) AS high "
            f"FROM ({self._query('store_rejects = true')}) "
            "GROUP BY item ORDER BY usable DESC, item"
        ).fetchnumpy()
        rated = found["usable"] > 0
        return ItemCounts(
            np.asarray(found["item"])[rated],
            found["usable"][rated],
            int(found["zero"].sum()) if self.layout.zero_is_unrated else 0,
            int(found["damaged"].sum()) + self._rejected(),
            float(np.min(np.asarray(found["low"])[rated], initial=np.inf)),
            float(np.max(np.asarray(found["high"])[rated], initial=-np.inf)),
        )

    def rows(self, items: AnyArray | None = None) -> Rows:
        """Fetch the usable rows of some items, or of all, in the order of the file."""
        wanted, parameters = "", {}
        if items is not None:
            # A join might change the order of the rows.
            wanted = " AND list_contains($items, item)"
            parameters["items"] = items.tolist()
        table = self.connection.execute(
            f"SELECT {', '.join(self._columns)} FROM ({self._query('ignore_errors = true')}) "  # noqa: S608
            f"WHERE {self._usable()}{wanted}",
            parameters,
        ).fetchnumpy()
        found = {name: np.asarray(column) for name, column in table.items()}
        pair = found["pair"] if self._has_pair else found["item"] if self.layout.pair_item else None
        given = (found["user"], found["item"], found["stars"], found.get("time"))
        return Rows(*given, pair, found.get("segment"))

    def first_rejected(self) -> tuple[int, str, str] | None:
        """Return number, text and reason of the first line with wrong columns, if any."""
        if self.layout.kind != "csv":
            return None
        found: tuple[int, str, str] | None = self.connection.execute(
            "SELECT line, csv_line, error_message FROM reject_errors ORDER BY line LIMIT 1"
        ).fetchone()
        return found

    def _rejected(self) -> int:
        if self.layout.kind != "csv":
            return 0
        query = "SELECT count(DISTINCT line) FROM reject_errors"
        return int(self.connection.execute(query).fetchone()[0])

    @property
    def _has_pair(self) -> bool:
        return self.layout.pair_item not in ("", self.layout.item)

    @property
    def _columns(self) -> list[str]:
        layout = self.layout
        optional = [
            ("time", bool(layout.time)),
            ("pair", self._has_pair),
            ("segment", bool(layout.segment)),
        ]
        return ['"user"', "item", "stars", *(name for name, given in optional if given)]

    def _usable(self) -> str:
        return self._complete() + (" AND stars <> 0" if self.layout.zero_is_unrated else "")

    def _complete(self) -> str:
        return " AND ".join(f"{name} IS NOT NULL" for name in self._columns)

    def _query(self, errors: str) -> str:
        if self.kept:
            return "SELECT * FROM parsed"
        layout = self.layout
        column = self._csv_column if layout.kind == "csv" else sql_name
        text = layout.kind == "csv"
        user, item = (column(name) for name in (layout.user, layout.item))
        if text and layout.whole_ids:
            user, item = _sql_integer(user), _sql_integer(item)
        stars = f"TRY_CAST({column(layout.rating)} AS DOUBLE)"
        if text:
            stars = f"CASE WHEN NOT contains({column(layout.rating)}, '_') THEN {stars} END"
        time = "NULL"
        if layout.time:
            time = _sql_integer(f"CAST({column(layout.time)} AS VARCHAR)")
        pair = column(layout.pair_item) if self._has_pair else "NULL"
        segment = f"CAST({column(layout.segment)} AS VARCHAR)" if layout.segment else "NULL"
        return (
            f'SELECT {user} AS "user", {item} AS item, {stars} AS stars, {time} AS time, '  # noqa: S608
            f"{pair} AS pair, {segment} AS segment FROM {self._source(errors)}"
        )

    def _csv_column(self, name: str) -> str:
        return f"c{self.layout.columns.index(name)}"

    def _source(self, errors: str) -> str:
        path, compression = sql_text(glob.escape(self.path)), sql_text(self.compression)
        if self.layout.kind == "parquet":
            return f"read_parquet({path})"
        if self.layout.kind == "json":
            names = (self.layout.user, self.layout.item, self.layout.rating)
            columns = ", ".join(f"{sql_text(name)}: 'VARCHAR'" for name in names)
            if self.compression == "none":
                compression = "'uncompressed'"  # DuckDB 1.2 does not accept 'none' here
            return (
                f"read_json({path}, format = 'newline_delimited', ignore_errors = true, "
                f"compression = {compression}, columns = {{{columns}}})"
            )
        # All options are given, so that nothing is guessed. auto_detect stays on: without it DuckDB
        # 2.0 takes 1.6 times as long and three times the memory for the same rows.
        columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(self.layout.columns)))
        quote = sql_text('"' if self.layout.header else "")
        return (
            f"read_csv({path}, header = {self.layout.header}, skip = 0, comment = '', "
            f"delim = {sql_text(self.layout.delimiter)}, quote = {quote}, escape = {quote}, "
            f"compression = {compression}, columns = {{{columns}}}, {errors})"
        )


@contextmanager
def open_scan(files: Files, layout: Layout) -> Iterator[Scan]:
    """Open a ratings file for scanning."""
    import duckdb

    connection = duckdb.connect(
        config={
            "memory_limit": _MEMORY,
            "threads": os.cpu_count() or 1,
            "temp_directory": str(files.scratch),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    compression = "gzip" if files.is_gzip(layout.name) else "none"
    try:
        yield Scan(connection, layout, str(files.on_disk(layout.name)), compression)
    finally:
        connection.close()


def _sql_integer(column: str) -> str:
    """Cast text to an integer only if it is written as one: 1.6, 1e3, 1_000 and 007 are not."""
    integer = f"TRY_CAST({column} AS BIGINT)"
    return f"CASE WHEN {column} = CAST({integer} AS VARCHAR) THEN {integer} END"


def sql_text(value: str) -> str:
    """Quote a value for SQL."""
    return "'" + value.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'
