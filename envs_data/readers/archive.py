"""Safe access to the files of an archive or a folder, or to a single file."""

from __future__ import annotations

import errno
import gzip
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os.path import exists
from pathlib import Path
from typing import IO

from cmab_gym.files import UnreadableError, reading

_HEAD = 1 << 16  # bytes that are read to recognise a file, at least
_LONGEST_HEAD = 1 << 22  # bytes that are read to find the end of its first line, at most
_BLOCK = 1 << 20
# Ratings compress by a factor of 3 to 15. A file above this ratio is refused as a bomb.
LARGEST_RATIO = 200
_SMALLEST_BOMB = 1 << 24  # bytes below which the ratio of a gzip file does not matter
_LARGEST_TOTAL = 64 << 30
_MOST_FILES = 10_000
_GZIP = b"\x1f\x8b"
# The names of files that describe the items, or the users, of a ratings file in the same folder.
COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "movies": ("movies.dat", "movies.csv", "u.item"),
    "users": ("users.dat",),
    "books": ("books.csv",),
    "goodreads": ("book_id_map.csv", "goodreads_books*.json", "goodreads_books*.json.gz"),
}


@dataclass(frozen=True)
class Files:
    """Named files, on disk or inside a zip archive.

    Args:
        path: the path that the user gave.
        names: the names of the files inside the archive or folder, or the name of the single file
            and those of the files that describe its items.
        scratch: folder for copies of members that a reader needs on disk.
        archive: the archive, if it is one.
    """

    path: Path
    names: tuple[str, ...]
    scratch: Path
    archive: zipfile.ZipFile | None = None

    @property
    def is_single(self) -> bool:
        """Whether the path is one file, not an archive or a folder."""
        return self.archive is None and not self.path.is_dir()

    @property
    def remedy(self) -> str:
        """What to do to choose one of several files."""
        return "pass its own path" if self.archive is None else "unpack it and pass its own path"

    def title(self, name: str) -> str:
        """Return the name of a file for an error."""
        return str(self._real(name)) if self.archive is None else f"{self.path}: {name}"

    def head(self, name: str) -> bytes:
        """Return the first bytes of a file, decompressed: at least its first line."""
        head = b""
        for block in self.blocks(name):
            head += block
            if len(head) >= _LONGEST_HEAD or (len(head) >= _HEAD and b"\n" in head):
                break
        return head

    def is_gzip(self, name: str) -> bool:
        """Return whether the content of a file is gzip."""
        with reading(self.title(name)), self._open(name) as raw:
            return raw.read(2) == _GZIP

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file in blocks, decompressed if it is gzip."""
        with reading(self.title(name)), self._open(name) as raw:
            magic = raw.read(2)
            raw.seek(0)
            file = gzip.GzipFile(fileobj=raw) if magic == _GZIP else raw
            size = 0
            while block := file.read(_BLOCK):
                size += len(block)
                if size > max(_SMALLEST_BOMB, LARGEST_RATIO * raw.tell()):
                    raise UnreadableError(_bomb(self.title(name), raw.tell(), size))
                yield block

    def on_disk(self, name: str) -> Path:
        """Return the path of a file; a zip member is first copied to the scratch folder."""
        if self.archive is None:
            return self._real(name)
        # zipfile stops at the size that the archive declares, and checks the CRC of the member.
        copy = self.scratch / str(self.names.index(name))
        if not copy.exists():
            with (
                reading(self.title(name)),
                self._open(name) as source,
                _room(self.scratch),
                copy.open("wb") as target,
            ):
                shutil.copyfileobj(source, target, _BLOCK)
        return copy

    def write(self, blocks: Iterator[bytes]) -> Path:
        """Write blocks to a file in the scratch folder."""
        path = self.scratch / "text"
        with _room(self.scratch), path.open("wb") as file:
            for block in blocks:
                file.write(block)
        return path

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        with (
            self._real(name).open("rb") if self.archive is None else self.archive.open(name) as raw
        ):
            yield raw

    def _real(self, name: str) -> Path:
        return self.path / name if self.path.is_dir() else self.path.parent / name


@contextmanager
def open_files(path: str | Path) -> Iterator[Files]:
    """Open a zip archive, a folder, or a single file with the files that describe its items.

    A folder is the files that it holds directly. Members of an archive are never extracted under
    their own names, and no copy stays on disk.

    Raises:
        FileNotFoundError: the path does not exist.
        ValueError: it is not a file or a folder, or an archive that is damaged, empty, or larger
            than ratings can be when unpacked.
    """
    if not exists(path):
        raise FileNotFoundError(
            f"{path} does not exist: expected a ratings file, a folder or a .zip archive"
        )
    path = Path(path)
    with ExitStack() as stack:
        archive = stack.enter_context(_opened(path)) if _is_archive(path) else None
        names = _names(path) if archive is None else _members(path, archive)
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="cmab-gym-"))
        yield Files(path, tuple(names), Path(scratch), archive)


def stamp(path: str | Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return a key that changes when ratings or the files that describe their items change.

    Returns:
        Name, size, modification time and inode of every file at the path; empty if it is missing.
    """
    path = Path(path)
    if not exists(path):
        return ()
    folder = path if path.is_dir() else path.parent
    found = ((name, (folder / name).stat()) for name in _names(path))
    return tuple((name, each.st_size, each.st_mtime_ns, each.st_ino) for name, each in found)


