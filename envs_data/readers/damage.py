"""Find the first damaged line of a table of ratings, and count lines that were lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cmab_gym.envs_data.readers.archive import Files
from cmab_gym.envs_data.readers.scan import ItemCounts, Scan
from cmab_gym.envs_data.readers.text_file import TextFile, lines
from cmab_gym.text import quoted

_SKIP = "correct it, or pass on_error='skip'"
_QUOTES = (
    "correct it; or pass escape='\\\\' if a backslash stands before quotes, or quote='' if quotes "
    "are text"
)
_NOT_CLOSED = "UNQUOTED VALUE"
_ENCODING = ("it is not UTF-8", "pass its encoding, such as encoding='latin-1'")
# What is wrong with a line, and what to do, by DuckDB's name of the fault.
_FAULTS: Mapping[str, tuple[str, str]] = {
    _NOT_CLOSED: (
        "a quote is not closed, or text follows it",
        f"{_QUOTES}; or on_error='skip'",
    ),
    "INVALID ENCODING": _ENCODING,
}


@dataclass(frozen=True)
class TextScan:
    """The scan of a text file, and the file itself, which has the numbers and text of its lines."""

    files: Files
    text: TextFile
    scan: Scan

    def lost_lines(self, counts: ItemCounts) -> int:
        """Count the lines that are neither in a row nor the first line of a rejected row.

        Raises:
            ValueError: DuckDB rejected no row that explains them, or a quote that is not closed
                hides any number of lines.
        """
        skip = self.scan.layout.skip
        lost = self.text.n_lines - skip - counts.total - counts.rejected
        if lost:
            lost -= sum(number > skip and self._is_empty(line) for number, line in self._lines())
        if lost and self.scan.layout.kind == "csv":
            lost -= self.scan.lines_inside()
        if lost and (found := self.scan.first_rejected(_NOT_CLOSED)):
            fault = (
                f"a quote is not closed there, so that {abs(lost):,} of {self.text.n_lines:,} "
                "lines are not read"
            )
            raise ValueError(self._describe(*self._line(found[0]), fault, _QUOTES))
        if lost < 0 or (lost and not counts.rejected):
            for _ in self._lines():  # raises for a line that is too long
                pass
            raise ValueError(
                f"{self.scan.what}: {abs(lost):,} of {self.text.n_lines:,} lines are not read: "
                f"expected one row in each line; {_QUOTES}"
            )
        return lost

    def first_damaged(self) -> str:
        """Describe the first damaged line, its fault and the remedy."""
        damaged, rejected = self.scan.first_damaged(), self.scan.first_rejected()
        row = 0
        for number, counted, line in self._numbered():
            if rejected and counted == rejected[0]:
                fields = f"it does not have {len(self.scan.layout.columns)} fields"
                fault, remedy = _FAULTS.get(rejected[1], (fields, _SKIP))
                return self._describe(number, line, fault, remedy)
            row += number > self.scan.layout.skip and not self._is_empty(line)
            if damaged and row == damaged[0]:
                fault = damaged[2]
                if self.scan.layout.kind == "json":
                    fault = _json_fault(line) or fault
                return self._describe(number, line, fault, _SKIP)
        row, content, fault = damaged or (0, "", "")
        return f"{self.scan.what} row {row} is {quoted(content)} ({fault}): {_SKIP}"

    def _line(self, wanted: int) -> tuple[int, bytes]:
        """Return number and text of a line that DuckDB rejected."""
        for number, counted, line in self._numbered():
            if counted == wanted:
                return number, line
        return wanted, b""

    def _numbered(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield number, DuckDB's number, and text of each line that does not begin inside a field.

        DuckDB does not count the lines that begin inside a field.
        """
        layout = self.scan.layout
        inside = layout.kind == "csv" and layout.quote != "" and self.scan.lines_inside() > 0
        counted, is_open = 0, False
        for number, line in self._lines():
            if not is_open:
                counted += 1
                yield number, counted, line
            if inside:
                is_open ^= _n_quotes(line, layout.quote, layout.escape) % 2 > 0

    def _is_empty(self, line: bytes) -> bool:
        return not (line.strip() if self.scan.layout.kind == "json" else line)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        files = Files(self.text.path, (self.text.path.name,), self.files.scratch)
        return lines(files.blocks(self.text.path.name), self.scan.what)

    def _describe(self, number: int, line: bytes, fault: str, remedy: str) -> str:
        text = line.decode("utf-8", errors="backslashreplace").removeprefix("\ufeff").strip()
        layout = self.scan.layout
        return (
            f"{self.scan.what} line {number} is {text[:200]!r} ({fault}): expected {layout.user}, "
            f"{layout.item} and {layout.rating}; {remedy}"
        )


def _json_fault(line: bytes) -> str:
    try:
        found = json.loads(line)
    except UnicodeDecodeError:
        return "it is not UTF-8"
    except (ValueError, RecursionError) as error:
        return str(error)
    return "" if isinstance(found, dict) else "it is not an object"


def _n_quotes(line: bytes, quote: str, escape: str) -> int:
    escaped = line.count((escape + quote).encode()) if escape else 0
    return line.count(quote.encode()) - escaped if quote else 0
