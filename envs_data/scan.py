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

_MEMORY = "1GB"  # of DuckDB's own; beyond it spills to a temporary folder


@dataclass(frozen=True)
class Rows:
    """Columns of ratings, in the file's order.

    `pair_items` are the items of which a user's last rating counts; None if every rating does.
    """

    users: AnyArray
    items: AnyArray
    stars: FloatArray
    times: IntArray | None = None
    pair_items: AnyArray | None = None


@dataclass(frozen=True)
class Counts:
    """How often each item is rated, most often first, and what cannot be used.

    Args:
        items: the items that are rated, by their number of rows and then by id.
        rows: int64, the number of rows of each.
        unrated: rows that say that there is no rating.
        damaged: rows without a user, item, rating or time that can be read.
        low: the smallest rating.
        high: the largest, NaN if one is.
    """

    items: AnyArray
    rows: IntArray
    unrated: int
    damaged: int
    low: float
    high: float


@dataclass(frozen=True)
class Scan:
    """A DuckDB connection, and where a file's rows come from."""

    connection: Any
    layout: Layout
    path: str
    compression: str
    kept: bool = False  # whether the rows have been parsed into a table of DuckDB's

    def keep(self) -> Scan:
        """Parse all rows once, for when all of them are wanted; they may spill to disk."""
        query = self._query("store_rejects = true")
        self.connection.execute(f"CREATE TEMP TABLE parsed AS {query}")
        return replace(self, kept=True)

    def counts(self) -> Counts:
        """Count each item's ratings, and what is unrated or damaged."""
        # The time and the other item are counted so that a damaged one is noticed.
        found = self.connection.execute(
            f"SELECT item, count(*) FILTER (WHERE {self._usable()}) AS number, "  # noqa: S608
            "count(*) FILTER (WHERE stars = 0) AS zero, "
            f"count(*) FILTER (WHERE NOT ({self._whole()})) AS damaged, "
            f"min(stars) FILTER (WHERE {self._usable()}) AS low, "
            f"max(stars) FILTER (WHERE {self._usable()}) AS high "
            f"FROM ({self._query('store_rejects = true')}) "
            "GROUP BY item ORDER BY number DESC, item"
        ).fetchnumpy()
        rated = found["number"] > 0
        return Counts(
            np.asarray(found["item"])[rated],
            found["number"][rated],
            int(found["zero"].sum()) if self.layout.zero_is_unrated else 0,
            int(found["damaged"].sum()) + self._rejected(),
            float(np.min(np.asarray(found["low"])[rated], initial=np.inf)),
            float(np.max(np.asarray(found["high"])[rated], initial=-np.inf)),
        )

    def rows(self, items: AnyArray | None = None) -> Rows:
        """Fetch the usable rows, in the file's order; those of some items, or all."""
        wanted, parameters = "", {}
        if items is not None:
            # A function, not a join: a join may change the order of the rows.
            wanted = " AND list_contains($items, item)"
            parameters["items"] = items.tolist()
        columns = ['"user"', "item", "stars"]
        columns += ["time"] if self.layout.time else []
        columns += ["pair"] if self._has_pair else []
        table = self.connection.execute(
            f"SELECT {', '.join(columns)} FROM ({self._query('ignore_errors = true')}) "  # noqa: S608
            f"WHERE {self._usable()}{wanted}",
            parameters,
        ).fetchnumpy()
        found = {name: np.asarray(column) for name, column in table.items()}
        pair = found["pair"] if self._has_pair else found["item"] if self.layout.pair_item else None
        return Rows(found["user"], found["item"], found["stars"], found.get("time"), pair)

    def first_rejected(self) -> tuple[int, str, str] | None:
        """Return line, text and reason of the first line that has not the right columns."""
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

    def _usable(self) -> str:
        return self._whole() + (" AND stars <> 0" if self.layout.zero_is_unrated else "")

    def _whole(self) -> str:
        names = ['"user"', "item", "stars"]
        names += ["time"] if self.layout.time else []
        names += ["pair"] if self._has_pair else []
        return " AND ".join(f"{name} IS NOT NULL" for name in names)

    def _query(self, errors: str) -> str:
        if self.kept:
            return "SELECT * FROM parsed"
        layout = self.layout
        column = {"csv": self._of_csv, "json": quoted, "parquet": quoted}[layout.kind]
        text = layout.kind == "csv"
        user, item = (column(name) for name in (layout.user, layout.item))
        if text and layout.whole_ids:
            user, item = _whole_number(user), _whole_number(item)
        stars = f"TRY_CAST({column(layout.rating)} AS DOUBLE)"
        if text:
            stars = f"CASE WHEN NOT contains({column(layout.rating)}, '_') THEN {stars} END"
        time = column(layout.time) if layout.time else "NULL"
        time = _whole_number(f"CAST({time} AS VARCHAR)") if layout.time else time
        pair = column(layout.pair_item) if self._has_pair else "NULL"
        return (
            f'SELECT {user} AS "user", {item} AS item, {stars} AS stars, {time} AS time, '  # noqa: S608
            f"{pair} AS pair FROM {self._source(errors)}"
        )

    def _of_csv(self, name: str) -> str:
        return f"c{self.layout.columns.index(name)}"

    def _source(self, errors: str) -> str:
        path, compression = text_of(glob.escape(self.path)), text_of(self.compression)
        if self.layout.kind == "parquet":
            return f"read_parquet({path})"
        if self.layout.kind == "json":
            names = (self.layout.user, self.layout.item, self.layout.rating)
            columns = ", ".join(f"{text_of(name)}: 'VARCHAR'" for name in names)
            if self.compression == "none":
                compression = "'uncompressed'"  # its other name, the only one DuckDB 1.2 knows here
            return (
                f"read_json({path}, format = 'newline_delimited', ignore_errors = true, "
                f"compression = {compression}, columns = {{{columns}}})"
            )
        # Everything is said, so that nothing is guessed; yet auto_detect stays on: without it
        # DuckDB 2.0 takes 1.6 times as long and three times the memory for the same rows.
        columns = ", ".join(f"c{place}: 'VARCHAR'" for place in range(len(self.layout.columns)))
        quote = text_of('"' if self.layout.header else "")
        return (
            f"read_csv({path}, header = {self.layout.header}, skip = 0, comment = '', "
            f"delim = {text_of(self.layout.delimiter)}, quote = {quote}, escape = {quote}, "
            f"compression = {compression}, columns = {{{columns}}}, {errors})"
        )


@contextmanager
def open_scan(files: Files, layout: Layout) -> Iterator[Scan]:
    """Open the ratings file of a layout."""
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


def _whole_number(column: str) -> str:
    """Cast text to an integer only if it is written as one: 1.6, 1e3, 1_000 and 007 are not."""
    number = f"TRY_CAST({column} AS BIGINT)"
    return f"CASE WHEN {column} = CAST({number} AS VARCHAR) THEN {number} END"


def text_of(value: str) -> str:
    """Quote a value for SQL."""
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Quote a column's name for SQL."""
    return '"' + name.replace('"', '""') + '"'
