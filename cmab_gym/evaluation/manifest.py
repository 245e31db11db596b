"""What the manifest of an evaluation records about the environment and the run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from cmab_gym.evaluation.playing.compiled import is_enabled
from cmab_gym.models.base import BanditModel
from cmab_gym.versions import versions


def describe_environment(env_id: str, env_kwargs: Mapping[str, Any], env: Any) -> dict[str, Any]:
    """Describe the environment.

    Args:
        env_id: its id.
        env_kwargs: its keyword arguments, as given.
        env: the native vector environment.
    """
    model: BanditModel = env.unwrapped.model
    return {
        "env_id": env_id,
        "env_kwargs": env_kwargs,
        "all_env_kwargs": env.unwrapped.env_kwargs,
        "draws": env.unwrapped.draws,
        "reward_unit": model.reward_unit,
        "arm_names": list(model.arm_names),
        "means": model.means.tolist(),
        "provenance": dict(getattr(model, "provenance", {})),
    }


def describe_run() -> dict[str, Any]:
    """Return the time of the start, and the versions that the numbers may depend on."""
    numba = ["numba"] if is_enabled() else []
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": versions("gymnasium", "numpy", "scipy", *numba),
    }
