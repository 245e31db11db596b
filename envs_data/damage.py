"""The first damaged line of a ratings file, and what is wrong with it."""

from __future__ import annotations

import csv
import json
from typing import Any

from cmab_gym.envs_data.archive import Files
from cmab_gym.envs_data.formats import Layout


def describe_damage(files: Files, layout: Layout, rejected: tuple[int, str, str] | None) -> str:
    """Describe the first damaged line of a file that is known to have one.

    The file is searched line by line, which is slow, but only needed for the error message.

    Args:
        files: the files.
        layout: the layout of the ratings file.
        rejected: number, text and reason of the first line that DuckDB rejected, if any.
    """
    number, text, reason = _first_damaged(files, layout) or rejected or (0, "", "see its rows")
    if rejected and rejected[0] < number:
        number, text, reason = rejected
    where = f"line {number} is {text.strip()[:200]!r}" if number else "a row is damaged"
    return (
        f"{files.path}: {layout.name} {where} ({reason}): expected {layout.user}, {layout.item} "
        f"and {layout.rating}; correct it, or pass on_error='skip'"
    )


def _first_damaged(files: Files, layout: Layout) -> tuple[int, str, str] | None:
    if layout.kind == "parquet":
        return None
    problem_of = _problem_of_json if layout.kind == "json" else _problem_of_csv
    with files.open(layout.name) as file:
        for number, line in enumerate(file, start=1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")
            header = layout.kind == "csv" and layout.header and number == 1
            if text.strip() and not header and (reason := problem_of(text.strip(), layout)):
                return number, text, reason
    return None


def _problem_of_csv(line: str, layout: Layout) -> str:
    if len(layout.delimiter) > 1:
        fields = line.split(layout.delimiter)
    else:
        fields = next(csv.reader([line], delimiter=layout.delimiter))
    if len(fields) != len(layout.columns):
        return f"{len(fields)} fields instead of {len(layout.columns)}"
    row = dict(zip(layout.columns, fields, strict=True))
    needed = (layout.user, layout.item, layout.rating, layout.time, layout.segment)
    for name in (*needed, layout.pair_item):
        if name and not row[name]:
            return f"no {name}"
    integers = [layout.user, layout.item] if layout.whole_ids else []
    for name in (*integers, *([layout.time] if layout.time else [])):
        if not row[name].removeprefix("-").isdecimal():
            return f"{name} is not a whole number"
    return _problem_of_rating(row[layout.rating], layout)


def _problem_of_json(line: str, layout: Layout) -> str:
    try:
        fields = json.loads(line)
    except ValueError as error:
        return str(error)
    if not isinstance(fields, dict):
        return "not an object"
    for name in (layout.user, layout.item, layout.rating):
        if fields.get(name) is None:
            return f"no {name}"
    return _problem_of_rating(fields[layout.rating], layout)


def _problem_of_rating(value: Any, layout: Layout) -> str:
    try:
        float(value)
    except (TypeError, ValueError):
        return f"{layout.rating} is not a number"
    return f"{layout.rating} is not a number" if "_" in str(value) else ""
