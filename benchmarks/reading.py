"""Measure time and memory of one reader: python benchmarks/reading.py READER FILE.

READER is cmab_gym (makes the finished table of the 25 most rated items), or duckdb, pandas or
polars (only filter and count ratings; the comparison by which cmab_gym's reader was chosen).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from process import peak_gigabytes


def with_cmab_gym(path: Path) -> int:
    """Read a file into a finished table, as `CMAB-Ratings-v0` does."""
    from cmab_gym.envs.ratings import ratings_model

    return int(ratings_model(path, n_arms=25, min_support=5).counts.sum())


def with_duckdb(path: Path) -> int:
    """Count the ratings of the 25 most rated items."""
    import duckdb

    reader = "read_json" if ".json" in path.name else "read_csv"
    found = duckdb.sql(
        f"SELECT count(*) AS n FROM {reader}('{path}') WHERE rating > 0 "  # noqa: S608
        "GROUP BY book_id ORDER BY n DESC LIMIT 25"
    ).fetchall()
    return sum(row[0] for row in found)


def with_pandas(path: Path) -> int:
    """Count the ratings of the 25 most rated items with pandas, in chunks."""
    import pandas as pd

    counts = pd.Series(dtype="float64")
    options = {"chunksize": 500_000}
    chunks = (
        pd.read_json(path, lines=True, dtype={"book_id": "str", "rating": "int64"}, **options)
        if ".json" in path.name
        else pd.read_csv(path, usecols=["book_id", "rating"], **options)
    )
    for chunk in chunks:
        counts = counts.add(chunk.loc[chunk["rating"] > 0, "book_id"].value_counts(), fill_value=0)
    return int(counts.nlargest(25).sum())


def with_polars(path: Path) -> int:
    """Count the ratings of the 25 most rated items with Polars, streaming."""
    import polars as pl

    scan = pl.scan_ndjson(path) if ".json" in path.name else pl.scan_csv(path)
    found = scan.filter(pl.col("rating") > 0).group_by("book_id").len()
    top = found.sort("len", descending=True).head(25).collect(engine="streaming")
    return int(top["len"].sum())


READERS = {
    "cmab_gym": with_cmab_gym,
    "duckdb": with_duckdb,
    "pandas": with_pandas,
    "polars": with_polars,
}


def main() -> None:
    """Print the seconds (imports included), the peak memory and how many ratings were counted."""
    reader, path = sys.argv[1], Path(sys.argv[2])
    start = time.perf_counter()
    ratings = READERS[reader](path)
    seconds = time.perf_counter() - start
    found = {"seconds": round(seconds, 2), "peak_gigabytes": peak_gigabytes(), "ratings": ratings}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
