"""Make names and messages from files, users and other packages safe to show."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

CanShow = Callable[[str], bool]

_MARK = "\u200e"  # the left-to-right mark
_INVISIBLE = f"{_MARK}\u200c\u200d"  # and the joiners, which Persian and emoji need
_UNKNOWN = "\ufffd?"  # replacements of a character: the first one that can be shown is taken


def anything(character: str) -> bool:
    """Return True: every character can be shown."""
    return True


def shown(text: object, can_show: CanShow = anything, most: int | None = None) -> str:
    r"""Return a text as one line that cannot disturb the text around it.

    White space becomes spaces. Characters that do not print, such as control codes, and those that
    cannot be shown become "\ufffd" or "?". A text with right-to-left letters is put between
    left-to-right marks, so that a terminal does not reorder its neighbours.

    Args:
        text: the text, or an object that has one.
        can_show: whether a character can be shown.
        most: the most columns of a terminal that the text may take; an ellipsis marks a cut.

    Examples:
        >>> shown("a\x1b[2J\nb")
        'a\ufffd[2J b'
        >>> shown("Forrest Gump (1994)", most=10)
        'Forrest G…'
    """
    line = str(text)
    if not (line.isascii() and line.isprintable()):
        unknown = next(filter(can_show, _UNKNOWN))
        line = "".join(_replaced(character, can_show, unknown) for character in line)
    if most is not None and display_width(line) > most:
        line = _cut(line, most, "…" if can_show("…") else "~")
    if any(unicodedata.bidirectional(each) in ("R", "AL", "AN") for each in line):
        mark = _MARK if can_show(_MARK) else ""
        line = f"{mark}{line.strip(_MARK)}{mark}"
    return line


def quoted(value: object, most: int = 300) -> str:
    """Return the repr of a value for a message, shortened to about `most` characters."""
    return shortened(repr(value), most)


def shortened(text: str, most: int) -> str:
    """Return a text without its middle if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for each wide character."""
    return len(text) if text.isascii() else sum(_width(character) for character in text)


def encodable(stream: Any) -> CanShow:
    """Return a function that says whether a stream's encoding has a character."""
    return _in_encoding(getattr(stream, "encoding", None) or "utf-8")


def drawn(text: object, most: int | None = None) -> str:
    """Return a text as Matplotlib draws it literally: no mathematics, no missing glyphs.

    Args:
        text: the text, or an object that has one.
        most: as for `shown`.
    """
    from matplotlib import rcParams

    can_show = _in_fonts(tuple(rcParams["font.family"]), tuple(rcParams["font.sans-serif"]))
    return shown(text, can_show, most).replace("$", r"\$")


def write(text: object, stream: Any = None) -> None:
    """Print lines on a stream; replace what its encoding lacks, and control codes.

    Args:
        text: lines, or an object that has some.
        stream: a text stream; None is standard output.
    """
    stream = sys.stdout if stream is None else stream
    can_show = encodable(stream)
    lines = [shown(line, can_show) for line in str(text).split("\n")]
    print("\n".join(lines), file=stream, flush=True)


def _replaced(character: str, can_show: CanShow, unknown: str) -> str:
    if character.isspace():
        return " "
    if character in _INVISIBLE:
        return character if can_show(character) else ""
    return character if character.isprintable() and can_show(character) else unknown


def _cut(line: str, most: int, ellipsis: str) -> str:
    taken = 1
    for end, character in enumerate(line):
        taken += _width(character)
        if taken > most:
            return line[:end].rstrip() + ellipsis
    return line


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@cache
def _in_encoding(encoding: str) -> CanShow:
    @cache
    def has(character: str) -> bool:
        try:
            character.encode(encoding)
        except UnicodeEncodeError:
            return False
        return True

    return has


@cache
def _in_fonts(families: tuple[str, ...], _: tuple[str, ...]) -> CanShow:
    """Return a function that says whether Matplotlib's fonts have a character.

    The second argument is only part of the cache key: "sans-serif" stands for those families.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    glyphs: set[int] = set()
    for family in families:
        try:
            path = findfont(FontProperties(family=[family]), fallback_to_default=False)
        except ValueError:
            continue  # it is not installed; Matplotlib skips it too
        glyphs |= get_font(path).get_charmap().keys()
    return lambda character: ord(character) in glyphs
