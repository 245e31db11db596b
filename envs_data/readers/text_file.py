"""Text files as DuckDB needs them: in UTF-8, with one kind of line end, and counted."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cmab_gym.envs_data.readers.archive import Files
from cmab_gym.files import UnreadableError

LONGEST_LINE = 2_000_000  # bytes
_LINE_END = re.compile(r"\r\n|\r|\n")
_LF, _CR = 10, 13


@dataclass(frozen=True)
class TextFile:
    """A text file that DuckDB can read.

    Args:
        path: where it is.
        is_gzip: whether it is compressed.
        n_lines: how many lines it has, the empty ones included.
    """

    path: Path
    is_gzip: bool
    n_lines: int


def prepare(files: Files, name: str, encoding: str = "utf-8") -> TextFile:
    """Count the lines of a text file; rewrite the file if DuckDB could not read it.

    Raises:
        UnreadableError: it is damaged, or is not in the encoding.
    """
    utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    if utf8 and not files.head(name).startswith(codecs.BOM_UTF8):
        n_lines = _count(files.blocks(name))
        if n_lines is not None:
            return TextFile(files.on_disk(name), files.is_gzip(name), n_lines)
    what = files.title(name)
    path = files.write(_rewritten(files.blocks(name), "utf-8-sig" if utf8 else encoding, what))
    rewritten = Files(path, (path.name,), files.scratch)
    return TextFile(path, False, _count(rewritten.blocks(path.name)) or 0)


def lines(blocks: Iterable[bytes], what: str) -> Iterator[tuple[int, bytes]]:
    """Number the lines of a file, without their ends.

    Raises:
        UnreadableError: a line is too long.
    """
    rest, number = b"", 0
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            number += 1
            yield number, line.removesuffix(b"\r")
        if len(rest) > LONGEST_LINE:
            raise UnreadableError(
                f"{what} line {number + 1} begins with {rest[:40]!r} and is longer than "
                f"{LONGEST_LINE:,} bytes: expected one row in each line; correct it"
            )
    if rest:
        yield number + 1, rest.removesuffix(b"\r")


def first_line(head: bytes, encoding: str = "utf-8") -> tuple[int, str]:
    """Decode the first line that is not blank.

    Returns:
        The line's number, and its text: 0 and "" if all are blank.
    """
    text = head.decode(encoding, errors="replace").removeprefix("\ufeff")
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if line.strip():
            return number, line
    return 0, ""


def _count(blocks: Iterable[bytes]) -> int | None:
    """Count lines; None if their ends differ, or are not LF or CR LF."""
    lf = cr = pairs = 0
    last = b""
    for block in blocks:
        content = np.frombuffer(block, dtype=np.uint8)
        lf += int(np.count_nonzero(content == _LF))
        found = int(np.count_nonzero(content == _CR))
        cr += found
        if found or last == b"\r":
            pairs += (last + block).count(b"\r\n")
        last = block[-1:]
    if cr and not cr == lf == pairs:
        return None
    return lf + (last not in (b"", b"\n"))


def _rewritten(blocks: Iterable[bytes], encoding: str, what: str) -> Iterator[bytes]:
    # Bytes that are not UTF-8 are kept, so that DuckDB finds their line.
    errors = "surrogateescape" if encoding == "utf-8-sig" else "strict"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    line_ends = io.IncrementalNewlineDecoder(decoder, translate=True)
    n_lines = 0
    try:
        for block in blocks:
            text = line_ends.decode(block)
            n_lines += text.count("\n")
            yield text.encode("utf-8", errors)
        yield line_ends.decode(b"", final=True).encode("utf-8", errors)
    except UnicodeError as error:
        raise UnreadableError(
            f"{what} is not in encoding={encoding!r}, after line {n_lines} ({error}): expected "
            "another encoding="
        ) from error
