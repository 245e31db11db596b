"""SQL that reads the columns of a table, by their role and their type in DuckDB.

The columns of text files are text; DuckDB knows the types of Parquet files and frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cmab_gym.checks import LARGEST

_WHOLE = frozenset(
    f"{sign}{name}"
    for sign in ("", "U")
    for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
)
_DATES = ("DATE", "TIMESTAMP")  # and with a zone, or in another unit


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        name: its name.
        sql: SQL for the column.
        kind: its type, in DuckDB's words.
        table: names the table in errors.
    """

    name: str
    sql: str
    kind: str
    table: str

    @property
    def family(self) -> str:
        """The family of the type, a key of `_RATINGS` or "date"; "" for others."""
        kind = self.kind
        if kind in ("VARCHAR", "UUID", '"NULL"') or kind.startswith("ENUM"):
            return "text"
        if kind in _WHOLE:
            return "whole"
        if kind == "FLOAT":
            return "float32"
        if kind == "DOUBLE" or kind.startswith("DECIMAL"):
            return "number"
        if kind == "BOOLEAN":
            return "bool"
        return "date" if kind.split("_")[0].split(" ")[0] in _DATES and "[" not in kind else ""

    @property
    def raw(self) -> str:
        """SQL for the values; NULL where text is empty."""
        return _not_empty(self.sql) if self.family == "text" else self.sql

    def refusal(self, expected: str, remedy: str) -> ValueError:
        """Return the error for a type that cannot be read."""
        return ValueError(
            f"column {self.name!r} holds {self.kind.lower()} in {self.table}: expected {expected}; "
            f"{remedy}"
        )


@dataclass(frozen=True)
class Reading:
    """SQL that reads a column.

    Args:
        name: the name of the column.
        raw: SQL for the values in the file; NULL where a value is missing.
        sql: SQL for the values read; NULL where a value cannot be read.
        expected: the values that can be read, for an error.
    """

    name: str
    raw: str
    sql: str
    expected: str


def read_id(column: Column, whole: bool = False) -> Reading:
    """Read a column of ids, as integers or as text.

    Args:
        column: the column.
        whole: whether text must be an integer.

    Raises:
        ValueError: ids cannot be of this type.
    """
    family, raw = column.family, column.raw
    if family == "whole" or (family == "text" and whole):
        sql = _text_integer(raw) if whole else _integer(raw)
        return Reading(column.name, raw, sql, "a 64-bit integer without leading zeros")
    if family == "text":
        return Reading(column.name, raw, raw, "text")
    raise column.refusal("integers or text", "fill missing ids and convert it")


def read_rating(column: Column) -> Reading:
    """Read a column of ratings, numbers that can be summed; true is 1 and false is 0.

    Raises:
        ValueError: ratings cannot be of this type.
    """
    if column.family not in _RATINGS:
        raise column.refusal("numbers", "convert it, with .astype(float) say")
    number = _RATINGS[column.family](column.raw)
    sql = f"CASE WHEN {number} BETWEEN -{LARGEST} AND {LARGEST} THEN {number} END"
    return Reading(column.name, column.raw, sql, f"a number of size up to {LARGEST:g}")


def read_time(column: Column, example: str | None) -> Reading:
    """Read a column of times as integers; dates become microseconds since 1970, in UTC.

    Args:
        column: the column.
        example: the first value of a column of text.

    Raises:
        ValueError: times cannot be of this type.
    """
    name, family, raw = column.name, column.family, column.raw
    if family == "date":
        return Reading(name, raw, f"epoch_us({raw})", "a date")
    if family == "whole":
        return Reading(name, raw, _integer(raw), "a 64-bit integer")
    if family == "text" and (example is None or example.strip("-").isdecimal()):
        return Reading(name, raw, _text_integer(raw), "a 64-bit integer without leading zeros")
    if family == "text":
        return Reading(
            name, raw, f"epoch_us(TRY_CAST({raw} AS TIMESTAMPTZ))", "a date, as 2020-12-31"
        )
    raise column.refusal("integers or dates", "convert it, with pandas.to_datetime say")


def read_label(column: Column) -> Reading:
    """Read a column of labels as text.

    Raises:
        ValueError: labels cannot be of this type.
    """
    if not column.family:
        raise column.refusal("text", "convert it")
    text = _not_empty(column.sql)
    return Reading(column.name, text, text, "text")


def _not_empty(column: str) -> str:
    return f"nullif(CAST({column} AS VARCHAR), '')"


def _integer(column: str) -> str:
    return f"TRY_CAST({column} AS BIGINT)"


def _text_integer(column: str) -> str:
    """Cast text to an integer only if it is written as one: 1.6, 1e3, 1_000 and 007 are not."""
    integer = _integer(column)
    return f"CASE WHEN {column} = CAST({integer} AS VARCHAR) THEN {integer} END"


def _double(column: str) -> str:
    return f"CAST({column} AS DOUBLE)"


def _shortest_double(column: str) -> str:
    """Convert a 32-bit number to the double that is written alike: 0.1, not 0.100000001."""
    return f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)"


def _text_number(column: str) -> str:
    number = f"CASE WHEN NOT contains({column}, '_') THEN TRY_CAST({column} AS DOUBLE) END"
    return f"coalesce({number}, CASE lower({column}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)"


_RATINGS: Mapping[str, Callable[[str], str]] = {
    "text": _text_number,
    "whole": _double,
    "number": _double,
    "float32": _shortest_double,
    "bool": _double,
}
