"""`ReadOptions`: how a user describes a table of ratings."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from cmab_gym import checks
from cmab_gym.text import quoted

_ROLES = ("user", "item", "rating", "category", "time", "segment_by")
_SHOWN = 1000  # characters of the names of a table's columns
_LONGEST_SEPARATOR = 4  # bytes that DuckDB accepts


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table of ratings; the keyword arguments of `CMAB-Ratings-v0` of these names.

    Args:
        user: name of the column of users; "" for a known format. In a file without a header, the
            positions of all columns instead, counted from 0.
        item: the column of items; may be "" if there is a category.
        rating: the column of ratings: numbers, or true and false for 1 and 0.
        category: a column whose values are used as the items; "" for none.
        time: the column of times, integers or dates; "" for none.
        segment_by: a column whose values are the segments of the users, one for each user; "" for
            none.
        separator: the text between the fields of a text file; "" finds it in the first line.
        encoding: the encoding of a text file, such as "latin-1".
        quote: the character around fields of a text file that hold separators; "" for none.
        escape: the character before a quote inside quotes; "" if such a quote is doubled.
        not_rated: a number, or a list of numbers, that stand for a missing rating.
        on_error: "raise" an error that names the first damaged row, or "skip" damaged rows;
            `Ratings.notes["damaged"]` counts them.

    Raises:
        ValueError: an option is not one of the values above.
    """

    user: Hashable = ""
    item: Hashable = ""
    rating: Hashable = ""
    category: Hashable = ""
    time: Hashable = ""
    segment_by: Hashable = ""
    separator: str = ""
    encoding: str = "utf-8"
    quote: str = '"'
    escape: str = ""
    not_rated: Any = ()
    on_error: str = "raise"

    def __post_init__(self) -> None:
        checks.choice("on_error", self.on_error, ("raise", "skip"))
        for name in ("quote", "escape"):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value) > 1 or not value.isascii():
                raise ValueError(f"{name}={value!r}: expected one ASCII character, or '' for none")
        object.__setattr__(self, "separator", _separator(self.separator))
        object.__setattr__(self, "not_rated", _numbers(self.not_rated))
        try:
            "x".encode(self.encoding).decode(self.encoding, errors="replace")
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"encoding={self.encoding!r}: expected one that Python knows, such as 'latin-1', "
                "'cp1252' or 'utf-16'"
            ) from error
        given = self.columns.values()
        if len({isinstance(each, int) for each in given}) > 1 or any(
            isinstance(each, bool) or not isinstance(each, Hashable) for each in given
        ):
            raise ValueError(
                f"columns {self.columns}: expected only names, or, for a file without a header, "
                "only positions, counted from 0"
            )

    @property
    def columns(self) -> Mapping[str, Hashable]:
        """The columns that are given, by their role: "user", "item", ..."""
        values = {role: getattr(self, role) for role in _ROLES}
        return {role: column for role, column in values.items() if column != ""}

    @property
    def by_position(self) -> bool:
        """Whether columns are given by position."""
        return any(isinstance(column, int) for column in self.columns.values())

    def changed(self) -> list[str]:
        """Return the names of the options that differ from their defaults."""
        return [each.name for each in fields(self) if getattr(self, each.name) != each.default]

    def check_given(self, hint: str = "") -> None:
        """Check that the columns of users, items and ratings are given.

        Args:
            hint: ends the error.

        Raises:
            ValueError: one of them is not given.
        """
        needed = ("user", "category" if self.category != "" else "item", "rating")
        missing = [role for role in needed if getattr(self, role) == ""]
        if missing:
            raise ValueError(
                f"{missing[0]}= is not given: expected user=, item= (or category=) and rating=, or "
                "none of them for a known format, whose genres are arms with genres="
                f"{hint or '; name the columns'}"
            )

    def check_columns(
        self,
        table: str,
        header: Sequence[Any],
        fold: Callable[[Any], Any] = lambda name: name,
        hint: str = "",
    ) -> None:
        """Check that a table has each of the columns once.

        Args:
            table: what to call the table in an error.
            header: the names of its columns.
            fold: function of a name; columns with the same result cannot be told apart.
            hint: ends the error of a missing column.

        Raises:
            ValueError: a column is not given, is missing, or is there several times.
        """
        self.check_given(f"; {table} has {quoted(list(header), _SHOWN)}")
        for role, column in self.columns.items():
            if column not in header:
                raise ValueError(
                    f"{role}={column!r} is not a column of {table}, which has "
                    f"{quoted(list(header), _SHOWN)}: name one of them by {role}={hint}"
                )
            same = [name for name in header if fold(name) == fold(column)]
            if len(same) > 1:
                raise ValueError(
                    f"{table} has several columns {quoted(same, _SHOWN)} for {role}={column!r}: "
                    "expected one; rename the others"
                )


def _separator(value: Any) -> str:
    separator = value.replace("\\t", "\t") if isinstance(value, str) else None
    if separator is None or len(separator.encode()) > _LONGEST_SEPARATOR or "\n" in separator:
        raise ValueError(
            f"separator={value!r}: expected up to {_LONGEST_SEPARATOR} bytes in UTF-8, such as ';' "
            "or '::'"
        )
    return separator


def _numbers(value: Any) -> tuple[float, ...]:
    several = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    try:
        numbers = tuple(float(each) for each in several)
    except (TypeError, ValueError, OverflowError):
        numbers = (math.nan,)
    if not all(map(math.isfinite, numbers)):
        raise ValueError(
            f"not_rated={value!r}: expected a number, or a list of numbers, such as [0, -1]"
        )
    return numbers