def _is_archive(path: Path) -> bool:
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return False
    if not stat.S_ISREG(mode):  # reading a pipe or a device might never end
        raise ValueError(
            f"{path} is a pipe or a device: expected a ratings file, a folder or a .zip archive; "
            "write the ratings to a file first"
        )
    if is_zip(path):
        return True
    with path.open("rb") as file:
        if file.read(4) == b"PK\x03\x04":
            raise UnreadableError(
                f"{path} is a damaged zip archive, whose end is missing: expected a whole file, as "
                "published; fetch it again"
            )
    return False


def is_zip(path: Path) -> bool:
    """Return whether the end of a file is that of a whole zip archive."""
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:  # of an archive in several files
        return False


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    with reading(str(path)):
        archive = zipfile.ZipFile(path)
    with archive:
        yield archive


def _names(path: Path) -> list[str]:
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir() if each.is_file())
        _check_count(path, len(names))
        return names
    companions = {
        each.name
        for patterns in COMPANIONS.values()
        for pattern in patterns
        for each in path.parent.glob(pattern)
        if each.is_file()
    }
    return [path.name, *sorted(companions - {path.name})]


def _members(path: Path, archive: zipfile.ZipFile) -> list[str]:
    # ZipInfo.is_dir raises an IndexError for an empty name.
    members = [member for member in archive.infolist() if not member.filename.endswith("/")]
    if not members:
        raise ValueError(f"{path} is an empty archive: expected ratings")
    _check_count(path, len(members))
    for member in members:
        if member.file_size > LARGEST_RATIO * max(member.compress_size, 1 << 10):
            name = f"{path}: {member.filename}"
            raise ValueError(_bomb(name, member.compress_size, member.file_size))
    total = sum(member.file_size for member in members)
    if total > _LARGEST_TOTAL:
        raise ValueError(
            f"{path} would grow to {total:,} bytes: expected at most {_LARGEST_TOTAL:,}; unpack it "
            "yourself if you trust it, and pass the folder"
        )
    return [member.filename for member in members]


def _check_count(path: Path, count: int) -> None:
    if count > _MOST_FILES:
        raise ValueError(
            f"{path} holds {count:,} files: expected at most {_MOST_FILES:,}; pass the path of the "
            "ratings file"
        )


def _bomb(what: str, compressed: int, size: int) -> str:
    return (
        f"{what} would grow from {compressed:,} to {size:,} bytes: expected ratings, which "
        f"compress by a factor of {LARGEST_RATIO} at most; unpack it yourself if you trust it"
    )


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    """Name the folder in the error of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(
            error.errno, f"{error.strerror}; free some space, or set TMPDIR to another folder",
            str(folder),
        ) from error  # fmt: skip
