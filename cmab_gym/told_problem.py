"""`ToldProblem`: a problem whose player is told more than players of a bandit may know."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.problem import BanditProblem

# What the attribute `told` of an agent's class asks an evaluation for, in addition to the problem.
TOLD = {
    "means": "the mean reward of each arm",
    "outcomes": "the rewards of all arms in every round",
    "source": "the reward of each arm for each value of the hidden source",
}


class ToldProblem(BanditProblem):
    """A problem whose player is told more, for agents that others are compared with.

    Args:
        problem: what an ordinary player knows.
        means: float64 (K,), the mean reward of each arm; None if the player is not told.
        source: float64 (2, K, X), the lowest and the highest reward of each arm for each of X
            values of the hidden source; None if the player is not told.

    Raises:
        ValueError: there is not one mean, or not one pair of rows, for each arm; or a lowest reward
            is above the highest.
    """

    means: FloatArray | None
    source: FloatArray | None

    def __init__(
        self,
        problem: BanditProblem,
        means: ArrayLike | None = None,
        source: ArrayLike | None = None,
    ) -> None:
        super().__init__(problem.rows, *problem._others(), horizon=problem.horizon)
        for name, values in (("means", means), ("source", source)):
            array = None if values is None else checks.read_only(name, values)
            object.__setattr__(self, name, array)
        if self.means is not None and self.means.shape != (self.n_arms,):
            raise ValueError(
                f"means have shape {self.means.shape}: expected ({self.n_arms},), one for each arm"
            )
        if self.source is not None:
            self._check_source(self.source)

    def __reduce__(self) -> tuple[Any, ...]:
        plain, arguments = super().__reduce__()
        return type(self), (plain(*arguments), self.means, self.source)

    def with_horizon(self, horizon: int) -> ToldProblem:
        """Return this problem for a player who also knows how many rounds a trial has."""
        return ToldProblem(super().with_horizon(horizon), self.means, self.source)

    def _check_source(self, source: FloatArray) -> None:
        if source.ndim != 3 or source.shape[:2] != (2, self.n_arms) or not source.size:
            raise ValueError(
                f"source has shape {source.shape}: expected (2, {self.n_arms}, X), the lowest and "
                "the highest reward of each arm for each value of the hidden source"
            )
        if not (source[0] <= source[1]).all():  # NaN is not
            raise ValueError("source: expected lowest rewards that are not above the highest ones")
