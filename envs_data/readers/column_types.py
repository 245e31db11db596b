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


def read_id(name: str, column: str, kind: str, whole: bool = False) -> Reading:
    """Read a column of ids, as integers or as text.

    Args:
        name: the name of the column.
        column: SQL for the column.
        kind: its type, in DuckDB's words.
        whole: whether text must be an integer.

    Raises:
        ValueError: ids cannot be of this type.
    """
    family = _family(kind)
    raw = _not_empty(column) if family == "text" else column
    if family == "whole" or (family == "text" and whole):
        sql = _text_integer(raw) if whole else _integer(raw)
        return Reading(name, raw, sql, "a 64-bit integer without leading zeros")
    if family == "text":
        return Reading(name, raw, raw, "text")
    raise ValueError(_refusal(name, kind, "integers or text", "fill missing ids and convert it"))


def read_rating(name: str, column: str, kind: str) -> Reading:
    """Read a column of ratings, numbers that can be summed; true is 1 and false is 0.

    Raises:
        ValueError: ratings cannot be of this type.
    """
    family = _family(kind)
    if family not in _RATINGS:
        raise ValueError(_refusal(name, kind, "numbers", "convert it, with .astype(float) say"))
    raw = _not_empty(column) if family == "text" else column
    number = _RATINGS[family](raw)
    sql = f"CASE WHEN abs({number}) <= {LARGEST} THEN {number} END"
    return Reading(name, raw, sql, f"a number of size up to {LARGEST:g}")


def read_time(name: str, column: str, kind: str, example: str | None) -> Reading:
    """Read a column of times as integers; dates become microseconds since 1970, in UTC.

    Args:
        name: the name of the column.
        column: SQL for the column.
        kind: its type, in DuckDB's words.
        example: the first value of a column of text.

    Raises:
        ValueError: times cannot be of this type.
    """
    family = _family(kind)
    raw = _not_empty(column) if family == "text" else column
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
    raise ValueError(
        _refusal(name, kind, "integers or dates", "convert it, with pandas.to_datetime say")
    )


def read_label(name: str, column: str, kind: str) -> Reading:
    """Read a column of labels as text.

    Raises:
        ValueError: labels cannot be of this type.
    """
    if not _family(kind):
        raise ValueError(_refusal(name, kind, "text", "convert it"))
    raw = _not_empty(column)
    return Reading(name, raw, raw, "text")


def _family(kind: str) -> str:
    """Return the family of a type: "text", "whole", "number", "bool", "date", or "" for others."""
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


def _refusal(name: str, kind: str, expected: str, remedy: str) -> str:
    return f"column {name!r} holds {kind.lower()}: expected {expected}; {remedy}"
