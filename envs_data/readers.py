"""Readers of the official archives, straight from the zip: nothing is extracted."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from cmab_gym.data.ratings import Ratings


def read_movielens(path: str | Path) -> Ratings:
    """Read the MovieLens 1M archive `ml-1m.zip`, with titles and genres.

    Args:
        path: the archive, as published by GroupLens.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no zip archive, lacks a file, or a line does not parse.
    """
    raw = _read_archive(path, "MovieLens 1M (ml-1m.zip)", ("ratings.dat", "movies.dat"))
    # Titles hold single colons, ratings only numbers: so the two-character separator can become
    # one that the fast reader understands.
    columns = _parse_csv(
        raw["ratings.dat"].replace(b"::", b","), ("user", "item", "stars", "time"), path
    )
    titles: dict[int, str] = {}
    genres: dict[int, tuple[str, ...]] = {}
    for number, line in enumerate(raw["movies.dat"].decode("latin-1").splitlines(), start=1):
        fields = line.split("::")
        if not line:
            continue
        if len(fields) != 3 or not fields[0].isdigit():
            raise ValueError(
                f"{path}: movies.dat line {number} is {line!r}: expected id::title::a|b"
            )
        titles[int(fields[0])] = fields[1]
        genres[int(fields[0])] = tuple(fields[2].split("|"))
    return Ratings(
        columns["user"].astype(np.int64),
        columns["item"].astype(np.int64),
        columns["stars"].astype(np.float64),
        titles,
        genres,
        source="MovieLens 1M",
        checksum=_sha256(path),
    )


def read_goodbooks(path: str | Path) -> Ratings:
    """Read a goodbooks-10k archive (`ratings.csv`, `books.csv`), with titles.

    Args:
        path: the zip archive.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no zip archive, lacks a file or a column, or a line does not parse.
    """
    raw = _read_archive(path, "goodbooks-10k", ("ratings.csv", "books.csv"))
    columns = _parse_csv(raw["ratings.csv"], None, path)
    books = _parse_csv(raw["books.csv"], None, path)
    for wanted, table in (
        (("user_id", "book_id", "rating"), columns),
        (("book_id", "title"), books),
    ):
        missing = [name for name in wanted if name not in table]
        if missing:
            raise ValueError(
                f"{path}: no column {missing[0]!r} among {list(table)}: goodbooks-10k?"
            )
    return Ratings(
        columns["user_id"].astype(np.int64),
        columns["book_id"].astype(np.int64),
        columns["rating"].astype(np.float64),
        dict(zip(books["book_id"].tolist(), books["title"].tolist(), strict=True)),
        source="Goodreads (goodbooks-10k)",
        checksum=_sha256(path),
    )


def _read_archive(path: str | Path, what: str, names: tuple[str, ...]) -> dict[str, bytes]:
    """Read the members of these names, wherever in the archive they are."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file: expected the archive of {what}")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a zip archive: expected {what} as published")
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            name = member.rsplit("/", 1)[-1]
            if name in names:
                found[name] = archive.read(member)
        members = archive.namelist()
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"{path} has no {missing[0]}, only {members[:8]}: expected {what}")
    return found


def _parse_csv(text: bytes, names: tuple[str, ...] | None, path: str | Path) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(
            io.BytesIO(text),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(newlines_in_values=names is None),
        )
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: {error}") from error
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _sha256(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
