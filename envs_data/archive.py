"""Safe access to the files of an archive or a folder, or to a single file."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

_HEAD = 1 << 16  # bytes that are read to recognise a file
_COPY = 1 << 20
# Ratings compress by a factor of 3 to 15. A member above this ratio is refused as a zip bomb.
_LARGEST_RATIO = 200
_LARGEST_TOTAL = 64 << 30
# The errors that damaged, truncated, encrypted or unknown archives raise.
UNREADABLE = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    NotImplementedError,
)
# Files that describe the items and users of a ratings file in the same folder.
_COMPANIONS = (
    "movies.dat",
    "users.dat",
    "movies.csv",
    "u.item",
    "books.csv",
    "book_id_map.csv",
    "goodreads_books*.json*",
)


@dataclass(frozen=True)
class Files:
    """Named files, on disk or inside a zip archive.

    Args:
        path: the path that the user gave.
        names: the names of the files inside the archive or folder.
        scratch: folder for copies of members that a reader needs on disk.
    """

    path: Path
    names: tuple[str, ...]
    scratch: Path

    def head(self, name: str, strict: bool = True) -> bytes:
        """Return the first bytes of a file, decompressed; b"" if it is damaged and not strict."""
        try:
            with self.open(name) as file:
                return file.read(_HEAD)
        except UNREADABLE:
            if strict:
                raise
            return b""

    def is_gzip(self, name: str) -> bool:
        """Return whether the content of a file is gzip."""
        with self._open_raw(name) as raw:
            return raw.read(2) == b"\x1f\x8b"

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file for reading, and decompress it if it is gzip."""
        with self._open_raw(name) as raw:
            magic = raw.read(2)
            raw.seek(0)
            if magic == b"\x1f\x8b":
                with gzip.open(raw) as file:
                    yield file  # type: ignore[misc]
            else:
                yield raw

    def on_disk(self, name: str) -> Path:
        """Return the path of a file; a zip member is first copied to the scratch folder."""
        if not self._zipped:
            return self._real(name)
        # zipfile stops at the size that the archive declares, and checks the CRC of the member.
        copy = self.scratch / str(self.names.index(name))
        if not copy.exists():
            with self._open_raw(name) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, _COPY)
        return copy

    @cached_property
    def _zipped(self) -> bool:
        return zipfile.is_zipfile(self.path)

    @contextmanager
    def _open_raw(self, name: str) -> Iterator[IO[bytes]]:
        if self._zipped:
            with zipfile.ZipFile(self.path) as archive, archive.open(name) as file:
                yield file
        else:
            with self._real(name).open("rb") as file:
                yield file

    def _real(self, name: str) -> Path:
        return self.path / name if self.path.is_dir() else self.path.parent / name


@contextmanager
def open_files(path: str | Path) -> Iterator[Files]:
    """Open a zip archive, a folder, or a single file with the files that describe its items.

    Members of an archive are never extracted under their own names, and no copy stays on disk.

    Raises:
        FileNotFoundError: the path does not exist.
        ValueError: the archive is empty, or larger than ratings can be when unpacked.
    """
    path = Path(path)
    if str(path) == "." or not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: expected a ratings file, a folder or a .zip archive"
        )
    with tempfile.TemporaryDirectory(prefix="cmab-gym-") as scratch:
        yield Files(path, tuple(_names(path)), Path(scratch))


def _names(path: Path) -> list[str]:
    if path.is_dir():
        return sorted(p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
    if not zipfile.is_zipfile(path):
        companions = {p.name for pattern in _COMPANIONS for p in path.parent.glob(pattern)}
        return [path.name, *sorted(companions - {path.name})]
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    if not members:
        raise ValueError(f"{path} is an empty archive: expected ratings")
    total = sum(member.file_size for member in members)
    for member in members:
        if member.file_size > _LARGEST_RATIO * max(member.compress_size, 1 << 10):
            raise ValueError(
                f"{path}: {member.filename} would grow from {member.compress_size:,} to "
                f"{member.file_size:,} bytes: expected ratings, which compress by a factor of "
                f"{_LARGEST_RATIO} at most; unpack it yourself if you trust it"
            )
    if total > _LARGEST_TOTAL:
        raise ValueError(
            f"{path} would grow to {total:,} bytes: expected at most {_LARGEST_TOTAL:,}; unpack it "
            "yourself if you trust it, and pass the folder"
        )
    return [member.filename for member in members]


def stamp(path: str | Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return a key that changes when ratings, or the files that describe their items, change.

    Returns:
        Name, size, time of change and inode of every file at the path; empty if there is none.
    """
    path = Path(path)
    if not path.exists():
        return ()
    folder = path if path.is_dir() else path.parent
    names = [path.name] if not path.is_dir() and zipfile.is_zipfile(path) else _names(path)
    stats = ((name, (folder / name).stat()) for name in names)
    return tuple((name, stat.st_size, stat.st_mtime_ns, stat.st_ino) for name, stat in stats)
