"""`Layout`: how to read the rows of a ratings file, and functions that read its first lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from typing import Any

from cmab_gym.envs_data.readers.archive import COMPANIONS, Files
from cmab_gym.envs_data.readers.options import ReadOptions
from cmab_gym.envs_data.readers.text_file import first_line
from cmab_gym.files import UnreadableError


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a ratings file.

    Args:
        source: the name of the data set.
        name: the name of the file.
        kind: "csv", "json" (one object per line) or "parquet".
        columns: the names of all columns of a CSV file.
        skip: the number of its lines up to the header.
        delimiter: the text between its columns.
        quote, escape, encoding: as in `ReadOptions`.
        user, item, rating, time, segment: the columns that hold these; time and segment, that of
            the user, may be "".
        not_rated: the numbers that stand for a missing rating.
        bounds: the smallest and the largest possible rating.
        items: the kind of the files next to it that describe its items, a key of `COMPANIONS`; ""
            for none.
        whole_ids: whether users and items are integers, not text.
        pair_item: the column of items of which only a user's last rating counts; "" if all count.
    """

    source: str
    name: str = ""
    kind: str = "csv"
    columns: tuple[str, ...] = ()
    skip: int = 0
    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    encoding: str = "utf-8"
    user: str = "user"
    item: str = "item"
    rating: str = "rating"
    time: str = ""
    segment: str = ""
    not_rated: tuple[float, ...] = ()
    bounds: tuple[float, float] = (float("-inf"), float("inf"))
    items: str = ""
    whole_ids: bool = False
    pair_item: str = ""


def with_columns(layout: Layout, options: ReadOptions) -> Layout:
    """Return a layout with the columns that the options name; a category replaces the items."""
    names = {role: str(column) for role, column in options.columns.items()}
    item = names.get("item", "")
    return replace(
        layout,
        user=names["user"],
        item=names.get("category", item),
        rating=names["rating"],
        time=names.get("time", ""),
        segment=names.get("segment_by", ""),
        pair_item=item,
    )


def header_of(line: str, delimiter: str = ",") -> list[str]:
    """Split a header line into names; a nameless column i is called "column{i}"."""
    if len(delimiter) > 1:
        names = line.split(delimiter)
    else:
        try:
            names = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:  # a field is too long, or, in Python 3.10, it is not text
            return []
    return [name.strip() or f"column{i}" for i, name in enumerate(names)]


def json_object(line: str) -> Mapping[str, Any]:
    """Return a line's JSON object; an empty one if it is something else."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def candidates(files: Files) -> tuple[str, ...]:
    """Return the names of the files that may hold the ratings."""
    return files.names[:1] if files.is_single else files.names


def companions(files: Files, layout: Layout, kind: str) -> Iterator[tuple[str, str, bool]]:
    """Yield name and first line of every other file in the folder of the ratings.

    Args:
        files: the files.
        layout: the layout of the ratings.
        kind: a key of `COMPANIONS`; the third value yielded is whether the name is one of these.

    Raises:
        UnreadableError: a file of such a name is damaged.
    """
    folder = layout.name.rpartition("/")[0]
    for name in files.names:
        its_folder, _, file = name.rpartition("/")
        if name == layout.name or its_folder != folder:
            continue
        is_expected = any(fnmatch(file, pattern) for pattern in COMPANIONS[kind])
        _, line = first_line(read_head(files, name, needed=is_expected))
        yield name, line.strip(), is_expected


def read_head(files: Files, name: str, needed: bool) -> bytes:
    """Return the beginning of a file; nothing if it is damaged, not needed and in a folder.

    Args:
        files: the files.
        name: the name of the file.
        needed: whether this file must be readable.

    Raises:
        UnreadableError: the file is damaged, and it is needed or in an archive.
    """
    try:
        return files.head(name)
    except UnreadableError:
        if needed or files.archive is not None:
            raise
        return b""
