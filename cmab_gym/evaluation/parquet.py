"""Parquet tables with texts in their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cmab_gym.arrays import AnyArray


def write_table(path: Path, columns: Mapping[str, AnyArray], metadata: Mapping[str, str]) -> None:
    """Write a table.

    Args:
        path: the file.
        columns: its columns, by name.
        metadata: texts by name, which go into the file's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"O": pa.string()}
    arrays = {name: pa.array(c, type=types.get(c.dtype.kind)) for name, c in columns.items()}
    table = pa.table(arrays)
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)


def read_table(path: Path) -> tuple[dict[str, AnyArray], dict[str, str]]:
    """Read what `write_table` wrote: the columns, and the texts by name.

    Raises:
        OSError, ValueError: the file is damaged, or not a Parquet file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        found = file.metadata.metadata or {}
        table = file.read()
    columns = {name: table[name].to_numpy() for name in table.column_names}
    return columns, {key.decode(): text.decode() for key, text in found.items()}
