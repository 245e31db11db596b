import zipfile

import numpy as np
import pytest

from cmab_gym.data import read_goodbooks, read_movielens

MOVIES = "1::Toy: Story (1995)::Animation|Comedy\n3952::Café (2000)::Drama\n".encode("latin-1")
RATINGS = b"1::3952::5::0\n6040::1::3::0\n"


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as made:
        for name, content in members.items():
            made.writestr(f"folder/{name.replace('_', '.')}", content)
    return path


def test_movielens(tmp_path):
    read = read_movielens(archive(tmp_path / "m.zip", ratings_dat=RATINGS, movies_dat=MOVIES))
    np.testing.assert_array_equal(read.users, [1, 6040])
    np.testing.assert_array_equal(read.items, [3952, 1])
    np.testing.assert_array_equal(read.stars, [5.0, 3.0])
    assert read.titles == {1: "Toy: Story (1995)", 3952: "Café (2000)"}
    assert read.genres == {1: ("Animation", "Comedy"), 3952: ("Drama",)}
    assert len(read.checksum) == 64


def test_goodbooks(tmp_path):
    books = 'book_id,authors,title\n8,"A, B","One, ""Two"""\n9,C,Drei\n'
    ratings = "user_id,book_id,rating\r\n5,8,4\r\n5,9,1\r\n"
    read = read_goodbooks(archive(tmp_path / "g.zip", ratings_csv=ratings, books_csv=books))
    assert read.titles == {8: 'One, "Two"', 9: "Drei"}
    np.testing.assert_array_equal(read.stars, [4, 1])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"ratings_dat": RATINGS}, "has no movies.dat"),
        ({"ratings_dat": RATINGS, "movies_dat": b"one\n"}, "movies.dat line 1 is 'one'"),
        ({"ratings_dat": b"1::2::x::0\n1::2\n", "movies_dat": MOVIES}, "m.zip: "),
    ],
)
def test_damaged_movielens(tmp_path, members, message):
    with pytest.raises(ValueError, match=message):
        read_movielens(archive(tmp_path / "m.zip", **members))


def test_a_goodbooks_archive_without_a_column(tmp_path):
    path = archive(
        tmp_path / "g.zip", ratings_csv="user,book\n1,2\n", books_csv="book_id,title\n1,a\n"
    )
    with pytest.raises(ValueError, match="no column 'user_id'"):
        read_goodbooks(path)


def test_the_real_archives(raw_data):
    movies = read_movielens(raw_data / "ml-1m.zip")
    stars = np.bincount(movies.stars.astype(int), minlength=6)[1:]
    assert stars.tolist() == [56174, 107557, 261197, 348971, 226310]
    assert repr(movies) == (
        "<Ratings of MovieLens 1M: 1,000,209 ratings, 6,040 users, 3,706 items>"
    )
    assert len(movies.titles) == 3883
    assert len({genre for genres in movies.genres.values() for genre in genres}) == 18
    books = read_goodbooks(raw_data / "goodbooks-10k-sample.zip")
    assert repr(books) == (
        "<Ratings of Goodreads (goodbooks-10k): 298,176 ratings, 2,672 users, 9,990 items>"
    )
