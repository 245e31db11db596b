"""Run a program in a new process, and measure its time and peak memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_STATUS = Path("/proc/self/status")
_PEAK = "import process; print(process.peak_gigabytes())"


def peak_gigabytes() -> float:
    """Return the peak memory of this process so far."""
    if _STATUS.is_file():
        # getrusage would include the parent's memory at the start of a child.
        return round(_gigabytes("VmHWM"), 3)
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9, 3)


def gigabytes_now() -> float:
    """Return the memory of this process, on Linux."""
    return _gigabytes("VmRSS")


def _gigabytes(name: str) -> float:
    lines = _STATUS.read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024 / 1e9


def measured(program: str, *arguments: str, limit: float | None = None) -> dict[str, Any]:
    """Run a Python program that may import the benchmarks' modules.

    Args:
        program: the program.
        arguments: the program's arguments, in its `sys.argv`.
        limit: seconds after which the program is stopped.

    Returns:
        Its seconds, including the start, and its peak memory in gigabytes; or why it failed.
    """
    command = [sys.executable, "-c", f"{program}\n{_PEAK}", *arguments]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=HERE, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"given up after {limit:g} s"}
    seconds = round(time.perf_counter() - start, 3)
    return {"seconds": seconds, "peak_gigabytes": float(done.stdout.split()[-1])}


def seconds_of(command: list[str]) -> float:
    """Return the seconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return round(time.perf_counter() - start, 3)
