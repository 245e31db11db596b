"""What a player has seen so far: the state of agents, wrappers and rendering."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from cmab_gym.arrays import AnyArray, BoolArray, Float32Array, FloatArray, IntArray
from cmab_gym.competitive import (
    best_mean,
    competitive_arms,
    required_bound,
    significant_arms,
)
from cmab_gym.features import history_features, reward_features
from cmab_gym.problem import BanditProblem
from cmab_gym.pulled_sums import DenseSums, pulled_sums
from cmab_gym.rows import pseudo_reward_rows
from cmab_gym.state import Stateful


class History(Stateful):
    """Statistics of B trials of one problem, played in lockstep.

    Stored arrays are read-only views of the current state: copy what must not change. `variances`
    and `counts` cost nothing until they are first read, which must happen before any arm has been
    pulled twice.

    Args:
        problem: what the player knows of the K arms.
        trials: B.

    Attributes:
        problem: the problem passed in.
        t: rounds so far.
        memory: arrays that a policy keeps between rounds, by name; empty at first.
        candidates: bool (B, K), the arms among which the last arm was chosen, while a policy learns
            from its reward; None for all arms.

    Examples:
        >>> from cmab_gym.models import TabularModel
        >>> problem = TabularModel([[0, 1], [1, 0]], [0.5, 0.5]).problem
        >>> history = History(problem, trials=2)
        >>> history.update(np.array([0, 1]), np.array([1.0, 0.0]))
        >>> history.pulls
        array([[1, 0],
               [0, 1]])
    """

    _changing: ClassVar[tuple[str, ...]] = (
        *("t", "memory", "candidates", "_pulls", "_sums", "_means"),
        *("_last_arm", "_last_reward", "_squares", "_counts"),
    )

    def __init__(self, problem: BanditProblem, trials: int) -> None:
        shape = (trials, problem.n_arms)
        self.problem = problem
        self.t = 0
        self.memory: dict[str, AnyArray] = {}
        self.candidates: BoolArray | None = None
        self._trial = np.arange(trials)
        self._pulls: IntArray = np.zeros(shape, dtype=np.int64)
        self._sums: FloatArray = np.zeros(shape)
        self._means: FloatArray = np.zeros(shape)
        self._last_arm: IntArray = np.full(trials, -1)
        self._last_reward: FloatArray = np.zeros(trials)
        self._squares: FloatArray | None = None  # of the rewards' distances from `_centre`
        self._counts: IntArray | None = None
        self._centre = sum(problem.reward_bounds) / 2

    @property
    def pulls(self) -> IntArray:
        """Pulls of each arm, int64 (B, K)."""
        return _read_only_view(self._pulls)

    @property
    def sums(self) -> FloatArray:
        """Sum of the rewards of each arm, float64 (B, K)."""
        return _read_only_view(self._sums)

    @property
    def means(self) -> FloatArray:
        """Mean reward of each arm, float64 (B, K); 0 where an arm has no pull."""
        return _read_only_view(self._means)

    @property
    def last_arm(self) -> IntArray:
        """The arm pulled last, int64 (B,); -1 before the first pull."""
        return _read_only_view(self._last_arm)

    @property
    def last_reward(self) -> FloatArray:
        """The reward of the last pull, float64 (B,); 0 before the first pull."""
        return _read_only_view(self._last_reward)

    @property
    def variances(self) -> FloatArray:
        """Variance of each arm's rewards (divided by n), float64 (B, K); 0 without a pull.

        Raises:
            ValueError: it is read for the first time after an arm was pulled twice.
        """
        if self._squares is None:
            self._check_first_read("variances")
            self._squares = self._pulls * (self._sums - self._centre) ** 2
        pulls = np.maximum(self._pulls, 1)
        distance = np.where(self._pulls > 0, self._means - self._centre, 0)
        variances: FloatArray = np.maximum(self._squares / pulls - distance**2, 0)
        return variances

    @property
    def counts(self) -> IntArray:
        """How often each arm gave each reward, or a reward in each bin, int64 (B, K, R).

        Raises:
            ValueError: it is read for the first time after an arm was pulled twice.
        """
        if self._counts is None:
            self._check_first_read("counts")
            counts = np.zeros((*self._pulls.shape, self.problem.reward_support.size), np.int64)
            pulled = np.nonzero(self._pulls)
            counts[(*pulled, self.problem.reward_index(self._sums[pulled]))] = 1
            self._counts = counts
        return _read_only_view(self._counts)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round.

        Args:
            arms: int64 (B,), the arm pulled in each trial.
            rewards: float64 (B,), its reward.

        Raises:
            ValueError: the problem cannot give such a reward; nothing is added.
        """
        self._add(arms, rewards, self.problem.reward_index(rewards))

    def features(self, horizon: int) -> Float32Array:
        """Return `history_features` of all trials, float32 (B, 4 K + 2).

        Args:
            horizon: rounds of an episode.
        """
        return history_features(
            self._pulls,
            self._means,
            self._last_arm,
            self._last_reward,
            self.t,
            horizon,
            self.problem.reward_bounds,
        )

    def _add(self, arms: IntArray, rewards: FloatArray, index: IntArray) -> None:
        """Add a round, given the position of each reward in the support or the bins."""
        position = self._trial * self.problem.n_arms + arms
        if self._counts is not None:
            n_rewards = self.problem.reward_support.size
            _increase(self._counts.reshape(-1), position * n_rewards + index, 1)
        if self._squares is not None:
            _increase(self._squares.reshape(-1), position, (rewards - self._centre) ** 2)
        self.t += 1
        pulls = _increase(self._pulls.reshape(-1), position, 1)
        sums = _increase(self._sums.reshape(-1), position, rewards)
        # From the sum, which is exact for stars and 0/1 rewards, so that equal means are equal to
        # the bit and their tie is broken at random. A running mean would depend on rounding.
        self._means.reshape(-1)[position] = sums / pulls
        self._last_arm[:] = arms
        self._last_reward[:] = rewards

    def _check_first_read(self, name: str) -> None:
        if self._pulls.max(initial=0) > 1:
            raise ValueError(
                f"history.{name} is read for the first time after {self.t} rounds: expected the "
                "first time before any arm is pulled twice; read it in every call of index()"
            )


