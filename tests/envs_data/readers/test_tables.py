"""Tables and frames whose columns the user names."""

import gzip
import zipfile
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from cmab_gym.envs_data import ReadOptions, read_ratings
from cmab_gym.envs_data.readers.layout import Layout
from cmab_gym.envs_data.readers.reader import frame_ratings
from cmab_gym.envs_data.readers.scan import open_frame_scan

OPTIONS = ReadOptions("u", "i", "r")
FRAME = pd.DataFrame(
    {
        "who": ["a", "b", "a", "c"],
        "what": [3, 3, 5, 3],
        "kind": ["x", "x", "x", "y"],
        "score": [1.5, 2.0, 1.5, 9.0],
        "when": [4, 3, 2, 1],
    }
)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "semicolon", "parquet", "frame"])
def test_any_table_with_named_columns_is_read(kind, tmp_path):
    path = tmp_path / f"table.{kind}"
    if kind == "parquet":
        FRAME.to_parquet(path)
    elif kind != "frame":
        FRAME.to_csv(path, index=False, sep=";" if kind == "semicolon" else ",")
    options = ReadOptions("who", "what", "score", "", "when")
    read = frame_ratings(FRAME, options) if kind == "frame" else read_ratings(path, options)
    assert read.user_ids.tolist() == ["a", "b", "c"]
    assert [str(item) for item in read.item_ids.tolist()] == ["3", "5"]
    assert_array_equal(read.stars, FRAME["score"])
    assert_array_equal(read.times, FRAME["when"])


@pytest.mark.parametrize("from_file", [True, False])
def test_categories_keep_every_rating_of_different_items(from_file, tmp_path):
    path = tmp_path / "t.csv"
    frame = pd.concat([FRAME, FRAME.iloc[[0]].assign(score=4.0)])
    frame.to_csv(path, index=False)
    options = ReadOptions("who", "what", "score", "kind")
    read = read_ratings(path, options) if from_file else frame_ratings(frame, options)
    assert read.item_ids.tolist() == ["x", "y"]
    assert_array_equal(
        read.stars, [2.0, 1.5, 9.0, 4.0]
    )  # user a rated item 3 twice: the last counts
    options = ReadOptions("who", "", "score", "kind")
    read = read_ratings(path, options) if from_file else frame_ratings(frame, options)
    assert read.stars.size == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"who": [1.0, 2.0, np.nan, 4.0]},
            r"column 'who' holds double in the frame: expected integers or text",
        ),
        ({"who": ["a", None, "b", "c"]}, r"frame row 2, counted from 1, is who=, .*\(no who\)"),
        ({"who": ["a", 1, "b", "c"]}, r"column 'who' of type object.*values of one type"),
        (
            {"when": [1.5, 2, 3, 4]},
            r"column 'when' holds double in the frame: expected integers or dates",
        ),
        ({"when": pd.to_datetime(["2020-01-01", None] * 2)}, r"row 2,.*\(no when\)"),
        ({"score": [1, np.nan, 2, 3]}, r"row 2, counted from 1, is .*score=.*\(no score\)"),
        ({"score": [1, np.inf, 2, 3]}, r"row 2, .*\(score is not a number of size"),
        ({"score": [1, 2, -1e101, 3]}, r"row 3, .*=-1e\+101, .*\(score is not a number of size"),
        (
            {"score": ["good", "bad", "x", "y"]},
            r"row 1, .*score=good.*not a number of size up to 1e\+100",
        ),
    ],
)
def test_wrong_frames_are_refused_by_column_or_row(change, message):
    with pytest.raises(ValueError, match=message):
        frame_ratings(FRAME.assign(**change), ReadOptions("who", "what", "score", "", "when"))


def test_damaged_rows_of_a_frame_are_skipped_and_counted():
    frame = FRAME.assign(score=[1, np.nan, 2, 3])
    read = frame_ratings(frame, ReadOptions("who", "what", "score", on_error="skip"))
    assert (read.stars.tolist(), read.notes["damaged"]) == ([1, 2, 3], 1)


