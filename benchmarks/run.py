"""Measure everything that a user waits for, and record it in `results.json`.

Each part is a module with a function `measure`, which can be run alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import authors
import catalogue
import environments
import growth
import limits
import page
import paper
import peers
import speed
import startup
import tables
import tightening
from process import HERE

from cmab_gym.files import write_whole

PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "startup": startup.measure,
    "environments": environments.measure,
    "limits": limits.measure,
    "speed": speed.measure,
    "growth": growth.measure,
    "peers": peers.measure,
    "paper": paper.measure,
    "tightening": tightening.measure,
}

# Each needs an option.
WITH_FOLDER = ("movielens_tables", "films", "large_files", "all_items", "authors")


def main() -> None:
    """Run all benchmarks, or those named, and write the results."""
    chosen = arguments()
    results = earlier(chosen.out)
    results |= {"machine": machine(), "measured": results.get("measured", {})}
    parts = dict(PARTS)
    if chosen.raw is not None:
        parts["movielens_tables"] = lambda: tables.measure(chosen.raw)
        parts["films"] = lambda: catalogue.measure_films(chosen.raw.resolve())
    if chosen.large is not None:
        parts["large_files"] = lambda: tables.measure_large(chosen.large)
        parts["all_items"] = lambda: catalogue.measure_all_items(chosen.large.resolve())
    if chosen.authors is not None:
        parts["authors"] = lambda: authors.measure(chosen.authors)
    for name, measure in parts.items():
        if not chosen.only or name in chosen.only:
            start = time.perf_counter()
            results[name] = measure()
            seconds = round(time.perf_counter() - start)
            results["measured"][name] = {"date": time.strftime("%Y-%m-%d"), "seconds": seconds}
            print(f"{name}: {seconds} s", file=sys.stderr)
            text = json.dumps(results, indent=2) + "\n"  # after each part, so that none is lost
            write_whole(chosen.out, partial(Path.write_text, data=text, encoding="utf-8"))
    for name, table in page.tables(results).items():
        print(f"\n{name}\n\n{table}")
    if chosen.page:
        page.write(results)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *WITH_FOLDER])
    parser.add_argument("--raw", type=Path, help="folder with the raw archives")
    parser.add_argument("--large", type=Path, help="folder for generated files of 1 GB")
    parser.add_argument("--authors", type=Path, help="folder with a copy of their repository")
    parser.add_argument("--page", action="store_true", help="rewrite docs/performance.md")
    parser.add_argument("--out", type=Path, default=HERE / "results.json")
    return parser.parse_args()


def earlier(path: Path) -> dict[str, Any]:
    """Return earlier results if they have the same machine and versions."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found if found.get("machine") == machine() else {}


def machine() -> dict[str, Any]:
    """Describe the machine and the versions."""
    packages = (
        "cmab-gym",
        "gymnasium",
        "numpy",
        "scipy",
        "pandas",
        "pyarrow",
        "duckdb",
        "numba",
    )
    return {
        "cores": os.cpu_count(),
        "processor": processor(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def processor() -> str:
    """Return the processor's name if the system has it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
