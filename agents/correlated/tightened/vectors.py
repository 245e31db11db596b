"""`TightenedVectors`: pseudo-rewards that follow from all entries of a table."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.correlated.tightened.all_arms import AllArmsPrograms
from cmab_gym.agents.correlated.tightened.pairs import PairPrograms
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem
from cmab_gym.state import Stateful

Relaxation = Literal["auto", "pairs", "all"]
RELAXATIONS = ("auto", "pairs", "all")
_ALL_VARIABLES = 400  # a linear program over all arms of this size takes about 10 ms
_MOST_REWARDS = 20  # a linear program of two arms then has 400 variables
_SPREAD = 1e-3  # probability spread over all rewards, so that each entry of a vector is determined
_GAIN = 1e-6  # the least gain of a vector, in ranges of the reward: less is the solver's rounding


def can_be_tightened(problem: BanditProblem) -> bool:
    """Return whether linear programs can bound means better than the table, in reasonable time.

    They need two arms or more, and from 2 to 20 different rewards. With rewards in bins, the mean
    must be taken at the upper edges of the bins and the constraints at the lower ones, which costs
    more than the other constraints gain (on every latent preset, with 10 to 40 bins).
    """
    finite = problem.reward_edges is None and 2 <= problem.reward_support.size <= _MOST_REWARDS
    return finite and problem.n_arms > 1


class TightenedVectors(Stateful):
    """Tightened pseudo-rewards of a problem, computed for each marginal when it is first needed.

    The mean of arm l is at most the value of a linear program: the largest mean of l over all
    distributions that have arm k's marginal and satisfy every pseudo-reward, not only s_{l,k}. Its
    dual solution is a vector v over arm k's rewards, with E[v(R_k)] >= mean of l for every marginal
    of arm k. So v is a pseudo-reward on average, and a C-Bandit uses it like the plain one. The
    marginal determines only how tight v is. Its entries need not lie within the reward bounds.

    Args:
        problem: two arms or more, with 2 to 20 rewards without bins.
        relaxation: the joint distributions in a linear program. "pairs": that of the two arms.
            "all": those of all pairs of arms, with consistent marginals; this is tighter, since it
            follows chains of arms, but fast for few arms only. "auto": "all" if it takes
            milliseconds, else "pairs".

    Attributes:
        relaxation: "pairs" or "all".
        solved: count of linear programs solved, one for each pair (l, k) and marginal.
        infeasible: count of those without a solution: table and marginal contradict each other,
            because of noise or because an entry is not an upper bound.

    Raises:
        ValueError: the relaxation is unknown, or the problem cannot be tightened.

    Source: duality of linear programs; the paper leaves this open (appendix on lower bounds).
    """

    _changing = ("solved", "infeasible", "_vectors")

    def __init__(self, problem: BanditProblem, relaxation: Relaxation = "auto") -> None:
        checks.choice("relaxation", relaxation, RELAXATIONS)
        if not can_be_tightened(problem):
            raise ValueError(
                f"{problem.n_arms} arms and rewards "
                f"{'in bins' if problem.reward_edges is not None else problem.reward_support}: "
                f"expected two arms or more, and 2 to {_MOST_REWARDS} rewards without bins"
            )
        self.problem = problem
        self.relaxation = relaxation
        if relaxation == "auto":
            size = problem.n_arms * (problem.n_arms - 1) // 2 * problem.reward_support.size**2
            self.relaxation = "all" if size <= _ALL_VARIABLES else "pairs"
        self.solved = 0
        self.infeasible = 0
        self._vectors: dict[tuple[int, tuple[int, ...]], FloatArray] = {}
        kind = AllArmsPrograms if self.relaxation == "all" else PairPrograms
        self._programs: AllArmsPrograms | PairPrograms = kind(problem)

    def vectors(self, given: int, counts: IntArray) -> FloatArray:
        """Return tightened pseudo-rewards of all arms given the rewards of one.

        The marginal is rounded to within its sampling noise, so that few linear programs serve many
        trials.

        Args:
            given: k, the arm that gave the rewards.
            counts: int64 (R,), how often arm k gave each reward; some are positive.

        Returns:
            float64 (K, R), [l, j]; those of the table where the linear program gains nothing or is
            infeasible.
        """
        vectors: FloatArray = self.of_each(np.array([given]), counts[None])[0]
        return vectors

    def of_each(self, given: IntArray, counts: IntArray) -> FloatArray:
        """Return what `vectors` returns for each of n arms; their programs are solved together.

        Args:
            given: int64 (n,).
            counts: int64 (n, R).

        Returns:
            float64 (n, K, R).
        """
        keys = list(zip(given.tolist(), map(tuple, round_marginals(counts).tolist()), strict=True))
        missing = [key for key in dict.fromkeys(keys) if key not in self._vectors]
        if missing:
            arms, marginals = zip(*missing, strict=True)
            parts = np.array(marginals, dtype=np.float64)
            solved = self._solve(np.array(arms), parts / parts.sum(axis=1, keepdims=True))
            self._vectors.update(zip(missing, solved, strict=True))
        return np.stack([self._vectors[key] for key in keys])

    def bounds(self, given: int, marginal: FloatArray) -> FloatArray:
        """Compute the largest mean of every arm given the marginal of one.

        Args:
            given: k, the arm.
            marginal: float64 (R,), probabilities of its rewards.

        Returns:
            float64 (K,), the values of the linear programs, for arm k its mean; -inf where
            infeasible.
        """
        vectors, feasible = self._programs.solve(np.array([given]), marginal[None])
        return np.where(feasible[0], vectors[0] @ marginal, -np.inf)

    def _solve(self, given: IntArray, marginals: FloatArray) -> FloatArray:
        """Return the vectors of all arms for n arms and marginals, float64 (n, K, R)."""
        spread = (1 - _SPREAD) * marginals + _SPREAD / marginals.shape[1]
        vectors, feasible = self._programs.solve(given, spread)
        self.solved += feasible.size - len(marginals)
        self.infeasible += feasible.size - int(feasible.sum())
        plain = self.problem.pseudo_rewards[:, given].swapaxes(0, 1)
        gain = np.einsum("nlr,nr->nl", plain - vectors, spread)
        better = feasible & (gain > _GAIN * self.problem.reward_range)
        return np.where(better[:, :, None], vectors, plain)


def round_marginals(counts: IntArray) -> IntArray:
    """Round empirical distributions to about their sampling noise, more coarsely for more rewards.

    Args:
        counts: int64 (n, R), R at least 2, some of each row positive.

    Returns:
        int64 (n, R); each number as a share of the sum of its row is within 1 / sum of the same
        share of the counts. The sum is the power of 2 next above 2^(3 - R) sqrt(N) for N counts in
        all: there are so many more distributions of R rewards that two trials would not share a
        finer one.
    """
    total = counts.sum(axis=1, keepdims=True)
    half_bits = np.searchsorted(4 ** np.arange(31), total)  # log2(total) / 2, rounded up
    parts = 1 << np.maximum(0, 3 - counts.shape[1] + half_bits)
    scaled = counts * parts
    rounded: IntArray = scaled // total
    left = parts - rounded.sum(axis=1, keepdims=True)
    # The largest remainders are rounded up, the first of equal ones first.
    order = np.argsort(-(scaled % total), axis=1, kind="stable")
    rounded[np.arange(len(counts))[:, None], order] += np.arange(counts.shape[1]) < left
    return rounded