class CorrelatedHistory(History):
    """A history that also sums the pseudo-rewards of the rewards seen.

    Args:
        problem: what the player knows of the K arms.
        trials: B.
        lower_bounds: also sum the problem's pseudo-lower bounds, if it has any.
        find_significant: finds the significant arms, bool (B, K), from the pulls and their sum t.
            An arm may become significant only when it is pulled.

    Attributes:
        unknown: bool (K,), the arms about which the pseudo-rewards of no other arm say anything.
    """

    _changing = ("_significant", "_best_mean", "_pseudo_sums", "_lower_sums", "_lower")

    def __init__(
        self,
        problem: BanditProblem,
        trials: int,
        lower_bounds: bool = False,
        find_significant: Callable[[IntArray, int], BoolArray] = significant_arms,
    ) -> None:
        super().__init__(problem, trials)
        self._find_significant = find_significant
        self.unknown = problem.rows.unknown
        self._significant: BoolArray | None = None  # computed once a round
        self._best_mean: FloatArray | None = None  # computed once a round
        self._pseudo_sums = pulled_sums(problem.rows, problem.reward_bounds[1], trials)
        self._lower_sums: DenseSums | None = None
        self._lower: FloatArray | None = None
        if lower_bounds and problem.pseudo_lower_bounds is not None:
            rows = pseudo_reward_rows(problem.pseudo_lower_bounds)
            self._lower_sums = DenseSums(rows, trials)
            self._lower = np.full((trials, problem.n_arms), -np.inf)

    @property
    def phi(self) -> FloatArray:
        """The empirical pseudo-rewards, float64 (B, K, K): [b, l, k] of arm l given arm k.

        [b, k, k] is the mean of arm k; infinity where arm k has no pull.

        Raises:
            ValueError: the problem's table is too large to be held whole.
        """
        return self._pseudo_sums.phi(self._pulls)

    def phi_given(self, arms: IntArray) -> FloatArray:
        """Return phi of all arms given one arm of each trial, float64 (B, K).

        Args:
            arms: int64 (B,), arms that have been pulled.
        """
        return self._pseudo_sums.phi_given(arms, self._pulls)

    def least_phi(
        self, trial: IntArray, arm: IntArray, tight: FloatArray | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Find the least phi of some arms given a significant arm: see `PulledSums.least`."""
        return self._pseudo_sums.least(trial, arm, self._pulls, self.significant, tight)

    @property
    def significant(self) -> BoolArray:
        """The arms whose averages are trusted, by default those with t/K pulls, bool (B, K)."""
        if self._significant is None:
            self._significant = self._find_significant(self._pulls, self.t)
            self._significant.flags.writeable = False
        return self._significant

    @property
    def best_mean(self) -> FloatArray:
        """The largest mean reward of a significant arm, float64 (B, 1)."""
        if self._best_mean is None:
            self._best_mean = best_mean(self._means, self.significant)
            self._best_mean.flags.writeable = False
        return self._best_mean

    @property
    def bounds(self) -> FloatArray:
        """The least phi of each arm given a significant arm, float64 (B, K)."""
        return self._pseudo_sums.bounds(self._pulls, self.significant)

    def least_sum(self, widths: FloatArray) -> FloatArray:
        """Return the least phi of each arm plus the width of the arm given, float64 (B, K).

        The phi of an arm given itself is its mean. A phi of the largest reward says nothing and is
        left out; infinity where none is left.

        Args:
            widths: float64 (B, K), of the arms that were pulled.
        """
        high = self.problem.reward_bounds[1] - self.problem.tolerance
        return self._pseudo_sums.least_sum(self._pulls, widths, high)

    @property
    def lower(self) -> FloatArray | None:
        """Lower bounds on the largest mean from the rewards of each arm, float64 (B, K).

        None if the history keeps no pseudo-lower bounds.
        """
        return None if self._lower is None else _read_only_view(self._lower)

    @property
    def required_bound(self) -> FloatArray:
        """What the bound on an arm's mean must reach so that it may be best, float64 (B, 1)."""
        return required_bound(self.best_mean, self.significant, self._lower)

    @property
    def competitive(self) -> BoolArray:
        """The arms that a C-Bandit may pull now, bool (B, K)."""
        return self.allowed(self.bounds, self.required_bound)

    def allowed(self, bounds: FloatArray, required: FloatArray) -> BoolArray:
        """Return the arms that a C-Bandit may pull, given bounds on their means, bool (B, K).

        Args:
            bounds: float64 (B, K).
            required: float64 (B, 1), of `required_bound`.
        """
        leaders = self.significant & (self._means == self.best_mean)
        return competitive_arms(bounds, required, leaders, self.unknown)

    def pseudo_reward_features(self, content: str) -> Float32Array:
        """Return pseudo-rewards, scaled by `reward_features`, float32 (B, D).

        Args:
            content: "bounds", D = K; "phi", D = K * K; or "table", the problem's, D = K * K * R.
        """
        if content == "table":
            table = self.problem.pseudo_rewards
            values: FloatArray = np.broadcast_to(table, (self._trial.size, *table.shape))
        else:
            values = self.bounds if content == "bounds" else self.phi
        return reward_features(values, self.problem.reward_bounds)

    def _add(self, arms: IntArray, rewards: FloatArray, index: IntArray) -> None:
        super()._add(arms, rewards, index)
        self._significant = None
        self._best_mean = None
        self._pseudo_sums.add(arms, index, rewards)
        if self._lower_sums is not None and self._lower is not None:
            self._lower_sums.add(arms, index, None)
            lower = self._lower_sums.phi_given(arms, self._pulls).max(axis=1)
            self._lower[self._trial, arms] = lower


def _increase(table: AnyArray, positions: IntArray, by: AnyArray | int) -> AnyArray:
    """Increase entries of a flat table in place, each once, and return their new values.

    Takes a third of the time of `table[trial, arm] += by`.
    """
    increased = table.take(positions)
    increased += by
    table[positions] = increased
    return increased


def _read_only_view(array: AnyArray) -> AnyArray:
    view = array.view()
    view.flags.writeable = False
    return view
