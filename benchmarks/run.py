"""Measure the speed of everything that a user waits for, and record it in `results.json`.

Each part is a module with `measure()`, and can be run alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import growth
import limits
import page
import paper
import peers
import speed
import startup
import tables
from process import HERE, peak_gigabytes

PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "startup": startup.measure,
    "limits": limits.measure,
    "speed": speed.measure,
    "growth": growth.measure,
    "peers": peers.measure,
    "paper": paper.measure,
}


def main() -> None:
    """Run every benchmark, or those named, and write the results."""
    chosen = arguments()
    # What is not measured now keeps its figures, with the machine and date that belong to them.
    results = json.loads(chosen.out.read_text()) if chosen.only and chosen.out.exists() else {}
    parts = dict(PARTS)
    if chosen.raw is not None:
        parts["movielens_tables"] = lambda: tables.measure(chosen.raw)
    if chosen.large is not None:
        parts["large_files"] = lambda: tables.measure_large(chosen.large)
    for name, measure in parts.items():
        if not chosen.only or name in chosen.only:
            start = time.perf_counter()
            results[name] = measure()
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    results |= {"machine": machine(), "date": time.strftime("%Y-%m-%d")}
    results["peak_gigabytes_of_this_process"] = peak_gigabytes()
    chosen.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for name, table in page.tables(results).items():
        print(f"\n{name}\n\n{table}")
    if chosen.page:
        page.write(results)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "movielens_tables", "large_files"])
    parser.add_argument("--raw", type=Path, help="folder with the raw archives")
    parser.add_argument("--large", type=Path, help="folder for generated files of 1 GB")
    parser.add_argument("--page", action="store_true", help="rewrite docs/performance.md")
    parser.add_argument("--out", type=Path, default=HERE / "results.json")
    return parser.parse_args()


def machine() -> dict[str, Any]:
    """Describe where this runs."""
    packages = ("cmab-gym", "gymnasium", "numpy", "scipy", "pandas", "pyarrow", "duckdb", "joblib")
    return {
        "cores": os.cpu_count(),
        "processor": processor(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def processor() -> str:
    """Return the processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
