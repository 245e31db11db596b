"""`StandardErrorPolicy`: an index that is the mean and some standard errors of it."""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams


class StandardErrorPolicy:
    """Index: mean_k + z sqrt(v / (n_k + n_0)), of n_k pulls: z standard errors above the mean.

    A subclass says what the variance v is, and z, unless it samples. Where numba is installed,
    `evaluate` plays whole rounds of it in a compiled loop (`cmab_gym.evaluation.simulation`).

    Attributes:
        prior_pulls: n_0, 0 or more, pulls that count beside those made.
        samples: whether z is a standard normal number, drawn anew for each arm.
    """

    prior_pulls: ClassVar[float] = 0
    samples: ClassVar[bool] = False

    def variance(self, problem: BanditProblem) -> float:
        """Return v, 0 or more, the variance of a single reward, in its unit squared."""
        raise NotImplementedError(f"{type(self).__name__} has no variance()")

    def z(self, t: IntArray) -> FloatArray:
        """Return z after t pulls in all, which depends on t alone.

        Args:
            t: int64 (n,), K or more each.

        Returns:
            float64 (n,), of each t; or one number for all.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither z() nor samples = True")

    def index(
        self,
        pulls: IntArray,
        means: FloatArray,
        t: int,
        problem: BanditProblem,
        rng: TrialStreams,
    ) -> FloatArray:
        """Compute the index (B, K): see `IndexPolicy.index`.

        Raises:
            ValueError: v, n_0 or z is not what it must be.
        """
        variance, prior_pulls = self.checked_variance(problem)
        z = rng.standard_normal(pulls.shape[1]) if self.samples else self.checked_z(np.array([t]))
        index: FloatArray = means + z * np.sqrt(variance / (pulls + prior_pulls))
        return index

    def checked_variance(self, problem: BanditProblem) -> tuple[float, float]:
        """Return v and n_0.

        Raises:
            ValueError: one of them is no number, or below 0.
        """
        name, most = type(self).__name__, sys.float_info.max
        variance = checks.number_between(f"{name}.variance()", self.variance(problem), 0, most)
        return variance, checks.number_between(f"{name}.prior_pulls", self.prior_pulls, 0, most)

    def checked_z(self, t: IntArray) -> FloatArray:
        """Return z of each t, float64 (n,).

        Raises:
            ValueError: it is not a finite number for each t.
        """
        z = np.asarray(self.z(t), dtype=np.float64)
        if z.shape not in ((), (1,), t.shape) or not np.isfinite(z).all():
            raise ValueError(
                f"{type(self).__name__}.z({t}) returned {z}: expected {t.size} finite numbers, one "
                "for each t, or one for all"
            )
        return z if z.shape == t.shape else np.broadcast_to(z, t.shape).copy()
