"""The titles and genres of items, from the files next to the ratings."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cmab_gym.envs_data.readers import text_file
from cmab_gym.envs_data.readers.archive import Files
from cmab_gym.envs_data.readers.layout import Layout, companions, header_of, json_object
from cmab_gym.files import UnreadableError, reading

# The 19 flags at the end of a line of u.item, in their order.
_GENRES_100K = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
# A line of movies.dat; those of users.dat and tags.dat end with a number.
_MOVIE = re.compile(r"\d+::.+::\D+")
_NO_GENRE = "(no genres listed)"

_Movie: TypeAlias = tuple[str, str, list[str]]


@dataclass(frozen=True)
class Items:
    """Titles and genres by item."""

    titles: dict[Any, str] = field(default_factory=dict)
    genres: dict[Any, tuple[str, ...]] = field(default_factory=dict)


def read_items(files: Files, layout: Layout, wanted: Sequence[Any]) -> Items:
    """Read titles and genres from the files next to the ratings that belong to their data set.

    Args:
        files: the ratings and the files next to them.
        layout: the layout of the ratings.
        wanted: the items whose titles are returned.

    Raises:
        ValueError: a line of an items file is damaged.
    """
    items = Items()
    other_ids: dict[int, int] = {}
    book_files = []
    for name, line, is_expected in companions(files, layout, layout.items) if layout.items else ():
        header = set(header_of(line))
        if layout.items == "movies" and (parse := _movie_parser(line, header)):
            _read_movies(files, name, parse, items)
        elif layout.items == "books" and {"book_id", "title", "authors"} <= header:
            # In the first published goodbooks-10k the book_id of the ratings is the column id.
            key = "id" if "id" in header else "book_id"
            items.titles.update(_pairs(files, name, key, "title", str))
        elif layout.items == "goodreads" and {"book_id_csv", "book_id"} <= header:
            other_ids.update(_pairs(files, name, "book_id_csv", "book_id", int))
        elif layout.items == "goodreads" and {"book_id", "title"} <= json_object(line).keys():
            book_files.append(name)
        elif is_expected:
            raise _damaged(files, name, 1, line, "titles of items")
    keys = {item: str(other_ids[item]) if item in other_ids else item for item in wanted}
    wanted_keys = set(keys.values())
    for name in book_files:  # last, as another file may hold the ids that they use
        items.titles.update(_book_titles(files, name, wanted_keys))
    titles = {item: items.titles[key] for item, key in keys.items() if items.titles.get(key)}
    return Items(titles, items.genres)


def _movie_parser(line: str, header: Container[str]) -> Callable[[str], _Movie] | None:
    """Find the parser of a file of movies by its first line; None if it is another file."""
    if _MOVIE.fullmatch(line):
        return _parse_dat
    if line.count("|") == 23:
        return _parse_100k
    return _parse_csv if all(name in header for name in ("movieId", "title", "genres")) else None


def _read_movies(files: Files, name: str, parse: Callable[[str], _Movie], items: Items) -> None:
    for number, line in _lines(files, name):
        if number == 1 and parse is _parse_csv:
            continue
        try:
            item, title, genres = parse(line)
            movie = int(item)
        except Exception as error:
            raise _damaged(files, name, number, line, "number, title and genres") from error
        items.titles[movie] = title
        if own := tuple(genre for genre in genres if genre not in ("", _NO_GENRE)):
            items.genres[movie] = own


def _parse_dat(line: str) -> _Movie:
    item, _, rest = line.partition("::")
    title, _, genres = rest.rpartition("::")
    return item, title, genres.split("|")


def _parse_100k(line: str) -> _Movie:
    fields = line.split("|")
    flags = zip(_GENRES_100K, fields[-len(_GENRES_100K) :], strict=True)
    return fields[0], fields[1], [genre for genre, flag in flags if flag == "1"]


def _parse_csv(line: str) -> _Movie:
    item, title, genres = next(csv.reader([line]))
    return item, title, genres.split("|")


def _lines(files: Files, name: str) -> Iterator[tuple[int, str]]:
    """Number and decode the lines of a file: UTF-8, or Latin-1 where that fails."""
    for number, raw in text_file.lines(files.blocks(name), files.title(name)):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            line = raw.decode("latin-1")
        if line.strip():
            yield number, line


def _pairs(
    files: Files, name: str, key: str, value: str, convert: Callable[[str], Any]
) -> Iterator[tuple[int, Any]]:
    lines = (line for _, line in _lines(files, name))
    with reading(files.title(name)):
        for number, row in enumerate(csv.DictReader(lines), start=2):
            try:
                pair = int(row[key]), convert(row[value])
            except Exception as error:
                raise _damaged(files, name, number, str(row), f"{key} and {value}") from error
            yield pair


def _book_titles(files: Files, name: str, wanted: Container[Any]) -> Iterator[tuple[str, str]]:
    for number, line in _lines(files, name):
        try:
            book = json.loads(line)
            item, title = str(book["book_id"]), str(book["title"])
        except Exception as error:
            raise _damaged(files, name, number, line, "book_id and title") from error
        if item in wanted:
            yield item, title


def _damaged(files: Files, name: str, number: int, line: str, expected: str) -> Exception:
    return UnreadableError(
        f"{files.title(name)} line {number} is {line[:200]!r}: expected {expected}; correct it, "
        "or fetch the file again"
    )
