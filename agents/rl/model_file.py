"""The file of `cmab-gym train`: an agent's weights, and a description of its training in JSON.

Unlike the file of stable-baselines3's `save()` (see `sb3_file`) it holds no pickles, which can run
any code. The weights are read by torch's loader with `weights_only=True`.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Mapping
from os.path import isfile
from pathlib import Path
from typing import Any, BinaryIO

from cmab_gym import checks
from cmab_gym.agents.rl.extra import stable_baselines3
from cmab_gym.files import UnreadableError, reading, write_whole
from cmab_gym.text import quoted

_DESCRIPTION, _WEIGHTS = "cmab_gym.json", "policy.pth"
_FORMAT = 1
_LARGEST_WIDTH = 4096  # of a layer
_ACTOR = "mlp_extractor.actor."  # prefix of the weights of an `ArmPolicy`'s `ArmScores`


def write_model(path: Path, model: Any, description: Mapping[str, Any]) -> None:
    """Save the weights of a model whose policy is an `ArmPolicy`, with a description."""
    import torch

    weights = io.BytesIO()
    torch.save(model.policy.state_dict(), weights)

    def write(part: Path) -> None:
        with zipfile.ZipFile(part, "w") as archive:
            archive.writestr(_DESCRIPTION, json.dumps({"format": _FORMAT, **description}, indent=2))
            archive.writestr(_WEIGHTS, weights.getvalue())

    write_whole(path, write)


def read_description(path: Path) -> dict[str, Any]:
    """Return a file's description of the training.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: `cmab-gym train` did not write the file, or another version of it did.
    """
    if not isfile(path):
        raise FileNotFoundError(f"{path} is not a file: expected one that `cmab-gym train` wrote")
    expected = "expected an agent that `cmab-gym train` or stable-baselines3's save() wrote"
    with reading(str(path), expected):
        with zipfile.ZipFile(path) as archive:
            description = dict(json.loads(archive.read(_DESCRIPTION)))
        if description["format"] != _FORMAT:
            raise UnreadableError(
                f"{path} has the format {quoted(description['format'])}: expected {_FORMAT}; "
                "another version of cmab-gym wrote it, train again"
            )
        for name in ("width", "horizon"):
            checks.whole_number(name, description[name], 1)
        checks.number_between("width", description["width"], 1, _LARGEST_WIDTH)
    return description


def read_network(path: Path) -> Any:
    """Return the network of a file's agent, an `ArmScores` in float64.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: as `read_description`; or the extra `rl` is not installed, or the weights are
            damaged.
    """
    width = read_description(path)["width"]
    stable_baselines3()

    from cmab_gym.agents.rl.arm_networks import ArmScores

    with reading(str(path), "expected usable weights; train again"):
        network = ArmScores(width)
        with zipfile.ZipFile(path) as archive:
            file = io.BytesIO(archive.read(_WEIGHTS))
        weights = read_weights(file)
        own = {key.removeprefix(_ACTOR): value for key, value in weights.items() if _ACTOR in key}
        network.load_state_dict(own)
    return network.double().eval()


def read_weights(file: BinaryIO) -> dict[str, Any]:
    """Read weights that torch saved, without running any code in the file.

    Raises:
        ValueError: some weights are not finite.
        Exception: of torch; the file is damaged, or holds something else.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged files, which are refused
        weights = dict(torch.load(file, map_location="cpu", weights_only=True))
    if not all(torch.isfinite(value).all() for value in weights.values()):
        raise ValueError("some are not finite")
    return weights
