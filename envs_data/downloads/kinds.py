"""Check that a file is of the kind that its name says, such as a zip archive."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from cmab_gym.envs_data.readers.archive import LARGEST_RATIO, is_zip

_BLOCK = 1 << 20  # bytes
_SHOWN = 40  # bytes of a file in a message


def misfit(path: Path, name: str) -> str:
    """Return what a file is instead of what its name says, such as "a web page"; "" if it fits.

    A server that asks for a login, or has moved, often sends a web page under the file's name.

    Args:
        path: the file.
        name: a name that ends in .zip or .gz; any other file should be text.
    """
    with path.open("rb") as file:
        start = file.read(_SHOWN)
    begins = f"(it begins with {start!r})"
    if name.endswith(".zip"):
        return "" if is_zip(path) else f"not a whole zip archive {begins}"
    if name.endswith(".gz"):
        return "" if _is_whole_gzip(path) else f"not a whole gzip file {begins}"
    page = start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    return f"a web page {begins}" if page else ""


def _is_whole_gzip(path: Path) -> bool:
    """Return whether a file can be decompressed to its end, and is not a bomb."""
    left = LARGEST_RATIO * path.stat().st_size
    try:
        with gzip.open(path) as file:
            while left > 0 and (block := file.read(_BLOCK)):
                left -= len(block)
    except (OSError, EOFError, zlib.error):
        return False
    return left > 0
