"""The folder of downloaded data sets, and the checksums of its files."""

from __future__ import annotations

import os
import re
from os.path import exists, expanduser, isdir, isfile
from pathlib import Path

import platformdirs

from cmab_gym.envs_data.downloads.datasets import DATASETS, Dataset, dataset
from cmab_gym.envs_data.downloads.kinds import misfit
from cmab_gym.files import checksum, write_whole

FOLDER_VARIABLE = "CMAB_GYM_DATA"


def cache_folder() -> Path:
    """Return the folder for downloads: CMAB_GYM_DATA, else the user's cache folder.

    The folder may not exist yet.

    Raises:
        NotADirectoryError: CMAB_GYM_DATA is a file.
    """
    chosen = os.environ.get(FOLDER_VARIABLE)
    if not chosen:
        return platformdirs.user_cache_path("cmab-gym", appauthor=False)
    folder = Path(expanduser(chosen)).absolute()
    if exists(folder) and not isdir(folder):
        raise NotADirectoryError(f"{FOLDER_VARIABLE}={chosen} is a file: expected a folder")
    return folder


def cached_path(name: str | Dataset) -> Path:
    """Return the path of a data set in the cache, whether or not it has been downloaded.

    Args:
        name: a key of `DATASETS`, or a `Dataset` of your own.

    Raises:
        ValueError: `name` is not a known data set.
    """
    return cache_folder() / dataset(name).file


def cached() -> dict[str, Path]:
    """Return the known data sets that are in the cache, as a mapping from name to path."""
    paths = {name: cached_path(name) for name in DATASETS}
    return {name: path for name, path in paths.items() if isfile(path)}


def locate(data: str | Path) -> Path:
    """Return the path of ratings, given a path or the name of a data set in the cache.

    Raises:
        ValueError: `data` is neither a path nor a name.
        FileNotFoundError: it does not exist, or is the name of a data set that is not in the cache.
    """
    if not isinstance(data, str | os.PathLike):
        raise ValueError(
            f"data of type {type(data).__name__}: expected a path, or the name of a data set; "
            "CMAB-Ratings-v0 also takes frames"
        )
    if exists(data):
        return Path(data)
    if str(data) not in DATASETS:
        raise FileNotFoundError(
            f"{data} does not exist: expected a ratings file, a folder, a .zip archive, or a data "
            "set in the list of `cmab-gym data list`"
        )
    path = cached_path(str(data))
    if not isfile(path):
        raise FileNotFoundError(
            f"{data} is not in the cache, {path.parent}: run `cmab-gym data fetch {data}`"
        )
    return path


def verify(name: str | Dataset) -> None:
    """Check a data set in the cache against its checksum.

    The checksum is the published one, or else the one recorded at the first download.

    Args:
        name: a key of `DATASETS`, or a `Dataset` of your own.

    Raises:
        ValueError: `name` is not a known data set, the checksum differs, or none is known; or only
            a recorded checksum is known, and the file is of another kind, such as a web page.
        FileNotFoundError: the data set is not in the cache.
    """
    wanted = dataset(name)
    path = cached_path(wanted)
    if isdir(path):
        raise ValueError(f"{path} is a folder: expected the file of {wanted.name!r}; delete it")
    if not isfile(path):
        raise FileNotFoundError(
            f"{path} does not exist: expected data set {wanted.name!r}; fetch it, or save "
            f"{wanted.url} under this path"
        )
    expected = expected_checksum(wanted)
    if expected is None:
        raise ValueError(
            f"no checksum of {path} is known: expected {record_path(wanted)}; fetch "
            f"{wanted.name!r} once to record it"
        )
    found = checksum_like(expected, path)
    if found != expected:
        raise ValueError(
            f"{path} has checksum {found}: expected {expected}; it was changed or is another file: "
            f"delete it and fetch {wanted.name!r} again"
        )
    if wanted.checksum is None:
        check_kind(wanted, path, f"delete it and {record_path(wanted)}, and fetch it again")


def check_kind(wanted: Dataset, path: Path, remedy: str) -> None:
    """Refuse a file of a data set whose content does not fit its name.

    Raises:
        ValueError: it does not; `remedy` says what to do.
    """
    if reason := misfit(path, wanted.file):
        raise ValueError(f"{path} is {reason}: expected {wanted.title}; {remedy}")


def expected_checksum(wanted: Dataset) -> str | None:
    """Return the published checksum of a data set, else the recorded one, else None.

    Raises:
        ValueError: the recorded checksum is damaged.
    """
    record = record_path(wanted)
    if wanted.checksum is not None or not isfile(record):
        return wanted.checksum
    digest = record.read_text(encoding="utf-8").partition(" ")[0]
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise ValueError(f"{record} does not hold a SHA-256: expected 64 hex digits; delete it")
    return f"sha256:{digest}"


def record_path(wanted: Dataset) -> Path:
    """Return the file that records the SHA-256 of the first download, as `sha256sum` writes it."""
    return cached_path(wanted).with_name(f"{wanted.file}.sha256")


def record_checksum(wanted: Dataset, path: Path) -> None:
    """Record the SHA-256 of a data set's first download, found at `path`."""
    line = f"{checksum(path)}  {wanted.file}\n"
    write_whole(record_path(wanted), lambda part: part.write_text(line, encoding="utf-8"))


def checksum_like(expected: str, path: Path) -> str:
    """Return the checksum of a file as "algorithm:hex", by the algorithm of `expected`."""
    algorithm = expected.partition(":")[0]
    return f"{algorithm}:{checksum(path, algorithm)}"
