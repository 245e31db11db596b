"""Every format with its peculiarities, and the errors for wrong files."""

import gzip
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from cmab_gym.envs_data import ReadOptions, read_ratings
from cmab_gym.envs_data.readers import reader

DAT = b"1::3952::5::978300760\n6040::1::3::978300761\n"
MOVIES_DAT = "1::Toy: Story::2 (1995)::Animation|Comedy\n3952::Café (2000)::Drama\n".encode(
    "latin-1"
)
CSV = b"userId,movieId,rating,timestamp\r\n1,3952,4.5,10\r\n6040,1,0.5,11\r\n"
MOVIES_CSV = (
    'movieId,title,genres\r\n1,"Toy, Story (1995)",Animation|Children\r\n'
    "3952,Café (2000),(no genres listed)\r\n"
).encode()
U_DATA = b"1\t3952\t5\t881250949\n6040\t1\t3\t881250950\n"
U_ITEM = (
    "1|Toy Story (1995)|01-Jan-1995||http://x|" + "0|0|0|1|1|1" + "|0" * 13 + "\n"
    "3952|Café|||http://y|1" + "|0" * 18 + "\n"
).encode("latin-1")
BOOKS = 'book_id,authors,title\n8,"A, B","One, ""Two"""\n9,C,Drei\n'
GOODREADS_CSV = "user_id,book_id,is_read,rating,is_reviewed\n5,8,1,4,0\n5,9,0,0,0\n6,9,1,1,0\n"
JSON = [
    {"user_id": "ab", "book_id": "402128", "is_read": True, "rating": 4, "date_added": ""},
    {"user_id": "cd", "book_id": "7", "isRead": True, "rating": 0},
    {"user_id": "cd", "book_id": "402128", "isRead": True, "rating": 2},
]


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


FORMATS = {
    "1M": {
        "ml-1m/ratings.dat": DAT,
        "ml-1m/movies.dat": MOVIES_DAT,
        "ml-1m/users.dat": b"1::F::1::10::48067\n",
    },
    "latest": {
        "x/ratings.csv": CSV,
        "x/movies.csv": MOVIES_CSV,
        "x/tags.csv": b"userId,movieId,tag,timestamp\n1,1,a,2\n",
    },
    "100K": {
        "ml-100k/u.data": U_DATA,
        "ml-100k/u.item": U_ITEM,
        "ml-100k/u1.base": U_DATA,
        "ml-100k/u.genre": b"unknown|0\n\n",
    },
}
TITLES = {"1M": "Toy: Story::2 (1995)", "latest": "Toy, Story (1995)", "100K": "Toy Story (1995)"}


def test_the_segment_of_a_user_is_gender_and_age(tmp_path):
    members = {**FORMATS["1M"], "ml-1m/users.dat": b"6040::M::25::6::1\n1::F::56::1::48067-12\n"}
    ratings = read_ratings(archive(tmp_path / "a.zip", members))
    assert ratings.user_ids.tolist() == [1, 6040]
    assert ratings.segments.tolist() == ["F-56", "M-25"]
    some = read_ratings(archive(tmp_path / "b.zip", FORMATS["1M"]), items=[1])
    assert (some.user_ids.tolist(), some.segments.tolist()) == ([6040], [""])
    for name, content in members.items():
        (tmp_path / name.rpartition("/")[2]).write_bytes(content)
    assert read_ratings(tmp_path / "ratings.dat").segments.tolist() == ["F-56", "M-25"]
    members["ml-1m/users.dat"] += b"7::X::1\n"
    with pytest.raises(ValueError, match=r"users.dat line 3 is '7::X::1': expected user::gender"):
        read_ratings(archive(tmp_path / "c.zip", members))


def as_windows_writes(content):
    return b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n") + b"\r\n\r\n"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("form", ["archive", "folder", "file"])
