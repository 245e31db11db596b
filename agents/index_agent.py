"""Index policies, and the agent that plays the arm of the largest index."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.agents import fast
from cmab_gym.agents.api import TrialError
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams, as_streams

# What compiled loops read and change: pulls, sums and means; the `kept` of `LeastBounds`; and all
# that a `CBandit` knows, see `compiled.play_rounds`.
Counts: TypeAlias = tuple[IntArray, FloatArray, FloatArray]
Kept: TypeAlias = tuple[FloatArray, IntArray, BoolArray]
Known: TypeAlias = tuple[FloatArray, FloatArray, Kept, BoolArray]


@runtime_checkable
class IndexPolicy(Protocol):
    """A rule that gives every arm an index; the arm of the largest one is pulled."""

    def index(
        self,
        pulls: IntArray,
        means: FloatArray,
        t: int,
        problem: BanditProblem,
        rng: TrialStreams,
    ) -> FloatArray:
        """Compute the index of every arm in every trial.

        Args:
            pulls: int64 (B, K), how often each arm was pulled, 1 or more.
            means: float64 (B, K), the mean reward of each arm so far.
            t: the number of pulls made so far in each trial, the sum of `pulls`.
            problem: what the player knows.
            rng: one random stream per trial.

        Returns:
            float64 (B, K), without NaN.
        """


class IndexAgent:
    """Pulls every arm once, in random order, and then the arm of the largest index.

    Args:
        policy: the rule.

    Attributes:
        pulls: int64 (B, K), pulls of each arm so far.
        means: float64 (B, K), mean rewards so far; 0 where an arm has no pull.
        t: pulls made so far in each trial.
    """

    problem: BanditProblem
    pulls: IntArray
    means: FloatArray
    t: int
    _sums: FloatArray

    def __init__(self, policy: IndexPolicy) -> None:
        if isinstance(policy, type | str) or not callable(getattr(policy, "index", None)):
            raise ValueError(
                f"{type(self).__name__}({policy!r}): expected an index policy, such as UCB(): an "
                "instance of a class with index()"
            )
        self.policy = policy

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy!r})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`; rng may be a seed or a NumPy generator."""
        self.problem = problem
        self.rng = as_streams(rng, trials)
        self.pulls = np.zeros((trials, problem.n_arms), dtype=np.int64)
        self.means = np.zeros((trials, problem.n_arms))
        self._sums = np.zeros((trials, problem.n_arms))
        self.t = 0
        self._trial = np.arange(trials)
        self._compiled = _is_compiled()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on where numba may not be what it was; the forms share their state."""
        self.__dict__.update(state)
        if "_compiled" in state:
            self._compiled = _is_compiled()

    def compiled_state(self) -> tuple[Counts, Known | None] | None:
        """Return what compiled rounds read and change; None: they can't stand for this agent."""
        is_own = type(self) is IndexAgent and self._compiled
        return ((self.pulls, self._sums, self.means), None) if is_own else None

    def act(self) -> IntArray:
        """Choose the arm of the largest index, ties broken at random, int64 (B,)."""
        allowed: BoolArray | None
        if self.t < self.problem.n_arms:
            index, allowed = np.zeros(self.pulls.shape), self.pulls == 0
        else:
            index, allowed = self._checked_index(), self.allowed_arms()
            if allowed is not None and np.shape(allowed) != index.shape:
                allowed = np.broadcast_to(allowed, index.shape)  # the same in all trials
        uniform = self.rng.uniform()
        if self._compiled:
            arms: IntArray
            arms, valid = fast.kernels().argmax_with_random_ties(index, allowed, uniform)
            if valid:
                return arms
        if allowed is not None:
            index = np.where(allowed, index, -np.inf)
        return argmax_with_random_ties(index, uniform)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Count the pulls and update the means."""
        self._count(*self._checked_pull(arms, rewards))

    def _checked_pull(self, arms: IntArray, rewards: FloatArray) -> tuple[IntArray, FloatArray]:
        trials, n_arms = self.pulls.shape
        rewards = np.asarray(rewards, dtype=np.float64)
        if rewards.shape != (trials,):
            raise ValueError(f"rewards have shape {rewards.shape}: expected ({trials},)")
        return checks.arms_in_range(arms, (trials,), n_arms), rewards

    def _count(self, arms: IntArray, rewards: FloatArray) -> None:
        self.t += 1
        if self._compiled:
            fast.kernels().count_pulls(self.pulls, self._sums, self.means, arms, rewards)
            return
        pulled = (self._trial, arms)
        self.pulls[pulled] += 1
        self._sums[pulled] += rewards
        # From the sum, which is exact for stars and 0/1 rewards: equal means are then equal to the
        # bit, whatever the order of the rewards, and their tie is broken at random. A running mean
        # would let rounding break it, differently with each version of NumPy's logarithm.
        self.means[pulled] = self._sums[pulled] / self.pulls[pulled]

    def _checked_index(self) -> FloatArray:
        pulls, means = self.pulls.view(), self.means.view()
        pulls.flags.writeable = means.flags.writeable = False  # a policy only looks
        index = np.asarray(
            self.policy.index(pulls, means, self.t, self.problem, self.rng), dtype=np.float64
        )
        if index.shape != pulls.shape:
            raise ValueError(
                f"{type(self.policy).__name__}.index() returned the shape {index.shape}: expected "
                f"{pulls.shape}, one number for each trial and arm"
            )
        return index

    def allowed_arms(self) -> BoolArray | None:
        """Return the arms that may be played, bool (B, K); None allows all."""
        return None


def _is_compiled() -> bool:
    return fast.is_wanted() and fast.kernels() is not None


def argmax_with_random_ties(index: FloatArray, uniform: FloatArray) -> IntArray:
    """Find the arm of the largest index in each row, a random one where several have it.

    Args:
        index: float64 (B, K).
        uniform: float64 (B,), uniform numbers in [0, 1) that decide the ties.

    Returns:
        int64 (B,).

    Raises:
        TrialError: an index is NaN.
    """
    best = index.max(axis=1, keepdims=True)
    if np.isnan(best).any():
        trial = int(np.flatnonzero(np.isnan(best))[0])
        arm = int(np.flatnonzero(np.isnan(index[trial]))[0])
        raise TrialError(
            trial, f"the index of arm {arm} is nan: expected numbers; check the policy"
        )
    largest = index == best
    arms: IntArray = largest.argmax(axis=1)
    if np.count_nonzero(largest) > arms.size:
        last = index.shape[1] - 1 - largest[:, ::-1].argmax(axis=1)
        tied = np.flatnonzero(last > arms)
        among = largest[tied]
        chosen = (uniform[tied] * among.sum(axis=1)).astype(np.int64)
        arms[tied] = (among.cumsum(axis=1) == chosen[:, None] + 1).argmax(axis=1)
    return arms
