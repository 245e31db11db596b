"""The file of stable-baselines3's `save()`, read without running any code in it.

The file holds pickles, which are never loaded. What is read: the plain values and the texts of its
JSON, and the weights, by torch's loader with `weights_only=True`.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmab_gym import checks
from cmab_gym.agents.rl.extra import stable_baselines3
from cmab_gym.agents.rl.model_file import read_weights
from cmab_gym.files import UnreadableError, reading
from cmab_gym.text import quoted, shortened

_DESCRIPTION, _WEIGHTS = "data", "policy.pth"
_SHOWN = 200  # characters of a name in the file
_EXPECTED = "expected PPO, A2C or DQN with 'MlpPolicy', saved by stable-baselines3"


@dataclass(frozen=True)
class _Kind:
    """Where the weights of a kind of policy are.

    Args:
        layers: pattern of the names of its layers, before ".weight" or ".bias", in order.
        others: pattern of the names of weights that no action needs.
        activation: the default of stable-baselines3, in `torch.nn`.
        explores: whether its predict() pulls a random arm with the probability `exploration_rate`;
            False draws an arm from the probabilities of the network.
    """

    layers: str
    others: str
    activation: str
    explores: bool


_KINDS = {
    "stable_baselines3.common.policies": _Kind(
        r"mlp_extractor\.policy_net\.\d+|action_net",
        r"(mlp_extractor\.)?value_net\..*",
        "Tanh",
        False,
    ),
    "stable_baselines3.dqn.policies": _Kind(
        r"q_net\.q_net\.\d+", r"q_net_target\..*", "ReLU", True
    ),
}
_FLATTEN = "<class 'stable_baselines3.common.torch_layers.FlattenExtractor'>"
_ACTIVATIONS = ("ELU", "GELU", "Identity", "LeakyReLU", "ReLU", "SiLU", "Sigmoid", "Tanh")


@dataclass(frozen=True)
class SavedModel:
    """What a file says about its policy.

    Args:
        network: maps observations, float64 (B, n_inputs), to a number for each arm, (B, n_arms).
        n_inputs: size of an observation.
        n_arms: number of actions.
        constant: whether it saw the environments' own observation, which is always the same.
        exploration: share of random pulls of DQN; None for a policy whose numbers are the
            logarithms of probabilities, up to a constant.
    """

    network: Any
    n_inputs: int
    n_arms: int
    constant: bool
    exploration: float | None


def is_sb3_file(path: Path) -> bool:
    """Return whether stable-baselines3 seems to have written a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {_DESCRIPTION, _WEIGHTS} <= set(archive.namelist())
    except Exception:  # zipfile raises many kinds for damaged files
        return False


def read_sb3_file(path: Path) -> SavedModel:
    """Read a model.

    Raises:
        ValueError: the file is damaged, or its policy is not a plain MlpPolicy for a bandit; or the
            extra `rl` is not installed.
    """
    stable_baselines3()
    with reading(str(path), _EXPECTED):
        with zipfile.ZipFile(path) as archive:
            data = dict(json.loads(archive.read(_DESCRIPTION)))
            file = io.BytesIO(archive.read(_WEIGHTS))
        module = str(data["policy_class"]["__module__"])
        if module not in _KINDS:
            raise UnreadableError(
                f"{path} holds a policy of {shortened(module, _SHOWN)}: {_EXPECTED}"
            )
        kind, kwargs = _KINDS[module], data["policy_kwargs"]
        constant = _check_spaces(path, data["observation_space"], data["action_space"])
        if kwargs.get("features_extractor_class", _FLATTEN) != _FLATTEN:
            raise UnreadableError(f"{path} has a features extractor of its own: {_EXPECTED}")
        activation = _activation(path, kwargs.get("activation_fn"), kind.activation)
        network = _network(path, kind, activation, read_weights(file))
        exploration = None
        if kind.explores:
            rate = data["exploration_rate"]
            exploration = checks.number_between("exploration_rate", rate, 0, 1)
    return SavedModel(
        network, network[0].in_features, network[-1].out_features, constant, exploration
    )


def _activation(path: Path, text: Any, default: str) -> str:
    """Return the name of an activation function in `torch.nn`, from the text of its class.

    Raises:
        ValueError: it is not one of `_ACTIVATIONS`.
    """
    if text is None:
        return default
    found = re.fullmatch(r"<class 'torch\.nn\.modules\.\w+\.(\w+)'>", str(text))
    if found is None or found[1] not in _ACTIVATIONS:
        raise UnreadableError(
            f"{path} has the activation function {shortened(str(text), _SHOWN)}: expected one of "
            f"torch.nn's {', '.join(_ACTIVATIONS)}"
        )
    return found[1]


def _check_spaces(path: Path, observation: Mapping[str, Any], action: Mapping[str, Any]) -> bool:
    """Check the spaces, and return whether the observation is constant.

    Raises:
        ValueError: they are not those of a bandit of this package.
    """
    # Of "<class 'gymnasium.spaces.box.Box'>" the last word.
    seen, done = (re.findall(r"\w+", space[":type:"])[-1] for space in (observation, action))
    if done != "Discrete" or int(action.get("start", 0)) != 0:
        raise UnreadableError(
            f"{path} has actions in {shortened(done, _SHOWN)}: expected Discrete(K), one for an arm"
        )
    constant = seen == "Discrete" and int(observation["n"]) == 1
    if not constant and (seen != "Box" or len(observation["_shape"]) != 1):
        raise UnreadableError(
            f"{path} has observations in {shortened(seen, _SHOWN)}: expected a Box of one "
            "dimension, such as that of HistoryObservation, or the environments' own Discrete(1)"
        )
    return constant


def _network(path: Path, kind: _Kind, activation: str, weights: Mapping[str, Any]) -> Any:
    """Return the policy's network in float64.

    Raises:
        ValueError: the weights are not those of such a network.
    """
    import torch
    from torch import nn

    names = dict.fromkeys(key.rpartition(".")[0] for key in weights)
    own = [name for name in names if re.fullmatch(kind.layers, name)]
    strange = [
        key
        for key in weights
        if not re.fullmatch(rf"({kind.layers})\.(weight|bias)|{kind.others}", key)
    ]
    if strange or not own:
        found = f"the weights {quoted(strange[0], _SHOWN)}" if strange else "no weights of layers"
        raise UnreadableError(f"{path} has {found}: {_EXPECTED}")
    layers: list[Any] = []
    for name in own:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        # Without initial weights, which torch would draw from its global generator.
        layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
        layer.load_state_dict({"weight": weight, "bias": bias}, assign=True)
        layers += [layer, getattr(nn, activation)()]
    network = nn.Sequential(*layers[:-1]).double().eval()
    network(torch.zeros(1, layers[0].in_features).double())  # raises if layers do not fit
    return network
