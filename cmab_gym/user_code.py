"""Tell the user's own code from this package, installed packages and Python."""

from __future__ import annotations

import linecache
import site
import sysconfig
import traceback
from functools import cache
from pathlib import Path


def line_of_user(error: BaseException | None) -> str:
    """Name the last line of the user's own code that an error came through.

    Returns:
        " (my_file.py line 12)", or "" if it came through none of the user's lines.
    """
    frames = traceback.extract_tb(error.__traceback__) if error else []
    for frame in reversed(frames):
        # Cells of a notebook are not files, but their lines are known.
        if linecache.getlines(frame.filename) and is_of_user(frame.filename):
            return f" ({Path(frame.filename).name} line {frame.lineno})"
    return ""


def is_of_user(filename: str) -> bool:
    """Return whether a file is neither this package's nor installed."""
    path = Path(filename).resolve()
    return not any(path.is_relative_to(folder) for folder in (*_own(), *installed()))


@cache
def installed() -> tuple[Path, ...]:
    """Return the folders of the standard library and of installed packages."""
    paths = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    return tuple(Path(each).resolve() for each in (*paths, *site.getsitepackages()))


@cache
def _own() -> tuple[Path, ...]:
    package = Path(__file__).resolve().parent
    return (package, *((package / name).resolve() for name in ("agents", "envs_data")))
