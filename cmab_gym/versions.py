"""The versions of the packages that a result depends on."""

import platform
import sys
from functools import cache
from importlib.metadata import version

# Raised when the same arguments give other numbers: a sweep then runs its tasks again.
NUMBERS = 2

version_of = cache(version)  # reads a file, which takes a millisecond


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of cmab-gym, of some other packages, of Python and of the platform.

    Args:
        packages: names of installed distributions.
    """
    return {
        **{name: version_of(name) for name in ("cmab-gym", *packages)},
        "python": sys.version.split()[0],
        "platform": platform.platform(),
    }
