"""Archives, folders, pipes and devices: which are read, which are refused, and how fast."""

import gzip
import os
import re
import struct
import zipfile

import pytest

from cmab_gym.envs_data import ReadOptions, read_ratings
from cmab_gym.envs_data.downloads import kinds
from cmab_gym.envs_data.readers import archive

CSV = b"user_id,book_id,rating\n1,2,3\n"


def test_of_a_folder_only_the_files_directly_inside_are_read(tmp_path):
    nested = tmp_path / "nested"
    nested.mkdir()
    (nested / "ratings.csv").write_bytes(CSV)
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ValueError, match=r"is not in a known format \(its files: \['notes.txt'\]"):
        read_ratings(tmp_path)
    assert read_ratings(nested).file == "ratings.csv"
    assert read_ratings(nested / "ratings.csv").file == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_pipes_and_devices_are_refused_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        with pytest.raises(ValueError, match=rf"{path} is a pipe or a device: expected a rat"):
            read_ratings(path)
    (tmp_path / "ratings.csv").write_bytes(CSV)
    os.mkfifo(tmp_path / "books.csv")
    for path in (tmp_path, tmp_path / "ratings.csv"):
        assert read_ratings(path).stars.tolist() == [3]


def test_the_time_for_an_archive_grows_with_its_members(tmp_path, monkeypatch):
    opened = []
    kept = zipfile.ZipFile.__init__
    monkeypatch.setattr(
        zipfile.ZipFile, "__init__", lambda *args, **kw: opened.append(kept(*args, **kw))
    )
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as made:
        for member in range(300):
            made.writestr(f"{member}.txt", "nothing")
        made.writestr("ratings.csv", CSV)
    opened.clear()
    assert read_ratings(path).file == "ratings.csv"
    assert len(opened) == 1  # its directory is read once, not once for each member
    monkeypatch.setattr(archive, "_MOST_FILES", 300)
    with pytest.raises(ValueError, match="holds 301 files: expected at most 300; pass the path of"):
        read_ratings(path)


@pytest.mark.parametrize("stored", [True, False])
def test_a_gzip_bomb_is_refused_before_it_is_unpacked(stored, tmp_path):
    bomb = gzip.compress(CSV + b"x" * 20_000_000)
    path = tmp_path / "r.csv.gz"
    path.write_bytes(bomb)
    if stored:
        path = tmp_path / "r.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as made:
            made.writestr("r.csv.gz", bomb)
    message = r"would grow from [\d,]+ to \d\d,\d{3},\d{3} bytes.*unpack it yourself"
    with pytest.raises(ValueError, match=message):
        read_ratings(path)


@pytest.mark.parametrize("name", ["movies.csv", "movies.dat", "u.item"])
def test_a_damaged_file_of_titles_is_an_error(name, tmp_path):
    ratings = b"userId,movieId,rating,timestamp\n1,2,3,4\n"
    (tmp_path / "ratings.csv").write_bytes(ratings)
    (tmp_path / name).write_bytes(b"movieXd,title,genres\n2,Toy,Drama\n")
    with pytest.raises(ValueError, match=rf"{re.escape(name)} line 1 is 'movieXd.*titles of items"):
        read_ratings(tmp_path)


def test_a_full_disk_is_named_with_its_folder(tmp_path, monkeypatch):
    path = tmp_path / "r.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("ratings.csv", CSV)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.shutil, "copyfileobj", full)
    with pytest.raises(OSError, match=r"No space left on device; .*set TMPDIR.*cmab-gym-"):
        read_ratings(path)


def test_a_long_header_is_read(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("u," + ",".join(f"note {i}" for i in range(8_000)) + ",i,r\n")
    with path.open("a") as file:
        file.write("1," + "," * 8_000 + "2,3\n")
    assert read_ratings(path, ReadOptions("u", "i", "r")).stars.tolist() == [3]


@pytest.mark.parametrize(
    "options", [ReadOptions("u", "i", "r"), ReadOptions(0, 1, 2), ReadOptions()]
)
def test_a_column_with_a_name_that_is_too_long_is_an_error_of_its_own(tmp_path, options):
    path = tmp_path / "r.csv"
    path.write_text("u,i,r," + "x" * 140_000 + "\n1,2,3,4\n")
    with pytest.raises(ValueError, match=r"r.csv line 1 begins with 'u,i.* more than 131,072 char"):
        read_ratings(path, options)


def test_a_member_without_a_name_is_a_file(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        member = zipfile.ZipInfo("x")
        member.filename = ""
        made.writestr(member, "y")
        made.writestr("ratings.csv", CSV)
    assert read_ratings(path).stars.tolist() == [3]


def test_a_part_of_an_archive_in_several_files_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("ratings.csv", CSV)
    content = path.read_bytes()
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 1, 0, 2)  # of the second of two files
    path.write_bytes(content[:-22] + locator + content[-22:])
    assert kinds.misfit(path, "a.zip").startswith("not a whole zip archive")
    with pytest.raises(ValueError, match=r"a\.zip is a damaged zip archive"):
        read_ratings(path)
