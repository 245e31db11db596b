"""Agents of `cmab-gym train`: `make_agent("model.zip")`."""

from __future__ import annotations

from pathlib import Path

from cmab_gym.agents.rl.frozen import FrozenAgent
from cmab_gym.agents.rl.model_file import read_description, read_network
from cmab_gym.arrays import Float32Array


class TrainedAgent(FrozenAgent):
    """Plays the policy that `cmab-gym train` learned, from the history of each trial alone.

    It plays any number of arms, not only the number of its training.

    Args:
        path: the file that `cmab-gym train` wrote.
        greedy: True pulls the arm with the largest score; False draws an arm with the softmax of
            the scores as probabilities, as in training.

    Attributes:
        description: what the file says about the training.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: `cmab-gym train` did not write the file, or the extra `rl` is not installed.

    Cost per round: O(K) for each trial, through a small network.

    Source: Duan et al. (2016) and Wang et al. (2016) for learning to play bandits.
    """

    def __init__(self, path: str | Path, greedy: bool = False) -> None:
        self.path = Path(path)
        self.description = read_description(self.path)
        super().__init__(read_network(self.path), greedy)

    def __repr__(self) -> str:
        return f"TrainedAgent({str(self.path)!r}, greedy={self.greedy})"

    def _features(self) -> Float32Array:
        return self.history.features(self.description["horizon"])