def test_movielens_is_read_with_titles_and_genres(name, form, tmp_path):
    members = FORMATS[name]
    if form == "archive":
        path = archive(tmp_path / "any-name.bin", members)
    else:
        for member, content in members.items():
            target = tmp_path / member.split("/")[-1]
            target.write_bytes(content)
        path = tmp_path if form == "folder" else tmp_path / next(iter(members)).split("/")[-1]
    read = read_ratings(path)
    assert_array_equal(read.user_ids[read.users], [1, 6040])
    assert_array_equal(read.item_ids[read.items], [3952, 1])
    assert_array_equal(read.stars, [4.5, 0.5] if name == "latest" else [5, 3])
    assert read.times is not None
    assert read.titles[1] == TITLES[name]
    assert read.titles[3952].startswith("Café")
    genres = {
        "1M": {1: ("Animation", "Comedy"), 3952: ("Drama",)},
        "latest": {1: ("Animation", "Children")},
        "100K": {1: ("Animation", "Children's", "Comedy"), 3952: ("unknown",)},
    }
    assert read.genres == genres[name]


@pytest.mark.parametrize(
    ("ratings", "name", "movies"),
    [
        (DAT, "movies.dat", b"1::A::Drama\n3952::B::\n"),
        (CSV, "movies.csv", b"movieId,title,genres\n1,A,Drama\n3952,B,\n"),
    ],
)
def test_a_movie_without_genres_has_none(ratings, name, movies, tmp_path):
    (tmp_path / "ratings").write_bytes(ratings)
    (tmp_path / name).write_bytes(movies)
    read = read_ratings(tmp_path / "ratings")
    assert (read.titles, read.genres) == ({1: "A", 3952: "B"}, {1: ("Drama",)})


