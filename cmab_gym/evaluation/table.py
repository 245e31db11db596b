"""A Parquet table that holds some text besides its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def write_table(path: Path, frame: pd.DataFrame, metadata: Mapping[str, str]) -> None:
    """Write a table.

    Args:
        path: the file.
        frame: the rows.
        metadata: texts by name, which go into the file's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)


def read_table(path: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """Read what `write_table` wrote: the rows, and the texts by name.

    Raises:
        OSError, ValueError: the file is damaged, or not a Parquet file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        found = file.metadata.metadata or {}
        frame = file.read().to_pandas()
    return frame, {key.decode(): text.decode() for key, text in found.items()}
