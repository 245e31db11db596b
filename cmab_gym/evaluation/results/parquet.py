"""Parquet tables with lists in some columns and texts in their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cmab_gym.arrays import AnyArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Lists:
    """A column of lists of integers.

    Args:
        lengths: int64 (rows,), the length of each list; -1 for none.
        values: int64, the items of all lists, one after another.
    """

    lengths: IntArray
    values: IntArray


def write_table(
    path: Path, columns: Mapping[str, AnyArray | Lists], metadata: Mapping[str, str]
) -> None:
    """Write a table.

    Args:
        path: the file.
        columns: its columns, by name.
        metadata: texts by name, which go into the file's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: _to_arrow(column) for name, column in columns.items()})
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)


def _to_arrow(column: AnyArray | Lists) -> pa.Array:
    import pyarrow as pa

    if not isinstance(column, Lists):
        return pa.array(column, type=pa.string() if column.dtype.kind == "O" else None)
    ends = np.cumsum(np.maximum(column.lengths, 0))
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    none = np.concatenate([column.lengths < 0, [False]])  # a list whose offset is null is none
    return pa.ListArray.from_arrays(pa.array(offsets, mask=none), pa.array(column.values))


def read_table(path: Path) -> tuple[dict[str, AnyArray | Lists], dict[str, str]]:
    """Read what `write_table` wrote: the columns, and the texts by name.

    Raises:
        OSError, ValueError: the file is damaged, or not a Parquet file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        found = file.metadata.metadata or {}
        table = file.read()
    columns = {name: _from_arrow(table[name]) for name in table.column_names}
    return columns, _decoded(found)


def _from_arrow(column: pa.ChunkedArray) -> AnyArray | Lists:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_list(column.type):
        values: AnyArray = column.to_numpy()
        return values
    lengths = pc.fill_null(pc.list_value_length(column), -1)
    return Lists(lengths.to_numpy(), pc.list_flatten(column).to_numpy())


def read_metadata(path: Path) -> dict[str, str]:
    """Read the texts of a table.

    Raises:
        OSError, ValueError: the file is damaged, or not a Parquet file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return _decoded(file.metadata.metadata or {})


def _decoded(metadata: Mapping[bytes, bytes]) -> dict[str, str]:
    return {key.decode(): text.decode() for key, text in metadata.items()}