@pytest.mark.parametrize("wrap", [bytes, as_windows_writes])
@pytest.mark.parametrize("content", [DAT, CSV.replace(b"\r", b""), U_DATA])
def test_windows_line_ends_and_empty_lines_are_accepted(content, wrap, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(wrap(content))
    assert read_ratings(path).stars.size == 2


@pytest.mark.parametrize(
    "ratings", ["user_id,book_id,rating\n5,8,4\n5,9,1\n", "book_id,user_id,rating\n8,5,4\n9,5,1\n"]
)
def test_goodbooks_is_read_in_both_column_orders(ratings, tmp_path):
    read = read_ratings(
        archive(tmp_path / "g.zip", {"r/ratings.csv": ratings, "r/books.csv": BOOKS})
    )
    assert read.user_ids.tolist() == [5]
    assert read.titles == {8: 'One, "Two"', 9: "Drei"}
    assert_array_equal(read.stars, [4, 1])


def test_the_first_goodbooks_has_its_book_ids_in_another_column(tmp_path):
    books = "id,book_id,authors,title\n8,2767052,A,Eight\n"
    members = {"ratings.csv": "book_id,user_id,rating\n8,5,4\n", "books.csv": books}
    assert read_ratings(archive(tmp_path / "g.zip", members)).titles == {8: "Eight"}


def test_the_last_rating_of_a_pair_counts(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user_id,book_id,rating\n5,8,4\n5,9,1\n5,8,2\n6,8,3\n5,8,5\n")
    read = read_ratings(path)
    assert_array_equal(read.stars, [1, 3, 5])
    assert read.notes["duplicates"] == 2


@pytest.mark.parametrize("most_rated", [None, 5])
def test_the_last_rating_of_a_pair_counts_in_files_that_are_read_in_parallel(most_rated, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "user_id": rng.integers(0, 3000, 300_000),
            "book_id": rng.integers(0, 20, 300_000),
            "rating": rng.integers(1, 6, 300_000),
        }
    )
    frame.to_csv(tmp_path / "r.csv", index=False)
    read = read_ratings(tmp_path / "r.csv", most_rated=most_rated)
    last = frame.drop_duplicates(["user_id", "book_id"], keep="last")
    if most_rated:
        counts = last["book_id"].value_counts()
        top = sorted(counts.index, key=lambda book: (-counts[book], book))[:most_rated]
        last = last[last["book_id"].isin(top)]
    found = pd.DataFrame(
        {
            "user_id": read.user_ids[read.users],
            "book_id": read.item_ids[read.items],
            "rating": read.stars.astype(int),
        }
    )
    by = ["user_id", "book_id"]
    assert_array_equal(found.sort_values(by).to_numpy(), last.sort_values(by).to_numpy())


@pytest.mark.parametrize("compress", [False, True])
def test_goodreads_json_lines_are_read_with_titles(compress, tmp_path):
    path = tmp_path / ("g.json.gz" if compress else "g.json")
    content = json_lines(JSON) + b"\n"
    path.write_bytes(gzip.compress(content) if compress else content)
    titles = tmp_path / "goodreads_books_poetry.json.gz"
    titles.write_bytes(gzip.compress(json_lines([{"book_id": "402128", "title": "Poems"}])))
    read = read_ratings(path)
    assert_array_equal(read.stars, [4, 2])
    assert read.user_ids.tolist() == ["ab", "cd"]
    assert read.notes == {"damaged": 0, "unrated": 1, "duplicates": 0}
    assert read.titles == {"402128": "Poems"}


def test_goodreads_csv_is_read_with_titles_by_the_map_of_ids(tmp_path):
    path = tmp_path / "interactions.csv"
    path.write_text(GOODREADS_CSV)
    (tmp_path / "book_id_map.csv").write_text("book_id_csv,book_id\n8,34684622\n9,34536488\n")
    (tmp_path / "goodreads_books.json").write_bytes(
        json_lines([{"book_id": "34536488", "title": "Nine"}])
    )
    read = read_ratings(path)
    assert_array_equal(read.stars, [4, 1])
    assert read.notes["unrated"] == 1
    assert read.titles == {9: "Nine"}


@pytest.mark.parametrize("items", [[9], ["9"]])
def test_only_the_listed_items_are_kept(items, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user_id,book_id,rating\n1,8,4\n2,9,1\n3,9,2\n4,10,3\n")
    read = read_ratings(path, items=items)
    assert read.item_ids.tolist() == [9]
    assert_array_equal(read.stars, [1, 2])
    own = read_ratings(path, ReadOptions("user_id", "book_id", "rating"), items=items)
    assert_array_equal(own.stars, [1, 2])
    with pytest.raises(ValueError, match=r"item 7 has no rating: expected ids such as 9, 8"):
        read_ratings(path, items=[9, 7])
    with pytest.raises(ValueError, match=r"items=\[\]: expected a list of ids"):
        read_ratings(path, items=[])


@pytest.mark.parametrize("limit", [{"most_rated": 300}, {"items": range(300)}])
def test_the_last_rating_of_a_pair_counts_when_only_some_items_are_read(limit, tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, [50, 300, 6], (90_000, 3))  # each of 15,000 pairs six times
    path, text = tmp_path / "r.csv", "x" * 200  # so long that threads share the file
    lines = (f"{user},{book},{rating},{text}" for user, book, rating in rows.tolist())
    path.write_text("\n".join(["user_id,book_id,rating,text", *lines]))
    options = ReadOptions("user_id", "book_id", "rating")
    everything, some = read_ratings(path, options), read_ratings(path, options, **limit)
    assert_array_equal(some.users, everything.users)
    assert_array_equal(some.stars, everything.stars)


def test_most_rated_counts_each_pair_once(tmp_path):
    rows = [(1, 100, 3)] * 30 + [(user, item, 3) for item in range(60) for user in range(2)]
    path = tmp_path / "r.csv"
    text = "".join(f"{user},{item},{star}\n" for user, item, star in rows)
    path.write_text("user_id,book_id,rating\n" + text)
    assert read_ratings(path, most_rated=2).item_ids.tolist() == [0, 1]
    everything = read_ratings(path)
    assert everything.item_ids[everything.most_rated(2)].tolist() == [0, 1]


def test_a_name_is_not_a_pattern_and_gzip_is_recognised_by_content(tmp_path):
    (tmp_path / "r1.csv").write_text("user_id,book_id,rating\n9,9,1\n")
    odd = tmp_path / "r[12]*.csv"
    odd.write_bytes(gzip.compress(b"user_id,book_id,rating\n7,8,4\n"))
    read = read_ratings(odd)
    assert (read.user_ids.tolist(), read.stars.tolist()) == ([7], [4])
    plain = tmp_path / "plain.csv.gz"
    plain.write_text("user_id,book_id,rating\n7,8,4\n")
    assert read_ratings(plain).stars.tolist() == [4]
    zipped = archive(tmp_path / "z.zip", {"r.bin": odd.read_bytes()})
    assert read_ratings(zipped).stars.tolist() == [4]


def test_titles_come_only_from_the_same_data_set(tmp_path):
    (tmp_path / "ratings.csv").write_text("book_id,user_id,rating\n1,5,4\n8,5,4\n")
    (tmp_path / "movies.csv").write_bytes(MOVIES_CSV)
    (tmp_path / "books.csv").write_text(BOOKS)
    (tmp_path / "notes.gz").write_bytes(b"\x1f\x8bjunk")
    read = read_ratings(tmp_path)
    assert read.titles == {8: 'One, "Two"'}
    assert read.genres == {}


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("movies.dat", b"1::Toy Story (1995)::Animation\nx::Jumanji::Drama\n", "x::Jumanji"),
        ("movies.csv", b"movieId,title,genres\n1,Toy\n", "1,Toy"),
        ("u.item", U_ITEM + b"3|short\n", "3|short"),
    ],
)
def test_a_damaged_items_file_is_named(name, content, text, tmp_path):
    ratings = {"movies.dat": DAT, "movies.csv": CSV, "u.item": U_DATA}[name]
    path = archive(tmp_path / "m.zip", {f"m/{name}": content, "m/ratings": ratings})
    with pytest.raises(ValueError, match=rf"{name} line \d is .*{re.escape(text)}"):
        read_ratings(path)


