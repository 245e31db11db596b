"""How rewards are drawn: by rounds or by pulls.

By rounds, each round has a joint outcome of all arms, and an arm gives its part of it. By pulls,
each arm of each trial has a stack of rewards, and its n-th pull takes the n-th one (Lattimore and
Szepesvari, Bandit Algorithms, section 4.6). A player sees one arm per round, so what it sees has
the same distribution either way. By pulls, two agents get the same reward whenever both pull an arm
for the n-th time, which makes their difference far less random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import PCG64, Generator

from cmab_gym.arrays import FloatArray, IntArray, UInt64Array
from cmab_gym.models.base import BanditModel
from cmab_gym.state import Stateful
from cmab_gym.streams import RoundStream, uniforms_at

DrawKind: TypeAlias = Literal["rounds", "pulls"]
DRAW_KINDS = ("rounds", "pulls")
_CHUNK = 256  # rewards of an arm that are drawn together; part of what a seed means


class JointOutcomes(Stateful):
    """The rewards of B trials by rounds.

    Args:
        model: the bandit.
        generators: B generators, one per trial.
    """

    _changing = ("_stream",)

    def __init__(self, model: BanditModel, generators: Sequence[Generator]) -> None:
        self._model = model
        self._stream = RoundStream(generators, model.draw_trials, model.rounds_per_draw)

    def take(self, arms: IntArray) -> tuple[FloatArray, IntArray]:
        """Play a round.

        Args:
            arms: int64 (B,).

        Returns:
            The rewards, float64 (B,), and their positions in the support or the bins, int64 (B,).
        """
        self._outcomes = self._stream.next()
        rewards, index = self._model.pull(self._outcomes, arms[:, None])
        return rewards[:, 0].copy(), index[:, 0].copy()

    def of_all_arms(self) -> FloatArray:
        """Return the rewards of all arms in the last round, float64 (B, K)."""
        return self._model.pull(self._outcomes, np.arange(self._model.n_arms)[None, :])[0]


class Stacks(Stateful):
    """The rewards of B trials by pulls, for a model with finitely many rewards.

    The n-th reward of an arm is the quantile of its distribution at a uniform number that depends
    on the trial, the arm and n alone, and is computed when it is needed.

    Args:
        model: the bandit.
        generators: B generators, one per trial, each of which draws a key for every arm.

    Attributes:
        support: float64 (R,), the rewards.
        keys: uint64 (B, K), of the uniform numbers.
        thresholds: float64 (K, R - 1); the reward's position is how many of the arm's thresholds
            are at most the uniform number.
        taken: int64 (B, K), how many rewards of each arm were taken.
    """

    _changing = ("taken",)

    def __init__(self, model: BanditModel, generators: Sequence[Generator]) -> None:
        self.support = model.problem.reward_support
        self.keys = _keys(generators, model.n_arms)
        self.thresholds = model.thresholds
        self.taken: IntArray = np.zeros(self.keys.shape, dtype=np.int64)
        self._trial = np.arange(len(self.keys))

    def take(self, arms: IntArray) -> tuple[FloatArray, IntArray]:
        """Take the next reward of one arm of each trial: see `JointOutcomes.take`."""
        # Positions in flat tables, which take a third of the time that two indices need.
        position = self._trial * self.keys.shape[1] + arms
        taken = self.taken.take(position)
        self.taken.reshape(-1)[position] = taken + 1
        uniform = uniforms_at(self.keys.take(position), taken)
        index: IntArray = (self.thresholds.take(arms, axis=0) <= uniform[:, None]).sum(axis=1)
        return self.support.take(index), index


class ContinuousStacks(Stateful):
    """The rewards of B trials by pulls, for a model with continuous rewards.

    Each arm of each trial has a generator of its own, and its rewards are drawn in chunks.

    Args:
        model: the bandit.
        generators: B generators, one per trial, each of which seeds a generator for every arm.

    Attributes:
        cuts: float64 (R - 1,), the interior edges of the bins.
        rewards: float64 (B, K, 512), rewards that were drawn.
        taken: int64 (B, K), position of the next one of each arm.
    """

    _changing = ("rewards", "taken", "_generators")

    def __init__(self, model: BanditModel, generators: Sequence[Generator]) -> None:
        edges, keys = model.problem.reward_edges, _keys(generators, model.n_arms)
        assert edges is not None  # noqa: S101 (see `reward_source_of`)
        self.cuts = edges[1:-1]
        self.rewards: FloatArray = np.empty((*keys.shape, 2 * _CHUNK))
        self.taken: IntArray = np.full(keys.shape, 2 * _CHUNK)
        self._model = model
        self._generators = [[Generator(PCG64(int(key))) for key in row] for row in keys]
        self._trial = np.arange(len(keys))

    def take(self, arms: IntArray) -> tuple[FloatArray, IntArray]:
        """Take the next reward of one arm of each trial: see `JointOutcomes.take`."""
        pulled = (self._trial, arms)
        position = self.taken[pulled]
        if (position == self.rewards.shape[2]).any():
            self.ready(1)
            position = self.taken[pulled]
        rewards = self.rewards[(*pulled, position)]
        self.taken[pulled] += 1
        return rewards, self.cuts.searchsorted(rewards, side="right")

    def ready(self, rounds: int) -> int:
        """Refill the arms that might run out within `rounds` rounds.

        Returns:
            How many rounds can now be taken without a refill, at most `rounds`.
        """
        rounds = min(rounds, _CHUNK)
        short = self.rewards.shape[2] - self.taken < rounds
        for arm in np.flatnonzero(short.any(axis=0)).tolist():
            trials = np.flatnonzero(short[:, arm])
            drawn = self._model.draw_arm(
                arm, [self._generators[trial][arm] for trial in trials], _CHUNK
            )
            # The rewards that are left, fewer than a chunk, move to the front of the new ones.
            for trial, new in zip(trials.tolist(), drawn, strict=True):
                left = self.rewards[trial, arm, self.taken[trial, arm] :].copy()
                start = _CHUNK - left.size
                self.rewards[trial, arm, start:_CHUNK] = left
                self.rewards[trial, arm, _CHUNK:] = new
                self.taken[trial, arm] = start
        return rounds


RewardSource: TypeAlias = JointOutcomes | Stacks | ContinuousStacks


def reward_source_of(
    model: BanditModel, kind: str, generators: Sequence[Generator]
) -> RewardSource:
    """Return the rewards of a model for B trials.

    Args:
        model: the bandit.
        kind: "rounds" or "pulls".
        generators: B generators, one per trial.
    """
    if kind == "rounds":
        return JointOutcomes(model, generators)
    finite = model.problem.reward_edges is None
    return Stacks(model, generators) if finite else ContinuousStacks(model, generators)


def _keys(generators: Sequence[Generator], n_arms: int) -> UInt64Array:
    drawn = [rng.integers(2**64, size=n_arms, dtype=np.uint64) for rng in generators]
    return np.stack(drawn)
