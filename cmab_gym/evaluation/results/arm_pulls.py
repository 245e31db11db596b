"""`ArmPulls`: how often and when each trial pulled each arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import IntArray


@dataclass(frozen=True, eq=False)
class ArmPulls:
    """The pulls of each arm in some trials, with one entry for each arm that a trial pulled.

    Of a catalogue of 45,000 arms a trial pulls few, so that the entries take far less memory than
    an array (trials, K).

    Args:
        trials: number of trials.
        n_arms: K.
        trial, arm: int64 (N,), which trial and arm an entry is about, in order.
        pulls: int64 (N,), how often that trial pulled that arm, 1 or more.
        last: int64 (N,), the round of its last pull, 1 or more.
    """

    trials: int
    n_arms: int
    trial: IntArray
    arm: IntArray
    pulls: IntArray
    last: IntArray

    @classmethod
    def of(cls, pulls: IntArray, last: IntArray) -> ArmPulls:
        """Take the entries of the arrays (trials, K) of pulls and of the rounds of last pulls."""
        trials, n_arms = pulls.shape
        trial, arm = np.nonzero(pulls)
        return cls(trials, n_arms, trial, arm, pulls[trial, arm], last[trial, arm])

    @classmethod
    def joined(cls, parts: Sequence[ArmPulls]) -> ArmPulls:
        """Put the trials of several parts, at least one, behind each other."""
        starts = np.cumsum([0, *(part.trials for part in parts)]).tolist()
        trial = [part.trial + start for part, start in zip(parts, starts, strict=False)]
        rest = [
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("arm", "pulls", "last")
        ]
        return cls(starts[-1], parts[0].n_arms, np.concatenate(trial), *rest)

    def counts(self) -> IntArray:
        """Return the pulls of each arm, int64 (trials, K)."""
        return self._dense(self.pulls)

    def last_rounds(self) -> IntArray:
        """Return the round of the last pull of each arm, int64 (trials, K); 0 without a pull."""
        return self._dense(self.last)

    def _dense(self, values: IntArray) -> IntArray:
        dense = np.zeros((self.trials, self.n_arms), dtype=np.int64)
        dense[self.trial, self.arm] = values
        return dense