QUOTED = b"u,t,i,r\n1,x,3,4\n"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        # A quote swallows the rest, or all lines up to the next quote.
        (QUOTED + b'2,"x,3,4\n' + b"3,x,3,4\n" * 50, 3),
        (QUOTED + b'2,"x,3,4\n' + b"3,x,3,4\n" * 50 + b'4,"x,3,4\n' + b"5,x,3,4\n", 3),
        (QUOTED + b'2,"a\n\nb",3,4\n' + b'2,"x,3,4\n' + b"3,x,3,4\n" * 50, 6),
        (QUOTED + b"2," + b"x" * 40_000_000 + b",3,4\n3,x,3,4\n", 3),  # longer than any buffer
    ],
)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_no_line_is_lost_silently(content, line, on_error, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"r.csv line {line} (is|begins with) .*2,"):
        read_ratings(path, ReadOptions("u", "i", "r", on_error=on_error))


def test_every_line_is_in_a_row_or_counted(tmp_path):
    path = tmp_path / "r.csv"
    options = ReadOptions("u", "i", "r", on_error="skip")
    path.write_bytes(b'\n\nu,t,i,r\n1,"a\n\nb",3,4\n\n2,"c\nd",3\n   \n3,"e",x,y\r\n4,"f",3,4')
    read = read_ratings(path, options)
    assert (read.user_ids.tolist(), read.notes["damaged"]) == ([1, 4], 4)
    with pytest.raises(ValueError, match=r"line 8 is '2,\"c' \(it does not have 4 fields"):
        read_ratings(path, replace(options, on_error="raise"))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.csv"
    path.write_bytes(CSV * 10)
    whole = reader.read_items

    def cut(*arguments):
        path.write_bytes(CSV)
        return whole(*arguments)

    monkeypatch.setattr(reader, "read_items", cut)
    with pytest.raises(ValueError, match=r"r.csv changed while it was read"):
        read_ratings(path, ReadOptions(on_error="skip"))


