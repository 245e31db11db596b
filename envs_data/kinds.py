"""Whether a file holds what the ending of its name says, such as a zip archive."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

_BLOCK = 1 << 20  # bytes
_LARGEST_RATIO = 200  # of gzip; ratings compress by a factor of 3 to 15
_SHOWN = 40  # bytes of a file in a message


def misfit(path: Path, name: str) -> str:
    """Say why a file cannot be what a name says, as the end of "it is"; "" if it can.

    A server that wants a login, or has moved, often answers with a web page under the file's name.

    Args:
        path: the file.
        name: a name that ends in .zip, .gz or anything else, which is then taken for text.
    """
    with path.open("rb") as file:
        start = file.read(_SHOWN)
    begins = f"(it begins with {start!r})"
    if name.endswith(".zip"):
        return "" if zipfile.is_zipfile(path) else f"not a whole zip archive {begins}"
    if name.endswith(".gz"):
        return "" if _is_whole_gzip(path) else f"not a whole gzip file {begins}"
    page = start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    return f"a web page {begins}" if page else ""


def _is_whole_gzip(path: Path) -> bool:
    """Return whether a file can be decompressed to its end, and is not a bomb."""
    left = _LARGEST_RATIO * path.stat().st_size
    try:
        with gzip.open(path) as file:
            while left > 0 and (block := file.read(_BLOCK)):
                left -= len(block)
    except (OSError, EOFError, zlib.error):
        return False
    return left > 0
