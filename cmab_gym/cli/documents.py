"""The JSON documents of `--json`; docs/command-line.md describes their keys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cmab_gym.cli.output_mode import current_mode
from cmab_gym.text import write


def print_document(command: str, document: Mapping[str, Any]) -> None:
    """Print a document on standard output, if `--json` asks for it.

    Args:
        command: the command, which is the value of the first key.
        document: numbers, texts, arrays, and sequences and mappings of them. Numbers are not
            rounded; NaN and infinity become null. Other values are written as text.
    """
    if current_mode().json:
        # ASCII: names of users' files cannot disturb the terminal, whatever its encoding.
        write(json.dumps(_plain({"command": command, **document}), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return a value as JSON's numbers, texts, lists and objects."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [_plain(each) for each in value]
    return str(value)