def test_skipping_lines_does_not_hide_a_damaged_file(tmp_path):
    content = bytearray(gzip.compress(json_lines(JSON * 20_000), 0))
    content[30_000:30_040] = b"x" * 40
    path = tmp_path / "r.json.gz"
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"r.json.gz cannot be read \(BadGzipFile"):
        read_ratings(path, ReadOptions(on_error="skip"))


def test_only_the_most_rated_items_are_kept(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user_id,book_id,rating\n1,8,4\n2,9,1\n3,9,2\n4,10,3\n")
    read = read_ratings(path, most_rated=2)
    assert read.item_ids.tolist() == [8, 9]  # ties by id
    assert_array_equal(read.stars, [4, 1, 2])
    assert read_ratings(path, most_rated=4).item_ids.tolist() == [8, 9, 10]
    with pytest.raises(ValueError, match="most_rated=0: expected an integer of at least 1"):
        read_ratings(path, most_rated=0)


@pytest.mark.parametrize(
    ("content", "line", "text"),
    [
        (DAT + b"2::11:3::0\n" + DAT, 3, "2::11:3::0"),
        (CSV + b"3,4\r\n", 4, "3,4"),
        (CSV + b"x,4,3,1\r\n", 4, "x,4,3,1"),
        (CSV + b"3,,3,1\r\n", 4, "3,,3,1"),
        (CSV + b"3,4,five,1\r\n", 4, "3,4,five,1"),
        (CSV + b"3,4,1_0,1\r\n", 4, "3,4,1_0,1"),
        (CSV + b"1,007,3,1\r\n", 4, "1,007,3,1"),
        (CSV + b"1,4,3,05\r\n", 4, "1,4,3,05"),
        (CSV + b"99999999999999999999,4,3,1\r\n", 4, "99999999999999999999,4,3,1"),
        (CSV.replace(b"\r", b"") + b"1,4,x,1\r\n", 4, "1,4,x,1"),
        (CSV + b"3,4,5,1.5\r\n", 4, "3,4,5,1.5"),
        (CSV + b"3,4,5,\r\n", 4, "3,4,5,"),
        (CSV + b"1.4,4,5,1\r\n", 4, "1.4,4,5,1"),
        (CSV + b"1e3,4,5,1\r\n", 4, "1e3,4,5,1"),
        (json_lines(JSON) + b"[1, 2]\n", 4, "[1, 2]"),
        (json_lines(JSON) + b'{"user_id":"b","book\n', 4, '{"user_id":"b","book'),
        (json_lines(JSON) + b'{"user_id":"b","rating":3}\n', 4, '{"user_id":"b","rating":3}'),
    ],
)
def test_a_damaged_line_is_named_or_skipped_and_counted(content, line, text, tmp_path):
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"on_error='skip'") as caught:
        read_ratings(path)
    assert f"line {line} is {text!r}" in str(caught.value)
    assert str(path) in str(caught.value)
    read = read_ratings(path, ReadOptions(on_error="skip"))
    assert read.notes["damaged"] == 1
    assert read.stars.size >= 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1::2::7::0\n", "rating 7 in .*/file: expected 0.5 to 5, as in MovieLens"),
        (
            b"userId,movieId,rating,timestamp\n1,2,nan,3\n",
            r"line 2 is '1,2,nan,3' \(rating is not a number of size up to 1e\+100\)",
        ),
        (b"userId,movieId,rating,timestamp\n1,2,-1,3\n", "rating -1 in .*/file"),
        (b"userId,movieId,rating,timestamp\n", "holds no rating"),
        (b"a,b,c\n1,2,3\n", "is not in a known format.*user=, item= and rating="),
        (b"", "is not in a known format"),
        (b"\x80\x04\x95pickle", "is not in a known format"),
    ],
)
def test_wrong_content_is_named(content, message, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_ratings(path)


def test_a_rating_out_of_range_is_named_with_its_archive(tmp_path):
    path = archive(tmp_path / "m.zip", {"m/ratings.csv": CSV.replace(b"4.5", b"7")})
    with pytest.raises(ValueError, match=r"rating 7 in .*m\.zip: m/ratings\.csv: expected 0\.5"):
        read_ratings(path)


def test_missing_and_ambiguous_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist: expected a ratings file"):
        read_ratings(tmp_path / "none")
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(CSV)
    with pytest.raises(ValueError, match=r"holds several ratings files, .* one; pass its own path"):
        read_ratings(tmp_path)
    both = archive(tmp_path / "both.zip", {"a.csv": CSV, "b.csv": CSV})
    with pytest.raises(ValueError, match=r"holds several .*: expected one; unpack it and pass its"):
        read_ratings(both)
    with pytest.raises(ValueError, match="unknown on_error 'ignore'"):
        ReadOptions(on_error="ignore")


def test_an_archive_cannot_write_outside_its_folder_or_fill_the_disk(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    slip = archive(inside / "slip.zip", {"../../ratings.csv": CSV, "/etc/movies.csv": MOVIES_CSV})
    before = sorted(tmp_path.rglob("*"))
    assert read_ratings(slip).stars.size == 2
    assert sorted(tmp_path.rglob("*")) == before
    bomb = archive(tmp_path / "bomb.zip", {"ratings.csv": CSV + b"\n" * 50_000_000})
    with pytest.raises(ValueError, match=r"would grow from .* to 50,0.*unpack it yourself"):
        read_ratings(bomb)


def test_damaged_files_are_named(tmp_path):
    whole = archive(tmp_path / "whole.zip", {"ratings.csv": CSV * 1000}).read_bytes()
    changed = bytearray(whole)
    changed[200] ^= 0xFF
    lines = gzip.compress(json_lines(JSON * 1000))
    for name, content in (
        ("cut.zip", whole[:-30]),
        ("changed.zip", bytes(changed)),
        ("cut.json.gz", lines[: len(lines) // 2]),
        ("parquet", b"PAR1" + b"x" * 50),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        options = ReadOptions("u", "i", "r") if name == "parquet" else ReadOptions()
        with pytest.raises(ValueError, match=rf"{name}.*(cannot be read|damaged)"):
            read_ratings(path, options)


def test_the_real_archives_have_their_published_sizes(raw_data):
    movies = read_ratings(raw_data / "ml-1m.zip")
    stars = np.bincount(movies.stars.astype(int), minlength=6)[1:]
    assert stars.tolist() == [56174, 107557, 261197, 348971, 226310]
    assert repr(movies) == (
        "<Ratings of MovieLens 1M: 1,000,209 ratings, 6,040 users, 3,706 items>"
    )
    assert len(movies.genres) == 3883
    assert len({genre for genres in movies.genres.values() for genre in genres}) == 18
    small = read_ratings(raw_data / "ml-latest-small.zip")
    assert (small.stars.size, small.user_ids.size) == (100_836, 610)
    assert_array_equal(small.star_codes[0], np.arange(0.5, 5.5, 0.5))
    books = read_ratings(raw_data / "goodbooks-10k-sample.zip")
    assert (books.stars.size, books.user_ids.size, books.item_ids.size) == (298_176, 2_672, 9_990)
    sample = read_ratings(raw_data / "goodreads_interactions_sample.csv")
    assert (sample.stars.size, sample.notes["unrated"]) == (4_878, 5_972)
