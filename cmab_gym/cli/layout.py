"""Lay out tables of text: choose the columns that fit side by side, and their widths."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from cmab_gym.text import display_width, shown

_GAP = "  "  # between columns
_NARROWEST = 12  # the least width of a column whose cells wrap, unless all are shorter
_LONGEST_WORD = 24  # columns; a longer word may be broken


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], text: Collection[str], room: int
) -> Iterator[str]:
    """Lay a table out without cutting a cell.

    Cells of text wrap. Columns that do not fit continue in another table below, which repeats the
    first column.

    Args:
        header: names of the columns.
        rows: their cells, each one line.
        text: names of the columns whose cells may wrap; the others hold numbers and short words.
        room: the width of the terminal. A line is longer only if the first column and one cell
            that may not wrap are.
    """
    table = [_column(name, name in text, cells) for name, *cells in zip(header, *rows, strict=True)]
    blocks = [table[:1]]
    for column in table[1:]:
        if len(blocks[-1]) > 1 and _total([*blocks[-1], column]) > room:
            blocks.append(table[:1])
        blocks[-1].append(column)
    for position, block in enumerate(blocks):
        if position:
            yield ""
        yield from _lines(block, room)


def wrapped(line: str, room: int, fold: bool = True) -> list[str]:
    """Break a line at spaces into lines of at most `room` columns.

    Args:
        line: the line.
        room: the most columns.
        fold: whether a word that is longer than `room` is broken.
    """
    lines = [""]
    for word in line.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if display_width(longer) <= room:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if fold and display_width(lines[-1] + character) > room:
                lines.append("")
            lines[-1] += character
    return lines


@dataclass(frozen=True)
class _Column:
    name: str
    cells: Sequence[str]
    wraps: bool
    right: bool  # whether the cells are aligned at the right
    least: int
    best: int  # the width at which nothing wraps


def _column(name: str, wraps: bool, cells: Sequence[str]) -> _Column:
    longest = _longest(cells)
    words = " ".join(cells).split(" ")
    unbroken = max(_NARROWEST, min(_longest(words), _LONGEST_WORD))
    least = max(_longest(name.split(" ")), min(longest, unbroken) if wraps else longest)
    right = not wraps and any(cell.lstrip("+-")[:1].isdigit() for cell in cells)
    return _Column(name, cells, wraps, right, least, max(longest, display_width(name)))


def _longest(texts: Sequence[str]) -> int:
    return max(map(display_width, texts), default=0)


def _total(block: Sequence[_Column]) -> int:
    return sum(column.least + len(_GAP) for column in block) - len(_GAP)


def _lines(block: Sequence[_Column], room: int) -> Iterator[str]:
    """Lay out columns side by side."""
    widths = _widths(block, room)
    heads = [wrapped(column.name, own) for column, own in zip(block, widths, strict=True)]
    height = max(map(len, heads))
    heads = [[""] * (height - len(head)) + head for head in heads]
    yield from _row(block, widths, heads)
    yield _GAP.join("-" * own for own in widths)
    for cells in zip(*(column.cells for column in block), strict=True):
        # `shown` once more: each part may need left-to-right marks of its own.
        parts = [map(shown, wrapped(cell, own)) for cell, own in zip(cells, widths, strict=True)]
        yield from _row(block, widths, parts)


def _widths(block: Sequence[_Column], room: int) -> list[int]:
    """Share the room among the columns: those that wrap grow first, the narrowest one each time."""
    widths, left = [column.least for column in block], room - _total(block)
    text = [i for i, column in enumerate(block) if column.wraps]
    while left < 0 and (shrinking := [i for i in text if widths[i] > 1]):
        widths[max(shrinking, key=widths.__getitem__)] -= 1
        left += 1
    for wraps in (True, False):
        own = [i for i, column in enumerate(block) if column.wraps is wraps]
        while left > 0 and (growing := [i for i in own if widths[i] < block[i].best]):
            widths[min(growing, key=widths.__getitem__)] += 1
            left -= 1
    return widths


def _row(
    block: Sequence[_Column], widths: Sequence[int], cells: Iterable[Iterable[str]]
) -> Iterator[str]:
    """Write the lines of cells side by side."""
    for parts in zip_longest(*cells, fillvalue=""):
        line = ""
        for column, own, part in zip(block, widths, parts, strict=True):
            space = " " * (own - display_width(part))
            line += f"{space}{part}{_GAP}" if column.right else f"{part}{space}{_GAP}"
        yield line.rstrip()
