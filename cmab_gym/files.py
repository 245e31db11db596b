"""Write files whole or not at all, compute checksums, and report damaged files by one error."""

from __future__ import annotations

import hashlib
import io
import os
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_BLOCK = 1 << 20  # bytes
_LEFT_BEHIND = 3600  # seconds; a temporary file this old has no writer any more

Write = Callable[[Path], Any]


class UnreadableError(ValueError):
    """A file is damaged, incomplete, encrypted, or not what it should be."""


@contextmanager
def reading(
    what: str, expected: str = "expected a whole file, as published; fetch it again"
) -> Iterator[None]:
    """Turn any error that a library raises while it reads a file into an `UnreadableError`.

    Args:
        what: names the file in the error.
        expected: ends the error: what the file should be, and what to do.

    Raises:
        UnreadableError: an error was raised, other than an OSError that names its file.
    """
    try:
        yield
    except UnreadableError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        reason = " ".join(str(error).split())[:500]
        raise UnreadableError(
            f"{what} cannot be read ({type(error).__name__}: {reason}): {expected}"
        ) from error


def write_whole(path: Path, write: Write) -> None:
    """Write a file under a temporary name in the same folder, then rename it.

    Raises:
        OSError: the file cannot be written; the error names it.
    """
    write_all({path: write})


def write_all(files: Mapping[Path, Write], delete: Iterable[Path] = ()) -> None:
    """Write all files under temporary names, then rename them in the order given.

    Args:
        files: how to write each file.
        delete: files to delete before the first is renamed, if they exist.

    Raises:
        OSError: a file cannot be written; the error names it, and no file has changed.
    """
    parts = {path: _part(path) for path in files}
    try:
        for path, write in files.items():
            _naming(path, write, parts[path])
        for path in delete:
            path.unlink(missing_ok=True)
        for path, part in parts.items():
            _naming(path, part.replace, path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _part(path: Path) -> Path:
    """Return a new temporary name, and delete files that killed processes left behind."""
    for old in path.parent.glob(f".{escape(path.name)}.*.partial"):
        with suppress(OSError):  # another process may be deleting it too
            if old.stat().st_mtime < time.time() - _LEFT_BEHIND:
                old.unlink()
    return path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}.partial")


def _naming(path: Path, do: Write, argument: Path) -> None:
    """Call a function; name the file in its OSError, which names a temporary file or none."""
    try:
        do(argument)
    except OSError as error:
        kind = type(OSError(error.errno, ""))  # such as PermissionError
        raise kind(f"{path} could not be written ({error.strerror or error})") from error


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write an `.npz` file, whole or not at all, whose bytes depend on nothing but the arrays.

    The zip headers that `np.savez` writes depend on the version of Python.
    """
    import numpy as np

    def write(part: Path) -> None:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, array in arrays.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, np.asarray(array, order="C"), allow_pickle=False)
                member = zipfile.ZipInfo(f"{name}.npy")  # with a fixed date, in 1980
                member.create_system = 3
                archive.writestr(member, content.getvalue())

    write_whole(path, write)


def check_plain(path: Path) -> None:
    """Refuse a link, a folder, a pipe or a device where a file is to be written.

    Raises:
        ValueError: there is one; a link is not followed.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "device"
        raise ValueError(f"{path} is a {kind}: expected a file, or nothing; delete it")


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Read the arrays in an npz file, without loading any pickle.

    Raises:
        Exception: of NumPy, zipfile and others; the file is damaged, or something else.
    """
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged headers
        # `np.load` would leave the file that it opened itself open if it is damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as CSV, whole or not at all.

    Text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    cells = frame.map(lambda value: f"'{value}" if _is_formula(value) else value)
    write_whole(path, lambda part: cells.to_csv(part, index=False))


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))


def checksum(path: Path, algorithm: str = "sha256") -> str:
    """Return the checksum of a file in hexadecimal digits."""
    # MD5 only recognises a published file; it does not defend against a forger.
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def check_writable(folder: Path) -> None:
    """Check that a folder can be written to, or created, and leave nothing behind.

    Raises:
        OSError: it cannot.
    """
    found = (each for each in (folder, *folder.parents) if each.is_symlink() or each.exists())
    existing = next(found, folder)  # none exists on a drive that Windows does not have
    probe = existing / f".writable-{uuid4().hex[:8]}"
    probe.touch()
    probe.unlink()
