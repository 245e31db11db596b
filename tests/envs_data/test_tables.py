"""Tables and frames whose columns the user names."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from cmab_gym.envs_data import read_table
from cmab_gym.envs_data.reader import frame_ratings

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
    columns = ("who", "what", "score", "", "when")
    read = frame_ratings(FRAME, *columns) if kind == "frame" else read_table(path, *columns)
    assert read.user_ids.tolist() == ["a", "b", "c"]
    assert [str(item) for item in read.item_ids.tolist()] == ["3", "5"]
    assert_array_equal(read.stars, FRAME["score"])
    assert_array_equal(read.times, FRAME["when"])


@pytest.mark.parametrize("from_file", [True, False])
def test_categories_keep_every_rating_of_different_items(from_file, tmp_path):
    path = tmp_path / "t.csv"
    frame = pd.concat([FRAME, FRAME.iloc[[0]].assign(score=4.0)])
    frame.to_csv(path, index=False)
    columns = ("who", "what", "score", "kind")
    read = read_table(path, *columns) if from_file else frame_ratings(frame, *columns)
    assert read.item_ids.tolist() == ["x", "y"]
    assert_array_equal(
        read.stars, [2.0, 1.5, 9.0, 4.0]
    )  # user a rated item 3 twice: the last counts
    columns = ("who", "", "score", "kind")
    read = read_table(path, *columns) if from_file else frame_ratings(frame, *columns)
    assert read.stars.size == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"who": [1.0, 2.0, np.nan, 4.0]}, r"user id 1.0 of type float: expected integers, or str"),
        ({"who": ["a", None, "b", "c"]}, r"user id (nan|None) of type"),
        ({"who": ["a", 1, "b", "c"]}, r"user id 1 of type int: expected integers, or strings"),
        ({"when": [1.5, 2, 3, 4]}, r"column 'when' of type float64: expected whole numbers"),
        ({"when": pd.to_datetime(["2020-01-01", None] * 2)}, r"'when' lacks 2 times"),
        ({"score": [1, np.nan, 2, 3]}, r"stars\[1\] is nan"),
        ({"score": ["good", "bad", "x", "y"]}, r"column 'score'.*expected numbers"),
    ],
)
def test_wrong_frames_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        frame_ratings(FRAME.assign(**change), "who", "what", "score", "", "when")


def test_wrong_columns_are_named_with_the_columns_there(tmp_path):
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False)
    with pytest.raises(
        ValueError, match=r"user='user' is not a column of .*t.csv.*'who'.*by user="
    ):
        read_table(path, "user", "what", "score")
    with pytest.raises(ValueError, match=r"rating='' is not a column of .*t.csv.*by rating="):
        read_table(path, "who", "what", "")
    with pytest.raises(ValueError, match="item='movie' is not a column of the frame"):
        frame_ratings(FRAME, "who", "movie", "score")
    with pytest.raises(ValueError, match="item='what' is not a column of the frame"):
        frame_ratings(FRAME.drop(columns="what"), "who", "what", "score", "kind")
    with pytest.raises(ValueError, match=r"the frame has several columns \['who', 'who'\]"):
        frame_ratings(pd.concat([FRAME, FRAME[["who"]]], axis=1), "who", "what", "score")
    with pytest.raises(ValueError, match="data of type int: expected a path"):
        frame_ratings(3, "who", "what", "score")


def test_columns_that_differ_only_in_case_are_refused(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r,R\n1,2,3,4\n")
    with pytest.raises(
        ValueError, match=r"several columns \['r', 'R'\] for rating='r': expected one"
    ):
        read_table(path, "u", "i", "r")
    path.write_text("u,i,r,x,x,column0\n1,2,3,4,5,6\n")
    assert read_table(path, "u", "i", "r").stars.tolist() == [3]


def test_text_ids_become_integers_only_if_all_are_integers(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r\n10,2,3\n9,007,4\n10,11,5\n")
    read = read_table(path, "u", "i", "r")
    assert read.user_ids.tolist() == [9, 10]
    assert read.users.tolist() == [1, 0, 1]
    assert read.item_ids.tolist() == ["007", "11", "2"]


def test_the_source_of_another_table_is_the_name_of_its_file(tmp_path):
    path = tmp_path / "mine.csv"
    rows = "".join(f"{row},1,3\n" for row in range(100_000))
    path.write_text("u,i,r\n" + rows)
    assert read_table(path, "u", "i", "r").source == "mine.csv"
