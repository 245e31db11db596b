"""`RoundObserver`: what a bandit tells of its episodes and rounds."""

from __future__ import annotations

from typing import Protocol

from cmab_gym.arrays import FloatArray, IntArray


class RoundObserver(Protocol):
    """Is told of the episodes and rounds of B trials in lockstep."""

    def begin(self) -> None:
        """Begin new episodes."""

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: arms and their rewards, each (B,); copy what is kept."""
