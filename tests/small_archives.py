"""Small archives in the layouts of those that the bundled tables are built from."""

import zipfile

import numpy as np

GENRES = """
    Action Adventure Animation Children's Comedy Crime Documentary Drama Fantasy Film-Noir Horror
    Musical Mystery Romance Sci-Fi Thriller War Western
"""
USERS, MOVIES, BOOKS = 80, 54, 27


def write_archives(folder):
    """Write random ratings by 80 users as ml-1m.zip and goodbooks-10k.zip."""
    rng = np.random.default_rng(0)
    genres = GENRES.split()
    movies = "".join(f"{i}::Movie {i} (2000)::{genres[i % 18]}\n" for i in range(1, MOVIES + 1))
    users = "".join(f"{user}::M::25::0::0\n" for user in range(1, USERS + 1))
    ratings = "".join(f"{u}::{i}::{star}::1\n" for u, i, star in _ratings(rng, MOVIES))
    with zipfile.ZipFile(folder / "ml-1m.zip", "w") as archive:
        for name, text in (("movies", movies), ("ratings", ratings), ("users", users)):
            archive.writestr(f"ml-1m/{name}.dat", text)
    books = "".join(f"{i},Author,Book {i}\n" for i in range(1, BOOKS + 1))
    ratings = "".join(f"{u},{i},{star}\n" for u, i, star in _ratings(rng, BOOKS))
    with zipfile.ZipFile(folder / "goodbooks-10k.zip", "w") as archive:
        archive.writestr("goodbooks-10k/books.csv", "book_id,authors,title\n" + books)
        archive.writestr("goodbooks-10k/ratings.csv", "user_id,book_id,rating\n" + ratings)


def _ratings(rng, n_items):
    user, item = np.nonzero(rng.random((USERS, n_items)) < 0.8)
    return zip(user + 1, item + 1, rng.integers(1, 6, user.size), strict=True)
