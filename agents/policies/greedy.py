"""The greedy agent: no exploration beyond one pull of every arm."""

from __future__ import annotations

from dataclasses import dataclass

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class Greedy:
    """Pull the arm with the best mean so far.

    Index: mean_k. Every arm is pulled once first.

    Cost per round: O(K).

    Guarantee: none: regret may grow linearly, as a good arm with a bad start is never tried again.
    Over short horizons, or with many good arms, it often beats optimistic agents.

    Source: Sutton and Barto (2018), Section 2.2.
    """

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        return history.means
