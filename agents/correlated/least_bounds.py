"""`LeastBounds`: the least bound on each arm's mean, kept between rounds."""

from __future__ import annotations

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray

_PART = 1 << 16  # bounds that are looked at together


class LeastBounds:
    """The least phi of each arm over the significant arms.

    A pull changes one row of phi, so that most minima stay. One whose own row has risen is loose,
    no more than an upper bound: enough to rule an arm out, and only where it is not the minimum is
    taken anew. `update` and `over` do so in NumPy; compiled loops do it to `kept`.

    Args:
        pseudo_sums: float64 (B, K, K), which the owner changes; [b, k, l] is summed over the pulls
            of arm k.
        unknown: bool (K,), arms that are never ruled out.

    Attributes:
        kept: float64 (B, K), the least bounds; int64 (B, K), the arms that bound so; bool (B, K),
            which of them are loose.
    """

    def __init__(self, pseudo_sums: FloatArray, unknown: BoolArray) -> None:
        trials, self._n_arms, _ = pseudo_sums.shape
        self._pseudo_sums, self._unknown = pseudo_sums, unknown
        self._trial = np.arange(trials)[:, None]
        self._least = np.full((trials, self._n_arms), np.inf)
        self._at = np.zeros((trials, self._n_arms), dtype=np.int64)
        self._loose = np.zeros((trials, self._n_arms), dtype=np.bool_)
        self.kept = self._least, self._at, self._loose

    def update(self, arms: IntArray, phi: FloatArray, significant: BoolArray) -> None:
        """Take note of the bounds given the arm that was pulled.

        Args:
            arms: int64 (B,), that arm.
            phi: float64 (B, K), of all arms given it.
            significant: bool (B,), whether it is.
        """
        low = phi <= self._least
        risen = (self._at == arms[:, None]) & ~low
        low &= significant[:, None]
        self._loose |= risen
        np.copyto(self._at, arms[:, None], where=low)
        np.copyto(self._least, phi, where=low | risen)

    def forget(self, trials: IntArray) -> None:
        """Take all minima of some trials anew, since phi has changed otherwise."""
        self._least[trials] = np.inf
        self._loose[trials] = True

    def over(
        self,
        significant: BoolArray,
        enough: FloatArray,
        pulls: IntArray,
        tight: FloatArray | None,
    ) -> FloatArray:
        """Return the least bounds, float64 (B, K), where they are enough; else upper ones.

        Args:
            significant: bool (B, K).
            enough: float64 (B, 1), what a bound must reach to matter.
            pulls: int64 (B, K).
            tight: float64 (B, K, K), other bounds, as [b, k, l]; None: there are none.
        """
        wanted = self._least >= enough
        wanted &= self._loose
        wanted |= ~significant[self._trial, self._at]
        wanted &= ~self._unknown
        cells = np.flatnonzero(wanted)
        apart = np.where(significant, 0.0, np.inf)
        divisor = np.maximum(pulls, 1.0)  # before any pull all arms are significant
        # When t passes a multiple of K many arms cease to be significant at once: in parts, lest
        # the columns of all of them fill the memory.
        part = max(1, _PART // self._n_arms)
        for first in range(0, cells.size, part):
            some = cells[first : first + part]
            trial, arm = np.divmod(some, self._n_arms)
            phi = self._pseudo_sums[trial, :, arm]
            phi /= divisor[trial]
            if tight is not None:
                np.minimum(phi, tight[trial, :, arm], out=phi)
            phi += apart[trial]
            at = phi.argmin(axis=1)
            self._at.put(some, at)
            self._least.put(some, phi[np.arange(trial.size), at])
        self._loose.put(cells, False)
        return self._least
