"""What an archive says of its items: titles, genres, and other numbers for them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cmab_gym.envs_data.archive import Files
from cmab_gym.envs_data.formats import Layout, first_lines, header_of

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


def read_items(files: Files, layout: Layout, wanted: Iterable[Any]) -> Items:
    """Read titles and genres, from the files beside the ratings that belong to their data set.

    Args:
        files: where the ratings are.
        layout: of the ratings.
        wanted: the items; of large files only they are kept.

    Raises:
        ValueError: a line of an items file is damaged.
    """
    items = Items()
    folder = layout.name.rpartition("/")[0]
    objects = []
    for name in files.names if layout.items else ():
        if name == layout.name or name.rpartition("/")[0] != folder:
            continue
        line = (first_lines(files.head(name, strict=False)) or [""])[0].strip()
        header = set(header_of(line))
        if layout.items == "movies":
            if _MOVIE.fullmatch(line):
                _read_movies(files, name, _of_dat, items)
            elif line.count("|") == 23:
                _read_movies(files, name, _of_100k, items)
            elif {"movieId", "title", "genres"} <= header:
                _read_movies(files, name, _of_csv, items)
        elif layout.items == "books" and {"book_id", "title", "authors"} <= header:
            # In the first published goodbooks-10k the ratings' book_id is the column id.
            key = "id" if "id" in header else "book_id"
            items.titles.update(_pairs(files, name, key, "title", str))
        elif layout.items == "goodreads" and {"book_id_csv", "book_id"} <= header:
            items.numbers.update(_pairs(files, name, "book_id_csv", "book_id", int))
        elif layout.items == "goodreads" and line.startswith("{") and _describes_books(line):
            objects.append(name)
    # Last, since another file may say by which numbers these know the items.
    numbers = {str(items.numbers.get(item, item)) for item in wanted} if objects else set()
    for name in objects:
        items.titles.update(_titles(files, name, numbers))
    return items


_Movie = tuple[str, str, list[str]]


def _read_movies(files: Files, name: str, parse: Callable[[str], _Movie], items: Items) -> None:
    for number, line in _lines(files, name):
        if number == 1 and parse is _of_csv:
            continue
        try:
            item, title, genres = parse(line)
            known = int(item)
        except (ValueError, IndexError) as error:
            raise ValueError(_say(files, name, number, line, "number, title and genres")) from error
        items.titles[known] = title
        if genres and genres != [_NO_GENRE]:
            items.genres[known] = tuple(genres)


def _of_dat(line: str) -> _Movie:
    item, _, rest = line.partition("::")
    title, _, genres = rest.rpartition("::")
    return item, title, genres.split("|")


def _of_100k(line: str) -> _Movie:
    fields = line.split("|")
    flags = zip(_GENRES_100K, fields[-len(_GENRES_100K) :], strict=True)
    return fields[0], fields[1], [genre for genre, flag in flags if flag == "1"]


def _of_csv(line: str) -> _Movie:
    item, title, genres = next(csv.reader([line]))
    return item, title, genres.split("|")


def _lines(files: Files, name: str) -> Iterator[tuple[int, str]]:
    """Number and decode the lines of a file: UTF-8, or Latin-1 where that fails."""
    with files.open(name) as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                line = raw.decode("latin-1")
            line = line.rstrip("\r\n")
            if line.strip():
                yield number, line


def _pairs(
    files: Files, name: str, key: str, value: str, kind: Callable[[str], Any]
) -> Iterator[tuple[int, Any]]:
    lines = (line for _, line in _lines(files, name))
    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            yield int(row[key]), kind(row[value])
        except (TypeError, ValueError) as error:
            raise ValueError(_say(files, name, number, str(row), f"{key} and {value}")) from error


def _say(files: Files, name: str, number: int, line: str, expected: str) -> str:
    return f"{files.path}: {name} line {number} is {line[:200]!r}: expected {expected}"


def _describes_books(line: str) -> bool:
    try:
        return {"book_id", "title"} <= set(json.loads(line))
    except ValueError:
        return False


def _titles(files: Files, name: str, wanted: Container[str]) -> Iterator[tuple[str, str]]:
    for number, line in _lines(files, name):
        try:
            book = json.loads(line)
            item, title = str(book["book_id"]), str(book["title"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(_say(files, name, number, line, "book_id and title")) from error
        if item in wanted:
            yield item, title
