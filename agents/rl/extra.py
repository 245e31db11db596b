"""The optional packages of the extra `rl`, imported only when they are used."""

from __future__ import annotations

import importlib
import random
from types import ModuleType

from cmab_gym.extras import how_to_install


def stable_baselines3() -> ModuleType:
    """Import stable-baselines3.

    Raises:
        ValueError: it, or a package that it needs, is not installed.
    """
    state = random.getstate()  # the import draws from the global generator
    try:
        return importlib.import_module("stable_baselines3")
    except ImportError as error:
        raise ValueError(
            f"reinforcement learning needs the extra `rl` ({error}): {how_to_install('rl')}"
        ) from error
    finally:
        random.setstate(state)
