"""Columns of a pandas frame as an Arrow table, which DuckDB scans like a Parquet file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


def arrow_table(frame: Any, columns: Iterable[Hashable]) -> Any:
    """Convert columns of a frame.

    Raises:
        ValueError: a column holds values of different types.
    """
    import pyarrow as pa

    return pa.table({str(column): _arrow_column(frame[column], column) for column in columns})


def _arrow_column(column: Any, name: Hashable) -> Any:
    import pyarrow as pa

    try:
        array = pa.Array.from_pandas(column)
        # DuckDB has no 16-bit floats.
        return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"column {name!r} of type {column.dtype}: {error}; expected values of one type: "
            "convert it, for example with .astype(int) or .astype(str)"
        ) from error