TEXT, REFUSED = ["b", "a", "c", "a"], "holds .* in (the frame|.*/table): expected "
WHEN = pd.to_datetime(
    ["2020-01-01 09:00", "2020-01-01 08:00", "2021-06-01 01:00", "2019-01-01 01:00"]
)
BINARY_SOURCES = {"frame": REFUSED, "parquet": REFUSED}
TENTH = {source: [0.1, 5, 3, 2] for source in ("frame", "parquet", "csv")}
ALL_BUT_CSV = {**BINARY_SOURCES, "json": REFUSED}
# The role of a column, its values, and what is read in each source: a list, or the error.
TYPES = {
    "integers": ("user", [3, 1, 2, 1], [3, 1, 2, 1]),
    "small integers": ("user", np.array([3, 1, 2, 1], dtype="u1"), [3, 1, 2, 1]),
    "nullable integers": ("user", pd.array([3, 1, 2, 1], dtype="Int32"), [3, 1, 2, 1]),
    "text": ("user", TEXT, TEXT),
    "text as Arrow": ("user", pd.array(TEXT, "string[pyarrow]"), TEXT),
    "categories": ("user", pd.Categorical(TEXT), TEXT),
    "categories of integers": ("user", pd.Categorical([3, 1, 2, 1]), [3, 1, 2, 1]),
    "binary": ("user", [b"b", b"a", b"c", b"a"], BINARY_SOURCES),
    "lists": ("user", [[1], [2], [3], [1]], ALL_BUT_CSV),
    "float ids": ("user", [3.5, 1, 2, 1], BINARY_SOURCES),
    "bool ids": ("user", [True, False] * 2, ALL_BUT_CSV),
    "32-bit floats": ("rating", np.array([0.1, 5, 3, 2], dtype="f4"), TENTH),
    "16-bit floats": ("rating", np.array([0.5, 5, 3, 2], dtype="f2"), {"frame": [0.5, 5, 3, 2]}),
    "numbers as text": ("rating", ["0.1", "5", "3", "2"], [0.1, 5, 3, 2]),
    "decimals": ("rating", [Decimal("0.1"), Decimal(5), Decimal(3), Decimal(2)], [0.1, 5, 3, 2]),
    "thumbs": ("rating", [True, False, True, True], [1, 0, 1, 1]),
    "dates as ratings": ("rating", WHEN, BINARY_SOURCES),
    "durations as ratings": ("rating", WHEN - WHEN[0], BINARY_SOURCES),
    "durations": ("time", WHEN - WHEN[0], BINARY_SOURCES),
    "integer times": ("time", [4, 2, 3, 1], [3, 1, 2, 0]),
    "dates": ("time", [each.date() for each in WHEN], [1, 1, 2, 0]),
    "times": ("time", WHEN, [2, 1, 3, 0]),
    "times in seconds": ("time", WHEN.astype("datetime64[s]"), [2, 1, 3, 0]),
    "times with a zone": ("time", WHEN.tz_localize("Europe/Rome"), [2, 1, 3, 0]),
    "times as text": ("time", WHEN.astype(str), [2, 1, 3, 0]),
    "float times": ("time", [4.5, 2, 3, 1], BINARY_SOURCES),
}  # fmt: skip


SOURCES = ("frame", "csv", "parquet", "json")


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (name, source, each)
        for name, (_, _, expected) in TYPES.items()
        for source, each in (
            expected if isinstance(expected, dict) else dict.fromkeys(SOURCES, expected)
        ).items()
    ],
)
def test_every_type_of_column_is_read_or_refused_by_name(name, source, expected, tmp_path):
    role, values, _ = TYPES[name]
    columns = {"user": [1, 2, 3, 2], "item": [1, 1, 1, 2], "rating": [1.0, 2, 3, 4]}
    frame = pd.DataFrame({**columns, role: values})
    options = ReadOptions("user", "item", "rating", time="time" if role == "time" else "")
    path = tmp_path / "table"
    if source == "csv":
        frame.to_csv(path, index=False)
    elif source == "parquet":
        frame.to_parquet(path)
    elif source == "json":
        dates = {"date_format": "iso"} if role == "time" else {}
        frame.to_json(path, orient="records", lines=True, **dates)
    read = partial(frame_ratings, frame) if source == "frame" else partial(read_ratings, path)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=f"column '{role}' {expected}"):
            read(options)
        return
    ratings = read(options)
    found = {
        "user": ratings.user_ids[ratings.users],
        "rating": ratings.stars,
        "time": None if ratings.times is None else np.unique(ratings.times, return_inverse=True)[1],
    }
    assert found[role].tolist() == expected


def test_wrong_columns_are_named_with_the_columns_there(tmp_path):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False)
    with pytest.raises(
        ValueError, match=r"user='user' is not a column of .*t.csv.*'who'.*by user="
    ):
        read_ratings(path, ReadOptions("user", "what", "score"))
    FRAME.to_csv(path, index=False, sep="^")
    with pytest.raises(ValueError, match=r"holds no table: .* pass separator=, .* encoding="):
        read_ratings(path, ReadOptions("who", "what", "score"))
    FRAME.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"rating= is not given: .*; .*t.csv has \['who'"):
        read_ratings(path, ReadOptions("who", "what"))
    with pytest.raises(ValueError, match="item='movie' is not a column of the frame"):
        frame_ratings(FRAME, ReadOptions("who", "movie", "score"))
    with pytest.raises(ValueError, match="item='what' is not a column of the frame"):
        frame_ratings(FRAME.drop(columns="what"), ReadOptions("who", "what", "score", "kind"))
    with pytest.raises(ValueError, match=r"the frame has several columns \['who', 'who'\]"):
        frame_ratings(
            pd.concat([FRAME, FRAME[["who"]]], axis=1), ReadOptions("who", "what", "score")
        )
    with pytest.raises(ValueError, match="data of type int: expected a path"):
        frame_ratings(3, ReadOptions("who", "what", "score"))
    with pytest.raises(ValueError, match=r"data of type Table: .* \(call \.to_pandas\(\) of"):
        frame_ratings(pa.table({"who": [1]}), ReadOptions("who", "what", "score"))
    with pytest.raises(ValueError, match="encoding with a frame: expected a path"):
        frame_ratings(FRAME, ReadOptions("who", "what", "score", encoding="latin-1"))


