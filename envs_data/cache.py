"""The folder of downloaded data sets, and whether its files are still what was downloaded."""

from __future__ import annotations

import os
import re
from pathlib import Path

import platformdirs

from cmab_gym.envs_data.datasets import DATASETS, Dataset, dataset
from cmab_gym.files import checksum, write_whole

FOLDER_VARIABLE = "CMAB_GYM_DATA"


def cache_folder() -> Path:
    """Return the folder for downloads: CMAB_GYM_DATA, else the user's cache folder.

    It need not be there yet.

    Raises:
        NotADirectoryError: CMAB_GYM_DATA is a file.
    """
    chosen = os.environ.get(FOLDER_VARIABLE)
    if not chosen:
        return platformdirs.user_cache_path("cmab-gym", appauthor=False)
    folder = Path(chosen).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{FOLDER_VARIABLE}={chosen} is a file: expected a folder")
    return folder


def cached_path(name: str | Dataset) -> Path:
    """Return where a data set is kept, whether or not it has been downloaded.

    Args:
        name: a key of `DATASETS`, or a `Dataset` of your own.

    Raises:
        ValueError: there is no such data set.
    """
    return cache_folder() / dataset(name).file


def cached() -> dict[str, Path]:
    """Return the known data sets that are in the cache, name to path."""
    paths = {name: cached_path(name) for name in DATASETS}
    return {name: path for name, path in paths.items() if path.is_file()}


def locate(data: str | Path) -> Path:
    """Return the path of ratings: the path given, or where a data set of that name is cached.

    Raises:
        FileNotFoundError: it names a data set that is not cached.
    """
    if str(data) not in DATASETS or Path(data).exists():
        return Path(data)
    path = cached_path(str(data))
    if not path.is_file():
        raise FileNotFoundError(
            f"{data} is not in the cache, {path.parent}: fetch it by `cmab-gym data fetch {data}`"
        )
    return path


def verify(name: str | Dataset) -> None:
    """Check a data set in the cache against its checksum.

    The checksum is the published one, or else the one recorded at the first download.

    Args:
        name: a key of `DATASETS`, or a `Dataset` of your own.

    Raises:
        ValueError: there is no such data set, its file is another one, or no checksum is known.
        FileNotFoundError: it is not in the cache.
    """
    wanted = dataset(name)
    path = cached_path(wanted)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there: expected data set {wanted.name!r}; fetch it, or put the file "
            f"from {wanted.url} there"
        )
    expected = expected_checksum(wanted)
    if expected is None:
        raise ValueError(
            f"no checksum of {path} is known: expected {record_path(wanted)}; "
            f"fetch {wanted.name!r} once to record it"
        )
    found = checksum_of(path, algorithm(expected))
    if found != expected:
        raise ValueError(
            f"{path} has checksum {found}: expected {expected}; it was changed or is another file: "
            f"delete it and fetch {wanted.name!r} again"
        )


def expected_checksum(wanted: Dataset) -> str | None:
    """Return the published checksum, else the recorded one, else None.

    Raises:
        ValueError: the record is damaged.
    """
    record = record_path(wanted)
    if wanted.checksum is not None or not record.is_file():
        return wanted.checksum
    digest = record.read_text(encoding="utf-8").partition(" ")[0]
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise ValueError(f"{record} holds no SHA-256: expected 64 hex digits; delete it")
    return f"sha256:{digest}"


def record_path(wanted: Dataset) -> Path:
    """Return where the checksum of the first download is recorded, as `sha256sum` writes it."""
    return cached_path(wanted).with_name(f"{wanted.file}.sha256")


def record_checksum(wanted: Dataset, checksum: str) -> None:
    """Record the SHA-256 of a first download, whole or not at all."""
    record = record_path(wanted)
    line = f"{checksum.removeprefix('sha256:')}  {wanted.file}\n"
    write_whole(record, lambda part: part.write_text(line, encoding="utf-8"))


def algorithm(checksum: str | None) -> str:
    """Return the algorithm of a checksum; sha256 if there is none."""
    return "sha256" if checksum is None else checksum.partition(":")[0]


def checksum_of(path: Path, algorithm: str = "sha256") -> str:
    """Return the checksum of a file, as "algorithm:hex"."""
    return f"{algorithm}:{checksum(path, algorithm)}"
