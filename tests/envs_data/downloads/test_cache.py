import gzip
import hashlib
import re
from pathlib import Path

import platformdirs
import pytest

from cmab_gym.envs_data import read_ratings
from cmab_gym.envs_data.downloads.cache import (
    cache_folder,
    cached,
    cached_path,
    checksum_like,
    locate,
    record_checksum,
    verify,
)
from cmab_gym.envs_data.downloads.datasets import DATASETS, Dataset, dataset
from cmab_gym.envs_data.downloads.fetch import fetch
from cmab_gym.envs_data.downloads.transfer import Transfer


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_folder_comes_from_the_variable_or_is_the_users_cache(folder, monkeypatch):
    assert cache_folder() == folder
    assert not folder.exists()
    monkeypatch.setenv("CMAB_GYM_DATA", "~/data")
    assert cache_folder() == Path.home() / "data"
    monkeypatch.setenv("CMAB_GYM_DATA", "~no-such-user/data")  # stays so, as in a shell
    assert cache_folder() == Path.cwd() / "~no-such-user" / "data"
    monkeypatch.setenv("CMAB_GYM_DATA", "")
    assert cache_folder() == platformdirs.user_cache_path("cmab-gym", appauthor=False)


def test_a_file_in_place_of_the_folder_is_refused(folder):
    folder.write_text("")
    with pytest.raises(NotADirectoryError, match=r"CMAB_GYM_DATA=.* is a file: expected a folder"):
        cached_path("ml-1m")


def test_a_folder_with_a_name_that_is_too_long_holds_nothing(monkeypatch):
    monkeypatch.setenv("CMAB_GYM_DATA", "a" * 5000)
    assert cached() == {}
    with pytest.raises(FileNotFoundError, match="ml-1m is not in the cache"):
        locate("ml-1m")
    with pytest.raises(OSError, match=r"cannot be written to \(File name too long\)"):
        fetch("ml-1m")


def test_only_complete_files_of_known_data_sets_are_cached(folder):
    assert cached() == {}
    folder.mkdir()
    for name in ("ml-1m.zip", "ml-10m.zip.partial", "other.zip"):
        (folder / name).write_text("")
    assert cached() == {"ml-1m": folder / "ml-1m.zip"} == {"ml-1m": cached_path("ml-1m")}


def test_verifying_a_missing_file_says_where_to_get_it(folder):
    with pytest.raises(
        FileNotFoundError, match=r"ml-1m.zip does not exist: .* https://files.group"
    ):
        verify("ml-1m")


def test_verifying_another_file_fails(folder):
    folder.mkdir()
    cached_path("ml-1m").write_bytes(b"other")
    found = hashlib.sha256(b"other").hexdigest()
    expected = re.escape(DATASETS["ml-1m"].checksum)
    with pytest.raises(ValueError, match=f"{found}: expected {expected}; it was changed or"):
        verify("ml-1m")


def test_a_damaged_record_of_a_checksum_is_named(folder):
    folder.mkdir()
    cached_path("ml-latest").write_bytes(b"any")
    (folder / "ml-latest.zip.sha256").write_text("")
    with pytest.raises(
        ValueError, match="does not hold a SHA-256: expected 64 hex digits; delete it"
    ):
        verify("ml-latest")


def test_a_checksum_has_the_algorithm_of_the_expected_one(tmp_path):
    path = tmp_path / "empty"
    path.write_bytes(b"")
    assert checksum_like("md5:0", path) == "md5:d41d8cd98f00b204e9800998ecf8427e"
    assert checksum_like("sha256:0", path) == f"sha256:{hashlib.sha256().hexdigest()}"


def test_every_data_set_has_an_address_terms_and_mostly_a_checksum():
    assert len({known.file for known in DATASETS.values()}) == len(DATASETS)
    for name, known in DATASETS.items():
        assert known.name == name
        assert known.url.startswith("https://")
        assert Path(known.url).suffix == Path(known.file).suffix  # of which kind the file must be
        assert known.licence
        assert known.citation
        assert ("No checksum" in known.terms) == (known.checksum is None)
    unpinned = {name for name, known in DATASETS.items() if known.checksum is None}
    assert unpinned == {"ml-latest", "goodbooks-10k", "goodreads-poetry-books"}


def test_data_is_a_path_or_the_name_of_a_data_set(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"ml-1m is not in the cache, .* data fetch ml-1m"):
        locate("ml-1m")
    folder.mkdir()
    cached_path("ml-1m").touch()
    assert locate("ml-1m") == cached_path("ml-1m")
    Path("ml-1m").touch()
    assert locate("ml-1m") == Path("ml-1m")  # a file of that name comes first
    for wrong in ("", "ml-2m"):
        with pytest.raises(FileNotFoundError, match=r"does not exist: .* `cmab-gym data list`"):
            locate(wrong)
    with pytest.raises(ValueError, match="data of type int: expected a path, or the name of a"):
        locate(3)


def test_records_of_downloads_are_not_taken_for_titles(folder):
    folder.mkdir()
    ratings, books = cached_path("goodreads-poetry"), dataset("goodreads-poetry-books")
    ratings.write_bytes(gzip.compress(b'{"user_id": "a", "book_id": "1", "rating": 3}\n'))
    titles = cached_path(books)
    titles.write_bytes(gzip.compress(b'{"book_id": "1", "title": "One"}\n'))
    record_checksum(books, titles)
    transfer = Transfer(books.url, folder / f"{books.file}.partial")
    transfer.partial.write_bytes(b"\x1f\x8b")
    transfer.version_file.write_text('{"url": "x"}')
    assert read_ratings(locate("goodreads-poetry")).titles == {"1": "One"}


def test_a_data_set_of_your_own_is_accepted():
    own = Dataset("own", "Own", "https://example.org/a.csv", "a.csv", "", "")
    assert dataset(own) is own
    assert dataset("ml-1m") is DATASETS["ml-1m"]
    with pytest.raises(ValueError, match="unknown data set 'ml-2m': did you mean"):
        dataset("ml-2m")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"url": "ftp://example.org/a"}, "expected an address"),
        ({"url": "https://"}, "expected an address"),
        ({"file": "../a.csv"}, "expected a bare file name"),
        ({"file": ".hidden"}, "expected a bare file name"),
        ({"checksum": "d41d8cd98f00b204e9800998ecf8427e"}, "expected md5:... or sha256:..."),
        ({"checksum": "sha256:abc"}, "expected md5:... or sha256:..."),
    ],
)
def test_malformed_data_sets_are_refused(change, message):
    fine = {"url": "https://example.org/a.csv", "file": "a.csv", "checksum": None}
    with pytest.raises(ValueError, match=re.escape(message)):
        Dataset(name="own", title="Own", licence="", citation="", **{**fine, **change})