def test_a_table_without_names_lists_its_columns(tmp_path):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"columns \['who', 'what', .*user=, item= and rat"):
        read_ratings(path)


def test_columns_that_differ_only_in_case_are_refused(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r,R\n1,2,3,4\n")
    with pytest.raises(
        ValueError, match=r"several columns \['r', 'R'\] for rating='r': expected one"
    ):
        read_ratings(path, OPTIONS)
    path.write_text("u,i,r,x,x,column0\n1,2,3,4,5,6\n")
    assert read_ratings(path, OPTIONS).stars.tolist() == [3]


def test_text_ids_become_integers_only_if_all_are_integers(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r\n10,2,3\n9,007,4\n10,11,5\n")
    read = read_ratings(path, OPTIONS)
    assert read.user_ids.tolist() == [9, 10]
    assert read.users.tolist() == [1, 0, 1]
    assert read.item_ids.tolist() == ["007", "11", "2"]


def test_the_source_of_another_table_is_the_name_of_its_file(tmp_path):
    path = tmp_path / "mine.csv"
    rows = "".join(f"{row},1,3\n" for row in range(100_000))
    path.write_text("u,i,r\n" + rows)
    assert read_ratings(path, OPTIONS).source == "mine.csv"


def test_movietweetings_is_read_by_positions(tmp_path):
    path = tmp_path / "ratings.dat"
    path.write_text("1::0114508::8::1381006850\n2::0208092::10::1586466072\n2::0358273::0::158\n")
    for options in (ReadOptions(), OPTIONS):
        with pytest.raises(ValueError, match=r"0114508.*if they are a row, pass positions: user=0"):
            read_ratings(path, options)
    read = read_ratings(path, ReadOptions(0, 1, 2, time=3))
    assert read.item_ids.tolist() == ["0114508", "0208092", "0358273"]
    assert (read.stars.tolist(), read.times.tolist()[0]) == ([8, 10, 0], 1381006850)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1250"])
def test_text_in_another_encoding_keeps_its_items(encoding, tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes("u,i,r\n1,Café,3\n2,Tea,4\n".encode(encoding))
    if encoding != "utf-16":
        with pytest.raises(ValueError, match=r"line 2 is .*not UTF-8\).*encoding='latin-1'"):
            read_ratings(path, OPTIONS)
    read = read_ratings(path, replace(OPTIONS, encoding=encoding))
    assert read.item_ids.tolist() == ["Café", "Tea"]
    path.write_bytes(b"u,i,r\n1,a,3\n2,Caf\xe9,4\n")
    with pytest.raises(ValueError, match=r"encoding='cp932'.*expected another encoding"):
        read_ratings(path, replace(OPTIONS, encoding="cp932"))


def test_quotes_escapes_and_separators_can_be_chosen(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text('u,i,r,t\n1,2,3,"say \\"hi\\", she said"\n4,5,2,x\n')
    with pytest.raises(ValueError, match=r"line 2 is .*\(a quote is not closed.*escape="):
        read_ratings(path, OPTIONS)
    assert read_ratings(path, replace(OPTIONS, escape="\\")).stars.tolist() == [3, 2]
    path.write_text('u,i,r\n"1,2,3\n4",5,2\n')
    read = read_ratings(path, replace(OPTIONS, quote=""))
    assert read.user_ids.tolist() == ['"1', '4"']
    path.write_text("u^i^r\n1^2^3\n")
    assert read_ratings(path, replace(OPTIONS, separator="^")).stars.tolist() == [3]
    path.write_text("u\ti\tr\n1\t2,2\t3\n")
    assert read_ratings(path, replace(OPTIONS, separator=r"\t")).item_ids.tolist() == ["2,2"]


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ({"quote": ","}, "quote=',' with the separator ',' of .*r.csv: expected different"),
        ({"separator": '""'}, "quote='\"' with the separator '\"\"'"),
        ({"quote": "'", "escape": ","}, "escape=',' with the separator ','"),
    ],
)
def test_a_separator_with_a_mark_of_quotes_is_refused(marks, message, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r\n1,2,3\n".replace(",", marks.get("separator", ",")))
    with pytest.raises(ValueError, match=message):
        read_ratings(path, replace(OPTIONS, **marks))


@pytest.mark.parametrize("value", [99, [99, -1]])
def test_values_that_mean_no_rating_are_left_out(value, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r\n1,2,3\n1,3,99\n2,2,-1\n")
    read = read_ratings(path, replace(OPTIONS, not_rated=value))
    assert read.notes["unrated"] == np.size(value)
    assert 99 not in read.stars


def test_json_lines_with_names_of_their_own_are_read(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"u": 7, "i": {"a": 1}, "r": 3, "t": "x"}\n{"u": 8, "i": 9, "r": 4}\n')
    with pytest.raises(ValueError, match=r"column 'i' holds a JSON object in .*: expected"):
        read_ratings(path, OPTIONS)
    read = read_ratings(path, ReadOptions("u", "t", "r", on_error="skip"))
    assert (read.user_ids.tolist(), read.item_ids.tolist()) == ([7], ["x"])
    assert read.notes["damaged"] == 1


@pytest.mark.parametrize("member", ["csv", "csv.gz", "parquet"])
def test_the_table_with_the_named_columns_is_found_in_an_archive_or_folder(member, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    name = f"deep/ratings.{member}"
    text = b"u,i,r\n1,2,3\n"
    if member == "parquet":
        pd.DataFrame({"u": [1], "i": [2], "r": [3]}).to_parquet(folder / "ratings.parquet")
        text = (folder / "ratings.parquet").read_bytes()
    else:
        text = gzip.compress(text) if member == "csv.gz" else text
        (folder / f"ratings.{member}").write_bytes(text)
    (folder / "read me, please.txt").write_text("Ratings, and\nother things\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, text)
        archive.writestr("users.csv", "u,age\n1,20\n")
    with pytest.raises(ValueError, match=r"user= is not given: .* are arms with genres="):
        read_ratings(tmp_path / "a.zip", ReadOptions(category="age"))
    for path, file in ((tmp_path / "a.zip", name), (folder, f"ratings.{member}")):
        read = read_ratings(path, OPTIONS)
        assert (read.stars.tolist(), read.file) == ([3], file)
    with pytest.raises(ValueError, match=r"0 of its tables have the columns .*users.csv has \['u'"):
        read_ratings(tmp_path / "a.zip", ReadOptions("u", "i", "stars"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user": 0, "item": "i"}, "expected only names, or, .* only positions"),
        ({"user": True, "item": 1}, "'user': True.*: expected only names, or, .* only positions"),
        ({"separator": "::::::"}, "separator='::::::': expected up to 4 bytes"),
        ({"separator": 3}, "separator=3: expected"),
        ({"encoding": "klingon"}, "encoding='klingon': expected one that Python knows"),
        ({"encoding": "hex"}, "encoding='hex': expected one that Python knows"),
        ({"encoding": "idna"}, "encoding='idna': expected one that Python knows"),
        ({"quote": "''"}, "quote=\"''\": expected one ASCII character"),
        ({"escape": "é"}, "escape='é': expected one ASCII character"),
        ({"not_rated": "none"}, "not_rated='none': expected a number"),
        ({"not_rated": [0, np.nan]}, r"not_rated=\[0, nan\]: expected a number"),
        ({"on_error": "ignore"}, "unknown on_error 'ignore'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ReadOptions(**options)


def test_errors_show_a_part_of_many_columns_and_of_long_rows(tmp_path):
    names = [f"column-{i}" for i in range(2000)]
    csv, lines, parquet = (tmp_path / f"wide.{kind}" for kind in ("csv", "json", "parquet"))
    wide = pd.DataFrame([[1] * len(names)], columns=names)
    wide.to_csv(csv, index=False)
    wide.to_json(lines, orient="records", lines=True)
    pd.DataFrame({"u": ["u" * 9999], "i": ["i"], "r": ["not a number"]}).to_parquet(parquet)
    cases = ((csv, OPTIONS), (csv, ReadOptions()), (lines, OPTIONS), (parquet, OPTIONS))
    for path, options in cases:
        with pytest.raises(ValueError, match=rf"{path.name}.* \.\.\. ") as refused:
            read_ratings(path, options)
        assert len(str(refused.value)) < 3000


def test_an_interrupt_while_rows_are_scanned_is_not_a_damaged_file():
    class Interrupted:
        def execute(self, *_):
            raise RuntimeError("Query interrupted")  # as DuckDB does after Ctrl-C

    table = pa.table({"user": [1], "item": [1], "rating": [2.0]})
    with open_frame_scan(table, Layout("")) as scan, pytest.raises(KeyboardInterrupt):
        replace(scan, connection=Interrupted()).counts()
