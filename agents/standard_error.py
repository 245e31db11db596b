"""`StandardErrorPolicy`: an index that is the mean and some standard errors of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams


class StandardErrorPolicy(ABC):
    """Index: mean_k + z sqrt(v / (n_k + n_0)), of n_k pulls: z standard errors above the mean.

    A policy says what z, the variance v and n_0 are. `evaluate` plays it in compiled loops, round
    and round, where numba is installed (`cmab_gym.evaluation.simulation`).

    Attributes:
        prior_pulls: n_0, pulls that count beside those made.
    """

    prior_pulls: ClassVar[int] = 0

    @abstractmethod
    def variance(self, problem: BanditProblem) -> float:
        """Return v, the variance of a single reward, in its unit squared."""

    @abstractmethod
    def z(self, t: IntArray) -> FloatArray | None:
        """Return z after t pulls in all, for each t; None: normal numbers, one for each arm."""

    def index(
        self,
        pulls: IntArray,
        means: FloatArray,
        t: int,
        problem: BanditProblem,
        rng: TrialStreams,
    ) -> FloatArray:
        """Compute the index (B, K): see `IndexPolicy.index`."""
        z = self.z(np.asarray(t))
        if z is None:
            z = rng.standard_normal(pulls.shape[1])
        index: FloatArray = means + z * np.sqrt(self.variance(problem) / (pulls + self.prior_pulls))
        return index
