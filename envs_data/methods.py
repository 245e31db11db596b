"""From pooled ratings to pseudo-rewards: the survey methods of the paper's Section 2.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.envs_data.pooled import Pooled

METHODS = ("mean", "mean+sd", "soft", "hoeffding", "bootstrap")
_RESAMPLES, _SEED = 200, 0


@dataclass(frozen=True)
class Method:
    """How an upper bound is made of the ratings that users gave.

    Args:
        name: "mean", the pooled mean itself; "mean+sd", the mean plus `deviations` standard
            deviations; "soft", a bound that holds with chance 1 - delta, the mean, weakened to
            mean (1 - delta) + high delta; "hoeffding" or "bootstrap", the upper end of a
            one-sided confidence interval of level 1 - delta for the mean.
        deviations: of "mean+sd", 0 or more.
        delta: of "soft", "hoeffding" and "bootstrap", from 0 to 1 ("hoeffding": above 0).
        min_support: entries that rest on fewer ratings are unknown: the largest reward.

    Raises:
        ValueError: a name is unknown or a number out of range.

    Source: Section 2.2 of the paper, items 1 to 4. Hoeffding's inequality is applied to the users
    who rated both arms, as if each had made one rating; the bootstrap draws users.
    """

    name: str = "mean"
    deviations: float = 1.0
    delta: float = 0.05
    min_support: int = 1

    def __post_init__(self) -> None:
        checks.choice("method", self.name, METHODS)
        deviations = checks.number_between(
            "deviations", self.deviations, 0, np.inf, "it multiplies the sd"
        )
        object.__setattr__(self, "deviations", deviations)
        delta = checks.number_between("delta", self.delta, 0, 1, "it is a chance")
        object.__setattr__(self, "delta", delta)
        support = checks.whole_number("min_support", self.min_support, 1)
        object.__setattr__(self, "min_support", support)
        if self.name == "hoeffding" and self.delta == 0:
            raise ValueError("delta=0 with method='hoeffding': expected a chance above 0")

    def upper(self, pooled: Pooled, bounds: tuple[float, float]) -> FloatArray:
        """Compute pseudo-rewards, upper bounds on the conditional means.

        Args:
            pooled: the training half's ratings.
            bounds: (low, high) of the rewards.

        Returns:
            float64 (K, K, R) [l, k, j], at most `high`; s_kk(r) = r.
        """
        low, high = bounds
        table = self._shifted(pooled, high, high - low, +1)
        return _finished(table, pooled, self.min_support, bounds, unknown=high)

    def lower(self, pooled: Pooled, bounds: tuple[float, float]) -> FloatArray:
        """Compute pseudo-lower bounds likewise, float64 (K, K, R), at least `low`."""
        low, high = bounds
        table = self._shifted(pooled, low, high - low, -1)
        return _finished(table, pooled, self.min_support, bounds, unknown=low)

    def _shifted(self, pooled: Pooled, end: float, size: float, sign: int) -> FloatArray:
        if self.name == "mean+sd":
            return pooled.mean + sign * self.deviations * pooled.deviation
        if self.name == "soft":
            return pooled.mean * (1 - self.delta) + end * self.delta
        if self.name == "hoeffding":
            users = np.maximum(pooled.users, 1)
            radius: FloatArray = size * np.sqrt(np.log(1 / self.delta) / (2 * users))
            return pooled.mean + sign * radius
        if self.name == "bootstrap":
            chance = 1 - self.delta if sign > 0 else self.delta
            return pooled.bootstrap_quantile(chance, _RESAMPLES, _SEED)
        return pooled.mean


@dataclass(frozen=True)
class Validation:
    """How a pseudo-reward table fares on ratings it was not made of.

    Args:
        entries: how many entries (off the diagonal) these ratings say anything about.
        violated: how many of those are below the conditional mean.
        mean_excess: by how much on average, over the violated entries; 0 if there is none.
        largest_excess: by how much at most.
    """

    entries: int
    violated: int
    mean_excess: float
    largest_excess: float

    @property
    def share(self) -> float:
        """The share of entries that are violated."""
        return self.violated / self.entries if self.entries else 0.0


def validate(
    table: FloatArray, held_out: Pooled, min_support: int = 1, lower: bool = False
) -> Validation:
    """Compare pseudo-rewards with the conditional means of held-out users.

    Args:
        table: float64 (K, K, R), pseudo-rewards [l, k, j].
        held_out: ratings by users who were not surveyed, the second part of `halves`.
        min_support: conditional means that rest on fewer ratings are not compared.
        lower: the table holds pseudo-lower bounds, which are violated from the other side.

    Raises:
        ValueError: the table has another shape than the ratings.
    """
    if table.shape != held_out.mean.shape:
        raise ValueError(f"table has shape {table.shape}: expected {held_out.mean.shape}")
    enough = held_out.number >= checks.whole_number("min_support", min_support, 1)
    compared = enough & ~np.eye(held_out.n_arms, dtype=np.bool_)[:, :, None]
    checks.finite("table", np.asarray(table))
    excess = (table - held_out.mean if lower else held_out.mean - table)[compared]
    violated = excess[excess > 1e-9]
    return Validation(
        int(compared.sum()),
        int(violated.size),
        float(violated.mean()) if violated.size else 0.0,
        float(violated.max(initial=0.0)),
    )


def _finished(
    table: FloatArray,
    pooled: Pooled,
    min_support: int,
    bounds: tuple[float, float],
    unknown: float,
) -> FloatArray:
    known = (pooled.number >= min_support) & ~np.isnan(table)
    finished: FloatArray = np.where(known, np.clip(table, *bounds), unknown)
    arms = np.arange(pooled.n_arms)
    finished[arms, arms] = pooled.support
    return finished
