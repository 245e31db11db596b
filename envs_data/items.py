"""What an archive says of its items: titles, genres, and other numbers for them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cmab_gym.data.archive import Files
from cmab_gym.data.formats import first_lines, header_of

# The 19 flags at the end of a line of u.item, in their order; MovieLens 100K calls the first one
# "unknown".
_GENRES_100K = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
# A line of movies.dat; those of users.dat and tags.dat end with a number.
_MOVIE = re.compile(r"\d+::.+::\D+")
_NO_GENRE = "(no genres listed)"


@dataclass(frozen=True)
class Items:
    """Titles and genres by item; `numbers` translates items of the ratings to others' ids."""

    titles: dict[Any, str] = field(default_factory=dict)
    genres: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)


def read_items(files: Files, wanted: Iterable[Any]) -> Items:
    """Read titles and genres, from whatever file has them; of large files only the wanted items.

    Raises:
        ValueError: a line of an items file is damaged.
    """
    items = Items()
    objects = []
    for name in files.names:
        line = (first_lines(files.head(name)) or [""])[0].strip()
        if _MOVIE.fullmatch(line):
            _read_dat(files, name, items)
        elif line.count("|") == 23:
            _read_100k(files, name, items)
        elif line.startswith("{") and _describes_books(line):
            objects.append(name)
        else:
            _read_csv(files, name, set(header_of(line)), items)
    # Last, since another file may say by which numbers these know the items.
    numbers = {str(items.numbers.get(item, item)) for item in wanted} if objects else set()
    for name in objects:
        _read_json(files, name, numbers, items)
    return items


def _lines(files: Files, name: str) -> Iterator[tuple[int, str]]:
    """Number and decode the lines of a file: UTF-8, or Latin-1 where that fails."""
    with files.open(name) as file:
        raw = file.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield number, line


def _read_dat(files: Files, name: str, items: Items) -> None:
    for number, line in _lines(files, name):
        item, _, rest = line.partition("::")
        title, _, genres = rest.rpartition("::")
        _add_movie(files, name, number, line, item, title, genres.split("|"), items)


def _read_100k(files: Files, name: str, items: Items) -> None:
    for number, line in _lines(files, name):
        fields = line.split("|")
        flags = fields[-len(_GENRES_100K) :]
        genres = [g for g, flag in zip(_GENRES_100K, flags, strict=True) if flag == "1"]
        _add_movie(files, name, number, line, fields[0], fields[1], genres, items)


def _add_movie(
    files: Files,
    name: str,
    number: int,
    line: str,
    item: str,
    title: str,
    genres: list[str],
    items: Items,
) -> None:
    if not item.isdigit() or not title:
        raise ValueError(
            f"{files.path}: {name} line {number} is {line!r}: expected a movie's number, title and "
            "genres"
        )
    items.titles[int(item)] = title
    if genres != [_NO_GENRE]:
        items.genres[int(item)] = tuple(genres)


def _read_csv(files: Files, name: str, header: set[str], items: Items) -> None:
    if {"movieId", "title", "genres"} <= header:
        for number, row in _rows(files, name):
            genres = row["genres"].split("|")
            _add_movie(files, name, number, str(row), row["movieId"], row["title"], genres, items)
    elif {"book_id", "title", "authors"} <= header:
        # In the first published goodbooks-10k the ratings' book_id is the column id of the books.
        key = "id" if "id" in header else "book_id"
        for _, row in _rows(files, name):
            items.titles[int(row[key])] = row["title"]
    elif {"book_id_csv", "book_id"} <= header:
        for _, row in _rows(files, name):
            items.numbers[int(row["book_id_csv"])] = int(row["book_id"])


def _rows(files: Files, name: str) -> Iterator[tuple[int, dict[str, str]]]:
    with files.open(name) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        reader = csv.DictReader(text)
        for row in reader:
            yield reader.line_num, row


def _describes_books(line: str) -> bool:
    try:
        return {"book_id", "title"} <= set(json.loads(line))
    except ValueError:
        return False


def _read_json(files: Files, name: str, wanted: Container[str], items: Items) -> None:
    with files.open(name) as file:
        for line in file:
            book = json.loads(line)
            if book["book_id"] in wanted:
                items.titles[book["book_id"]] = book["title"]
