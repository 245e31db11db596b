"""`Method`: how pseudo-rewards are computed from pooled ratings (Section 2.2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.envs_data.surveys.pooled import Pooled, Statistics
from cmab_gym.pseudo_rewards import set_own_rewards

METHODS = ("mean", "mean+sd", "soft", "hoeffding", "bootstrap")
_RESAMPLES, _SEED = 200, 0


@dataclass(frozen=True)
class Method:
    """How upper bounds are computed from the ratings that users gave.

    Args:
        name: "mean", the pooled mean; "mean+sd", the mean plus `deviations` standard deviations;
            "soft", the mean weakened to mean (1 - delta) + high delta, a bound that holds with
            probability 1 - delta; "hoeffding" or "bootstrap", the upper end of a one-sided
            confidence interval for the mean, of level 1 - delta.
        deviations: for "mean+sd", 0 or more.
        delta: for "soft", "hoeffding" and "bootstrap", from 0 to 1 ("hoeffding": above 0).
        min_support: entries with fewer ratings are unknown; they become the largest reward.

    Raises:
        ValueError: the name is unknown or a number is out of range.

    Source: Section 2.2 of the paper, items 1 to 4. Hoeffding's inequality is applied to the users
    who rated both arms, as if each had made one rating; the bootstrap resamples users.
    """

    name: str = "mean"
    deviations: float = 1.0
    delta: float = 0.05
    min_support: int = 1

    def __post_init__(self) -> None:
        checks.choice("method", self.name, METHODS)
        multiple = "it multiplies the standard deviation"
        checked = {
            "deviations": checks.number_between("deviations", self.deviations, 0, np.inf, multiple),
            "delta": checks.number_between("delta", self.delta, 0, 1, "it is a probability"),
            "min_support": checks.whole_number("min_support", self.min_support, 1),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.name == "hoeffding" and self.delta == 0:
            raise ValueError("delta=0 with method='hoeffding': expected a probability above 0")

    def upper(self, pooled: Pooled, bounds: tuple[float, float]) -> FloatArray:
        """Compute pseudo-rewards: upper bounds on the conditional means.

        Args:
            pooled: the ratings of the training users.
            bounds: (low, high) of the rewards.

        Returns:
            float64 (K, K, R) [l, k, j], at most `high`; s_kk(r) = r.
        """
        table = self.of_entries(pooled, bounds)
        set_own_rewards(table, pooled.support)
        return table

    def of_entries(self, pooled: Statistics, bounds: tuple[float, float]) -> FloatArray:
        """Compute upper bounds from the statistics of some entries, in their shape.

        Args:
            pooled: the statistics of the entries.
            bounds: (low, high) of the rewards. Entries without enough ratings are `high`.
        """
        low, high = bounds
        raised = self._raised_means(pooled, high - low, high)
        known = (pooled.n_ratings >= self.min_support) & ~np.isnan(raised)
        upper: FloatArray = np.where(known, np.clip(raised, low, high), high)
        return upper

    def _raised_means(self, pooled: Statistics, reward_range: float, high: float) -> FloatArray:
        if self.name == "mean+sd":
            return pooled.mean + self.deviations * pooled.deviation
        if self.name == "soft":
            return pooled.mean * (1 - self.delta) + high * self.delta
        if self.name == "hoeffding":
            n_users = np.maximum(pooled.n_raters, 1)
            radius: FloatArray = reward_range * np.sqrt(np.log(1 / self.delta) / (2 * n_users))
            return pooled.mean + radius
        if self.name == "bootstrap":
            return pooled.bootstrap_quantile(1 - self.delta, _RESAMPLES, _SEED)
        return pooled.mean


@dataclass(frozen=True)
class Validation:
    """How well a pseudo-reward table bounds the conditional means of held-out ratings.

    Args:
        entries: the number of entries (off the diagonal) that can be compared.
        violated: the number of those that are below the conditional mean.
        mean_excess: the average excess of the mean over violated entries; 0 if there are none.
        largest_excess: the largest excess; 0 if there is none.
    """

    entries: int
    violated: int
    mean_excess: float
    largest_excess: float

    @property
    def share(self) -> float:
        """The share of entries that are violated."""
        return self.violated / self.entries if self.entries else 0.0


def validate(table: ArrayLike, held_out: Pooled, min_support: int = 1) -> Validation:
    """Compare pseudo-rewards with the conditional means of held-out users.

    Args:
        table: float64 (K, K, R), pseudo-rewards [l, k, j].
        held_out: ratings of users who were not surveyed, the second part of `split_ratings`.
        min_support: conditional means of fewer ratings are not compared.

    Raises:
        ValueError: the shape of the table does not fit the ratings, or an entry is not finite.
    """
    table = checks.numbers("table", table)
    if table.shape != held_out.mean.shape:
        raise ValueError(f"table has shape {table.shape}: expected {held_out.mean.shape}")
    enough = held_out.n_ratings >= checks.whole_number("min_support", min_support, 1)
    compared = enough & ~np.eye(held_out.n_arms, dtype=np.bool_)[:, :, None]
    checks.finite("table", table)
    excess = (held_out.mean - table)[compared]
    violated = excess[excess > 1e-9]
    return Validation(
        int(compared.sum()),
        int(violated.size),
        float(violated.mean()) if violated.size else 0.0,
        float(violated.max(initial=0.0)),
    )
