"""Files that appear whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under a temporary name beside it, then give it its own."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}.partial")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
