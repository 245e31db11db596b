"""Files that appear whole or not at all, and their checksums."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

_BLOCK = 1 << 20  # bytes


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under a temporary name in the same folder, then rename it."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}.partial")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def checksum(path: Path, algorithm: str = "sha256") -> str:
    """Return the checksum of a file in hexadecimal digits."""
    # MD5 only recognises a published file; it does not defend against a forger.
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def check_writable(folder: Path) -> None:
    """Create a folder if needed and check that a file can be written there.

    Raises:
        OSError: the folder cannot be created or written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".writable-{uuid4().hex[:8]}"
    probe.touch()
    probe.unlink()
