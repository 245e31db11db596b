"""`LearnedPad`: a rule that lets go of pseudo-rewards which the new users contradict."""

from __future__ import annotations

import numpy as np

from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.policies.ts import TS
from cmab_gym.arrays import BoolArray, FloatArray


class LearnedPad(CBandit):
    """`c-ts` with a pad that grows where bounds are seen to be too low.

    The mean of an arm that was pulled often shows by how much its bound is too low. The largest
    such difference in a trial, less a deviation of the mean, is added to the bounds of all arms.

    Args:
        beta: as in TS.
        deviations: how many deviations, of (reward range) / (2 sqrt(n)) after n pulls.
        least: pulls that an arm must have to count.
    """

    def __init__(self, beta: float = 0.1, deviations: float = 1.0, least: int = 10) -> None:
        super().__init__(TS(beta=beta))
        self._deviations, self._least = deviations, least

    def allowed_arms(self) -> BoolArray:
        """Return the arms whose bounds with the learned pad reach the best mean, bool (B, K)."""
        history = self.history
        if history.t:
            required = history.required_bound - self._pad()
            return history.allowed(self._least_bounds.over(history.significant, required), required)
        return super().allowed_arms()

    def _pad(self) -> FloatArray:
        history, support = self.history, self.history.problem.reward_support
        everything = np.full((len(history.pulls), 1), -np.inf)
        bounds = self._least_bounds.over(history.significant, everything)
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = (support[-1] - support[0]) / (2 * np.sqrt(history.pulls))
            excess = history.means - self._deviations * deviation - bounds
        known = (history.pulls >= self._least) & ~history.unknown
        pad: FloatArray = np.where(known, excess, 0.0).max(axis=1, keepdims=True)
        return np.maximum(pad, 0.0)
