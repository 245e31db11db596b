"""`RoundObserver`: an object that a bandit calls in every episode and round."""

from __future__ import annotations

from typing import Protocol

from cmab_gym.arrays import FloatArray, IntArray


class RoundObserver(Protocol):
    """Receives the episodes and rounds of B trials in lockstep."""

    def begin(self) -> None:
        """Begin new episodes."""

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: arms and their rewards, each (B,), which later rounds may overwrite."""
