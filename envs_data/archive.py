"""The files of an archive, a folder or a single file, opened safely."""

from __future__ import annotations

import gzip
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

_HEAD = 1 << 16  # bytes that are looked at to tell what a file is
_COPY = 1 << 20
# Ratings compress by a factor of 3 to 15. A member that claims more than this is a bomb.
_LARGEST_RATIO = 200
_LARGEST_TOTAL = 64 << 30
# Files that say what the items of a ratings file beside them are.
_COMPANIONS = (
    "movies.dat",
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
        path: what the user gave.
        names: the files, by the name inside the archive or folder.
        scratch: folder for members that a reader needs on disk.
    """

    path: Path
    names: tuple[str, ...]
    scratch: Path

    def head(self, name: str) -> bytes:
        """Return the first bytes of a file, decompressed if it is gzip."""
        with self.open(name) as file:
            return file.read(_HEAD)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file for reading, decompressed if it is gzip."""
        with self._open_raw(name) as raw:
            magic = raw.read(2)
            raw.seek(0)
            if magic == b"\x1f\x8b":
                with gzip.open(raw) as file:
                    yield file  # type: ignore[misc]
            else:
                yield raw

    def on_disk(self, name: str) -> Path:
        """Return a path to a file; a zip member is first copied to a name of our own choice.

        Raises:
            ValueError: the member holds more than the archive says.
        """
        if not zipfile.is_zipfile(self.path):
            return self._real(name)
        copy = self.scratch / f"{self.names.index(name)}{''.join(PurePosixPath(name).suffixes)}"
        if not copy.exists():
            limit = self._declared(name)
            with self._open_raw(name) as source, copy.open("wb") as target:
                while block := source.read(_COPY):
                    limit -= len(block)
                    if limit < 0:
                        raise ValueError(
                            f"{self.path}: {name} holds more than the {self._declared(name):,} "
                            "bytes that the archive says: expected an archive as published"
                        )
                    target.write(block)
        return copy

    def _declared(self, name: str) -> int:
        with zipfile.ZipFile(self.path) as archive:
            return archive.getinfo(name).file_size

    def _open_raw(self, name: str) -> AbstractContextManager[IO[bytes]]:
        if zipfile.is_zipfile(self.path):
            return _member(self.path, name)
        return self._real(name).open("rb")

    def _real(self, name: str) -> Path:
        return self.path / name if self.path.is_dir() else self.path.parent / name


@contextmanager
def open_files(path: str | Path) -> Iterator[Files]:
    """List the files of a zip archive or a folder, or a single file and those beside it.

    Nothing is extracted to a path that the archive names, and nothing of it stays on disk.

    Raises:
        FileNotFoundError: there is nothing at the path.
        ValueError: the archive claims sizes that no ratings have.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: expected a ratings file, a folder or a .zip archive"
        )
    with tempfile.TemporaryDirectory(prefix="cmab-gym-") as scratch:
        yield Files(path, tuple(_names(path)), Path(scratch))


@contextmanager
def _member(path: Path, name: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        yield file


def _names(path: Path) -> list[str]:
    if path.is_dir():
        return sorted(str(p.relative_to(path)) for p in path.rglob("*") if p.is_file())
    if not zipfile.is_zipfile(path):
        beside = {p.name for pattern in _COMPANIONS for p in path.parent.glob(pattern)}
        return [path.name, *sorted(beside - {path.name})]
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
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
