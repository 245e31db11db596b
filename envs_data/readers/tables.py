"""Tables of ratings whose columns the user names: CSV files, JSON lines and Parquet files."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cmab_gym.envs_data.readers.archive import Files
from cmab_gym.envs_data.readers.layout import (
    Layout,
    candidates,
    header_of,
    json_object,
    read_head,
    with_columns,
)
from cmab_gym.envs_data.readers.options import ReadOptions
from cmab_gym.envs_data.readers.text_file import first_line
from cmab_gym.files import UnreadableError, reading
from cmab_gym.text import quoted

_NOT_AN_ID = {dict: "a JSON object", list: "a JSON array", bool: "true or false"}
IF_A_ROW = "or, if they are a row, pass positions: user=0, item=1 and rating=2"
_DELIMITERS = (",", ";", "\t", "|", "::")


@dataclass(frozen=True)
class Table:
    """The beginning of a file that holds a table."""

    name: str
    kind: str
    columns: tuple[Any, ...]
    delimiter: str = ""
    skip: int = 0
    row: Mapping[str, Any] = field(default_factory=dict)  # the first one of JSON lines


def find_table(files: Files, options: ReadOptions) -> Layout:
    """Find the table with the named columns among files."""
    if not files.is_single:
        options.check_given()
    tables = [each for name in candidates(files) if (each := read_columns(files, name, options))]
    if not tables:
        raise ValueError(
            f"{files.path} holds no table: expected a CSV or Parquet file, or JSON lines; for "
            "text with another separator than , ; | :: and tab pass separator=, and for text that "
            "is not UTF-8 encoding="
        )
    if len(tables) == 1:
        chosen = tables
    else:
        chosen = [table for table in tables if set(options.columns.values()) <= set(table.columns)]
    if len(chosen) != 1:
        listed = "; ".join(f"{each.name} has {quoted(list(each.columns))}" for each in tables[:8])
        raise ValueError(
            f"{files.path}: {len(chosen)} of its tables have the columns "
            f"{list(options.columns.values())}: expected one; {files.remedy} ({listed})"
        )
    table = chosen[0]
    _check_columns(files, table, options)
    for role in {"user", "item", "category"} & options.columns.keys():
        _check_json_id(files.title(table.name), options.columns[role], table.row)
    columns = tuple(map(str, table.columns))
    layout = Layout(table.name, table.name, table.kind, columns, table.skip, table.delimiter)
    return with_columns(layout, options)


def read_columns(files: Files, name: str, options: ReadOptions) -> Table | None:
    """Read the columns of a table; None if a file holds none."""
    head = read_head(files, name, needed=files.is_single)
    if head.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        with reading(files.title(name)):
            schema = pq.read_schema(files.on_disk(name))
        for column in options.columns.values():
            # DuckDB would read durations as integers, as Parquet stores them.
            if column in schema.names and str(schema.field(column).type).startswith("duration"):
                raise ValueError(
                    f"column {column!r} holds {schema.field(column).type} in {files.title(name)}: "
                    "expected integers, numbers, text or dates; convert it"
                )
        return Table(name, "parquet", tuple(schema.names))
    number, line = first_line(head, options.encoding)
    if row := json_object(line):
        return Table(name, "json", tuple(row), row=row)
    delimiter = options.separator or max(_DELIMITERS, key=line.count)
    header = header_of(line, delimiter)
    if files.is_single and line and not header and "\0" not in line:
        raise UnreadableError(
            f"{files.title(name)} line {number} begins with {line[:40]!r} and has a column of more "
            f"than {csv.field_size_limit():,} characters: expected the names of its columns, or "
            "its first row; correct it"
        )
    if len(header) < 2 or "\0" in line:
        return None
    if options.by_position:
        return Table(name, "csv", tuple(range(len(header))), delimiter)
    return Table(name, "csv", tuple(header), delimiter, number)


def _check_columns(files: Files, table: Table, options: ReadOptions) -> None:
    has_number = any(name.strip("+-").isdecimal() for name in map(str, table.columns))
    is_row = has_number and not options.by_position
    # DuckDB ignores the case of names.
    options.check_columns(
        files.title(table.name), table.columns, _fold, f"; {IF_A_ROW}" if is_row else ""
    )


def _check_json_id(table: str, column: Any, row: Mapping[str, Any]) -> None:
    kind = _NOT_AN_ID.get(type(row.get(column)))
    if kind:
        raise ValueError(
            f"column {column!r} holds {kind} in {table}: expected integers or text; name another "
            "column"
        )


def _fold(name: Any) -> Any:
    return name.casefold() if isinstance(name, str) else name
