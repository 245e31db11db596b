"""Read the segments of users, gender and age, from the file of users of MovieLens 1M."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from cmab_gym.arrays import AnyArray
from cmab_gym.envs_data.readers.archive import Files
from cmab_gym.envs_data.readers.layout import Layout, companions
from cmab_gym.envs_data.readers.text_file import lines
from cmab_gym.files import UnreadableError

# A line of users.dat: user, gender, age (the lowest of its bracket), occupation, zip code.
_USER = re.compile(r"(\d+)::([FM])::(\d+)::\d+::\S*")


def read_segments(files: Files, layout: Layout, wanted: Sequence[Any]) -> AnyArray | None:
    """Read the segments of users, such as "F-25", from the file next to the ratings.

    Args:
        files: the ratings and the files next to them.
        layout: the layout of the ratings.
        wanted: the ids of the users.

    Returns:
        The segment of each user, "" where it is unknown; or None if no file describes users.

    Raises:
        ValueError: a line of the file of users is damaged.
    """
    for name, line, _ in companions(files, layout, "users") if layout.items == "movies" else ():
        if _USER.fullmatch(line):
            return _segments(files, name, wanted)
    return None


def _segments(files: Files, name: str, wanted: Sequence[Any]) -> AnyArray:
    segment_of = {}
    for number, raw in lines(files.blocks(name), files.title(name)):
        line = raw.decode("utf-8-sig", errors="replace").strip()
        found = _USER.fullmatch(line)
        if line and found is None:
            raise UnreadableError(
                f"{files.title(name)} line {number} is {line[:200]!r}: expected "
                "user::gender::age::occupation::zip"
            )
        if found is not None:
            segment_of[int(found[1])] = f"{found[2]}-{found[3]}"
    return np.array([segment_of.get(user, "") for user in wanted])
