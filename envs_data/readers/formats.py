"""The known formats of ratings files, recognised by their content."""

from __future__ import annotations

import re
from dataclasses import replace

from cmab_gym.envs_data.readers.archive import Files
from cmab_gym.envs_data.readers.layout import Layout, candidates, header_of, json_object, read_head
from cmab_gym.envs_data.readers.options import ReadOptions
from cmab_gym.envs_data.readers.tables import IF_A_ROW, find_table, read_columns
from cmab_gym.envs_data.readers.text_file import first_line
from cmab_gym.text import quoted

_MOVIELENS = Layout(
    "MovieLens", time="time", bounds=(0.5, 5), items="movies", whole_ids=True, pair_item="item"
)
_WITHOUT_HEADER = replace(_MOVIELENS, quote="", columns=("user", "item", "rating", "time"))
_GOODREADS = Layout(
    "Goodreads (UCSD Book Graph)", user="user_id", item="book_id", not_rated=(0,),
    bounds=(1, 5), items="goodreads", pair_item="book_id",
)  # fmt: skip
_JSON = replace(_GOODREADS, kind="json")
# The pattern of the first line, and the layout.
_BY_FIRST_LINE = (
    (re.compile(r"\d+\t\d+\t\d\t\d+"), replace(_WITHOUT_HEADER, delimiter="\t", bounds=(1, 5))),
    # Ids with leading zeros are text, and not of MovieLens.
    (re.compile(r"[1-9]\d*::[1-9]\d*::[\d.]+::\d+"), replace(_WITHOUT_HEADER, delimiter="::")),
)
# The layout, and the columns that it needs in addition to user, item and rating.
_BY_HEADER = (
    (replace(_MOVIELENS, user="userId", item="movieId", time="timestamp", pair_item="movieId"), ()),
    (replace(_GOODREADS, whole_ids=True), ("is_read",)),
    (
        replace(
            _GOODREADS, source="Goodreads (goodbooks-10k)", not_rated=(), items="books",
            whole_ids=True,
        ),
        (),
    ),
)  # fmt: skip
# In an archive that also holds parts of the ratings, these files hold all of them.
_COMPLETE = ("u.data", "ratings.dat", "ratings.csv")

SUPPORTED = (
    "MovieLens (100K, 1M, 10M, 20M, 25M, 32M, latest), Goodreads interactions (JSON lines or CSV) "
    "and goodbooks-10k"
)


def find_layout(files: Files, options: ReadOptions) -> Layout:
    """Find the ratings among files: the table with the named columns, or else a known format.

    Raises:
        ValueError: no table or more than one is found, a named column is missing, or a mark of
            quotes is a part of the separator.
    """
    layout = find_table(files, options) if options.columns else _known(files, options)
    for name, mark in (("quote", options.quote), ("escape", options.escape)):
        if layout.kind == "csv" and mark and mark in layout.delimiter:
            raise ValueError(
                f"{name}={mark!r} with the separator {layout.delimiter!r} of "
                f"{files.title(layout.name)}: expected different characters; pass another, or "
                "quote='' if no field is quoted"
            )
    return replace(
        layout,
        encoding=options.encoding,
        quote=layout.quote and options.quote,
        escape=options.escape,
        not_rated=options.not_rated or layout.not_rated,
    )


def _known(files: Files, options: ReadOptions) -> Layout:
    """Find the ratings file among files by its first line."""
    found = [each for name in candidates(files) if (each := _layout(files, name, options))]
    if not found:
        raise ValueError(_unknown_format(files, options))
    if len(found) > 1:
        complete = [each for each in found if each.name.rsplit("/", 1)[-1] in _COMPLETE]
        if len(complete) != 1:
            raise ValueError(
                f"{files.path} holds several ratings files, "
                f"{quoted([each.name for each in found], 1000)}: expected one; {files.remedy}"
            )
        found = complete
    return found[0]


def _layout(files: Files, name: str, options: ReadOptions) -> Layout | None:
    number, line = first_line(read_head(files, name, needed=files.is_single), options.encoding)
    line = line.strip()
    for pattern, layout in _BY_FIRST_LINE:
        if pattern.fullmatch(line):
            return replace(layout, name=name)
    if {_JSON.user, _JSON.item, _JSON.rating} <= json_object(line).keys():
        return replace(_JSON, name=name)
    delimiter = options.separator or ","
    header = header_of(line, delimiter)
    for layout, others in _BY_HEADER:
        if {layout.user, layout.item, layout.rating, *others} <= set(header):
            time = layout.time if layout.time in header else ""
            return replace(
                layout, name=name, columns=tuple(header), time=time, delimiter=delimiter,
                skip=number,
            )  # fmt: skip
    return None


def _unknown_format(files: Files, options: ReadOptions) -> str:
    """Return the error for files in no known format: what they hold, and how to read them."""
    table = read_columns(files, files.names[0], options) if files.is_single else None
    expected = f"expected {SUPPORTED}"
    if table is not None and len(table.columns) > 2:
        return (
            f"{files.path} is not in a known format, but a table with the columns "
            f"{quoted(list(table.columns), 1000)}: with CMAB-Ratings-v0 name three of them by "
            f"user=, item= and rating=, {IF_A_ROW}; without names {expected}"
        )
    holds = "" if files.is_single else f" (its files: {quoted(list(files.names[:8]), 1000)})"
    return (
        f"{files.path} is not in a known format{holds}: {expected}; of any other table, name the "
        "columns by user=, item= and rating= of CMAB-Ratings-v0"
    )
