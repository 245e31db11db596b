"""The file of an agent that was trained beforehand: its weights, and how it was trained, in JSON.

It is not the .zip of stable-baselines3's `save()`, parts of which are pickles, and so can run any
code when they are loaded. Here torch's loader of plain numbers reads the weights.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cmab_gym.agents.rl.extra import stable_baselines3
from cmab_gym.files import write_whole

_DESCRIPTION, _WEIGHTS = "cmab_gym.json", "policy.pth"
_FORMAT = 1
_ACTOR = "mlp_extractor.actor."  # where the weights of an `ArmPolicy` hold those of its scores


def write_model(path: Path, model: Any, description: Mapping[str, Any]) -> None:
    """Save a model whose policy is an `ArmPolicy`, with its description."""
    import torch

    weights = io.BytesIO()
    torch.save(model.policy.state_dict(), weights)

    def write(part: Path) -> None:
        with zipfile.ZipFile(part, "w") as archive:
            archive.writestr(_DESCRIPTION, json.dumps({"format": _FORMAT, **description}, indent=2))
            archive.writestr(_WEIGHTS, weights.getvalue())

    write_whole(path, write)


def read_description(path: Path) -> dict[str, Any]:
    """Return what a file says of its training.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it was not written by `cmab-gym train`, or by a later version.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected one that `cmab-gym train` wrote")
    try:
        with zipfile.ZipFile(path) as archive:
            description: dict[str, Any] = json.loads(archive.read(_DESCRIPTION))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} is no agent that `cmab-gym train` wrote ({error}); what "
            "stable-baselines3 saves is not read, as loading it can run any code"
        ) from error
    if description.get("format") != _FORMAT:
        raise ValueError(
            f"{path} has the format {description.get('format')!r}: expected {_FORMAT}; it was "
            "written by another version of cmab-gym, train again"
        )
    return description


def read_network(path: Path) -> Any:
    """Return the network of a file's agent, an `ArmScores` of 64-bit numbers.

    Raises:
        FileNotFoundError, ValueError: as `read_description`; or the extra `rl` is not installed,
            or the weights are damaged.
    """
    width = read_description(path)["width"]
    stable_baselines3()

    import torch

    from cmab_gym.agents.rl.arm_networks import ArmScores

    network = ArmScores(width)
    try:
        with zipfile.ZipFile(path) as archive:
            file = io.BytesIO(archive.read(_WEIGHTS))
        weights = torch.load(file, map_location="cpu", weights_only=True)
        own = {key.removeprefix(_ACTOR): value for key, value in weights.items() if _ACTOR in key}
        network.load_state_dict(own)
    except Exception as error:  # torch has no class of its own for this
        raise ValueError(f"{path} has no usable weights ({error}): train again") from error
    return network.double().eval()
