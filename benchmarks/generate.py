"""Generate files of ratings, of the official or other sizes, to time readers and surveys.

python benchmarks/generate.py poetry FILE.json.gz   # Goodreads, 2,734,350 JSON lines
python benchmarks/generate.py interactions FILE.csv --rows 50000000
python benchmarks/generate.py catalogue FILE.csv    # MovieLens, 25,000,000 rows
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

POETRY_ROWS, POETRY_USERS, POETRY_BOOKS = 2_734_350, 377_799, 36_514
ALL_ROWS, ALL_USERS, ALL_BOOKS = 228_648_342, 876_145, 2_360_650
CATALOGUE_ROWS, CATALOGUE_USERS, CATALOGUE_ITEMS = 25_000_000, 160_000, 60_000
_CHUNK = 1_000_000
# Shares of the ratings 0 (not rated) to 5 in the poetry file: 55 % are not rated, mean 4.06.
_SHARES = np.array([0.5505, 0.0095, 0.0250, 0.0830, 0.1440, 0.1880])


def rows(
    total: int, users: int, books: int, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield chunks of users, books and ratings; a few users and books have most of the rows."""
    rng = np.random.default_rng(seed)
    for start in range(0, total, _CHUNK):
        n = min(_CHUNK, total - start)
        user = (users * rng.random(n) ** 2).astype(np.int64)
        book = (books ** rng.random(n)).astype(np.int64)
        yield user, book, rng.choice(6, n, p=_SHARES / _SHARES.sum())


def poetry(path: Path, total: int) -> None:
    """Write JSON lines as in goodreads_interactions_poetry.json.gz."""
    line = (
        '{"user_id":"%032x","book_id":"%d","review_id":"%032x","is_read":true,"rating":%d,'
        '"review_text_incomplete":"","date_added":"Fri Apr 19 08:15:15 -0700 2013",'
        '"date_updated":"Fri Apr 19 08:15:15 -0700 2013","read_at":"","started_at":""}\n'
    )
    review = 0
    with gzip.open(path, "wt", compresslevel=4) as file:
        for user, book, rating in rows(total, POETRY_USERS, POETRY_BOOKS):
            scrambled = user * 1_000_003 + 0x0123456789ABCDE
            for row in zip(scrambled.tolist(), book.tolist(), rating.tolist(), strict=True):
                review += 1
                file.write(line % (row[0], row[1], review, row[2]))


def interactions(path: Path, total: int) -> None:
    """Write rows as in goodreads_interactions.csv."""
    import pyarrow as pa
    from pyarrow import csv

    names = ["user_id", "book_id", "is_read", "rating", "is_reviewed"]
    schema = pa.schema([(name, pa.int64()) for name in names])
    with csv.CSVWriter(path, schema) as writer:
        for user, book, rating in rows(total, ALL_USERS, ALL_BOOKS):
            flags = (rating > 0).astype(np.int64)
            columns = [user, book, flags, rating, np.zeros_like(rating)]
            writer.write(pa.table([pa.array(c) for c in columns], schema=schema))


def catalogue(path: Path, total: int) -> None:
    """Write ratings as in ratings.csv of MovieLens 25M.

    The numbers of ratings are log-normal: half of the items have 20 or fewer, and the most rated
    one 64,000; half of the users gave 90 or fewer, and the most active one 6,000. A rating is the
    sum of an item's quality, a user's mood, four tastes, and noise, rounded to half a star.
    """
    import pyarrow as pa
    from pyarrow import csv

    share = total / CATALOGUE_ROWS
    users, items = int(CATALOGUE_USERS * share), int(CATALOGUE_ITEMS * share)
    rng = np.random.default_rng(0)
    activity = np.exp(1.24 * rng.standard_normal(users))
    popularity = np.minimum(6 * np.exp(2.9 * rng.standard_normal(items)), 80_000)
    drawn = int(1.4 * total)  # with the same pair several times
    user = np.repeat(np.arange(users), rng.multinomial(drawn, activity / activity.sum()))
    pairs = user * items
    pairs += np.searchsorted(np.cumsum(popularity) / popularity.sum(), rng.random(drawn))
    pairs = np.unique(pairs)
    pairs = pairs[np.sort(rng.permutation(pairs.size)[:total])]
    quality = 3.2 + 0.45 * rng.standard_normal(items) + 0.05 * np.log(popularity)
    mood = 0.4 * rng.standard_normal(users)
    tastes = 0.3 * rng.standard_normal((items, 4)), rng.standard_normal((users, 4))
    types = [pa.int64(), pa.int64(), pa.float64(), pa.int64()]
    names = ["userId", "movieId", "rating", "timestamp"]
    schema = pa.schema(list(zip(names, types, strict=True)))
    with csv.CSVWriter(path, schema) as writer:
        for start in range(0, pairs.size, _CHUNK):
            user, item = np.divmod(pairs[start : start + _CHUNK], items)
            stars = quality[item] + mood[user] + (tastes[0][item] * tastes[1][user]).sum(axis=1)
            stars = np.clip(
                np.round(2 * (stars + 0.8 * rng.standard_normal(user.size))) / 2, 0.5, 5
            )
            columns = [user + 1, item + 1, stars, np.arange(start, start + user.size)]
            writer.write(pa.table([pa.array(c) for c in columns], schema=schema))


def main() -> None:
    """Write the file that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("poetry", "interactions", "catalogue"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int)
    chosen = parser.parse_args()
    if chosen.kind == "poetry":
        poetry(chosen.path, chosen.rows or POETRY_ROWS)
    elif chosen.kind == "catalogue":
        catalogue(chosen.path, chosen.rows or CATALOGUE_ROWS)
    else:
        interactions(chosen.path, chosen.rows or ALL_ROWS)


if __name__ == "__main__":
    main()
