"""Tightened pseudo-rewards: all entries of a table taken together, by linear programming."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem

Relaxation = Literal["auto", "pairs", "all"]
RELAXATIONS = ("auto", "pairs", "all")
_ALL_VARIABLES = 400  # up to here a programme over all arms takes some 10 ms
_MOST_REWARDS = 20  # a programme of two arms then has 400 variables
_SPREAD = 1e-3  # probability given to every reward, so that no entry of a vector is left open
_PRICE = 1e4  # of a slack, in ranges of the reward: no vector is steeper
_SLACK = 1e-7  # a slack up to here is the solver's rounding
_GAIN = 1e-6  # what a vector must gain, in ranges of the reward: less is the solver's rounding


def tighten(problem: BanditProblem, relaxation: Relaxation = "auto") -> Tightening:
    """Prepare the tightened pseudo-rewards of a problem; they are computed where asked for.

    Args:
        problem: what a player knows; its rewards are finitely many.
        relaxation: which joint distributions a programme ranges over. "pairs": those of the two
            arms in question. "all": a joint distribution of every pair of arms, consistent in the
            distributions of the single arms; tighter, since it follows chains of arms, but
            affordable for few arms only. "auto": "all" where that is a matter of milliseconds.

    Raises:
        ValueError: the relaxation is unknown, or the rewards are continuous.
    """
    return Tightening(problem, relaxation)


def can_be_tightened(problem: BanditProblem) -> bool:
    """Tell whether programmes may bound means better than the table, in reasonable time.

    That takes two arms, and from 2 to 20 different rewards. Where rewards are in bins the mean
    must be taken at the upper edges of the bins and the constraints at the lower ones, which costs
    more than the other constraints gain (on every latent preset, at 10 to 40 bins).
    """
    finite = problem.reward_edges is None and 2 <= problem.reward_support.size <= _MOST_REWARDS
    return finite and problem.n_arms > 1


class Tightening:
    """Vectors of tightened pseudo-rewards, for every marginal of an arm that is asked for.

    The mean of arm l is at most the value of a linear programme: the largest mean of l over all
    distributions that have arm k's marginal and keep every pseudo-reward, not s_{l,k} alone. Its
    dual solution is a vector v over arm k's rewards with E[v(R_k)] >= mean of l, whatever arm k's
    marginal: a pseudo-reward on average, which the C-Bandit uses like the plain one. It depends on
    the marginal only in how tight it is, and need not lie within the reward bounds.

    Attributes:
        relaxation: "pairs" or "all".
        solved: programmes solved, one for each pair (l, k) and marginal.
        infeasible: those without a solution: table and marginal contradict each other, by noise
            or because an entry is no upper bound.

    Source: the paper leaves this open (appendix on lower bounds); by duality of linear programmes.
    """

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
        self._programmes: dict[int, _Programme] = {}

    def vectors(self, given: int, counts: IntArray) -> FloatArray:
        """Return tightened pseudo-rewards of all arms, for the marginal that one arm has shown.

        Args:
            given: k, the arm whose rewards bound the others' means.
            counts: int64 (R,), how often arm k gave each reward; some are positive.

        Returns:
            float64 (K, R), [l, j]; those of the table where the programme gains nothing or is
            infeasible. They are solved for the marginal rounded to within its own sampling noise,
            so that few programmes serve many trials.
        """
        rounded = round_marginal(counts)
        if (given, rounded) not in self._vectors:
            self._vectors[given, rounded] = self._solve(given, np.array(rounded) / sum(rounded))
        return self._vectors[given, rounded]

    def bounds(self, given: int, marginal: FloatArray) -> FloatArray:
        """Compute the largest mean of every arm, given the marginal of one.

        Args:
            given: k, the arm.
            marginal: float64 (R,), probabilities of its rewards.

        Returns:
            float64 (K,), the values of the programmes, for arm k its mean; -inf where infeasible.
        """
        vectors, feasible = self._programme(given).solve(marginal)
        return np.where(feasible, vectors @ marginal, -np.inf)

    def _solve(self, given: int, marginal: FloatArray) -> FloatArray:
        spread = (1 - _SPREAD) * marginal + _SPREAD / marginal.size
        vectors, feasible = self._programme(given).solve(spread)
        self.solved += feasible.size - 1
        self.infeasible += feasible.size - int(feasible.sum())
        plain = self.problem.pseudo_rewards[:, given]
        gain = (plain - vectors) @ spread
        better = feasible & (gain > _GAIN * self.problem.reward_range)
        return np.where(better[:, None], vectors, plain)

    def _programme(self, given: int) -> _Programme:
        if given not in self._programmes:
            self._programmes[given] = _Programme.of(self.problem, given, self.relaxation)
        return self._programmes[given]


def round_marginal(counts: IntArray) -> tuple[int, ...]:
    """Round an empirical distribution to about its sampling noise, the coarser the more rewards.

    Args:
        counts: int64 (R,), R at least 2, some positive.

    Returns:
        R whole numbers; each as a share of their sum is within 1 / sum of the same share of the
        counts. The sum is the power of 2 next above 2^(3 - R) sqrt(n) for n counts in all: so many
        more distributions have R rewards that finer ones would not be met by two trials.
    """
    total = int(counts.sum())
    parts = 1 << max(0, 3 - counts.size + math.ceil(math.log2(total) / 2))
    scaled = counts * parts
    rounded = scaled // total
    left = parts - int(rounded.sum())
    # The largest remainders are rounded up, the first of equal ones first.
    rounded[np.argsort(-(scaled % total), kind="stable")[:left]] += 1
    return tuple(rounded.tolist())


@dataclass(frozen=True, eq=False)
class _Programme:
    """The linear programmes of all other arms given one, side by side as a single one.

    Variables of each, all at least 0: the marginals of its arms; for each pair of them the joint
    distribution [i, j], i the reward of the first; and a slack, by which every pseudo-reward may
    be exceeded at a price so high that this is done only where it must be.
    """

    given: int
    rewards: FloatArray
    means: FloatArray  # what to maximise
    known: IntArray  # (K - 1, R), the variables that are arm k's marginal
    slack: IntArray  # (K - 1,)
    consistent: Any  # sparse; times the variables it is 0
    bounded: Any  # sparse; times the variables it is at most 0

    @classmethod
    def of(cls, problem: BanditProblem, given: int, relaxation: Relaxation) -> _Programme:
        """Write the programmes of a problem given arm k."""
        from scipy.sparse import block_diag, coo_array

        n_arms, size = problem.n_arms, problem.reward_support.size
        others = np.delete(np.arange(n_arms), given)
        if relaxation == "all":
            arms = np.broadcast_to(np.arange(n_arms), (others.size, n_arms))
        else:
            arms = np.column_stack([others, np.full(others.size, given)])
        pattern = _Pattern.of(arms.shape[1], size)
        first = np.arange(others.size) * pattern.n_variables
        place = {"mean": (arms == others[:, None]), "known": (arms == given)}
        start = {name: first + size * where.argmax(axis=1) for name, where in place.items()}
        each = np.arange(size)
        slack = first + pattern.n_variables - 1
        means = np.zeros(others.size * pattern.n_variables)
        means[start["mean"][:, None] + each] = problem.reward_support
        means[slack] = -_PRICE * problem.reward_range
        # What E[R_a - s_ab(j); R_b = j] <= 0 multiplies the chance of [i, j] by; and the slack.
        table = problem.pseudo_rewards
        pseudo = table[arms[:, pattern.of_arm], arms[:, pattern.given_arm], pattern.given_reward]
        data = problem.reward_support[pattern.of_reward] - pseudo
        data = np.concatenate([data, np.full((others.size, pattern.n_bounded), -1.0)], axis=1)
        block = np.arange(others.size)[:, None]
        rows = block * pattern.n_bounded + np.append(pattern.row, np.arange(pattern.n_bounded))
        columns = first[:, None] + np.append(
            pattern.column, np.full(pattern.n_bounded, pattern.n_variables - 1)
        )
        shape = (others.size * pattern.n_bounded, means.size)
        bounded = coo_array((data.ravel(), (rows.ravel(), columns.ravel())), shape)
        return cls(
            given,
            problem.reward_support,
            means,
            start["known"][:, None] + each,
            slack,
            block_diag([pattern.consistent] * others.size, format="csr"),
            bounded.tocsr(),
        )

    def solve(self, marginal: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Maximise the mean of every other arm.

        Returns:
            The dual vectors, float64 (K, R), for arm k itself its rewards; and which programmes
            are feasible, bool (K,).
        """
        from scipy.optimize import linprog

        limits = np.zeros((self.means.size, 2))
        limits[:, 1] = np.inf
        limits[self.known] = marginal[:, None]
        solution = linprog(
            -self.means,
            A_ub=self.bounded,
            b_ub=np.zeros(self.bounded.shape[0]),
            A_eq=self.consistent,
            b_eq=np.zeros(self.consistent.shape[0]),
            bounds=limits,
            method="highs",
        )
        if solution.status != 0:
            raise RuntimeError(f"HiGHS: {solution.message}")
        duals = -(solution.lower.marginals + solution.upper.marginals)[self.known]
        vectors = np.insert(duals, self.given, self.rewards, axis=0)
        return vectors, np.insert(solution.x[self.slack] <= _SLACK, self.given, True)


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Where the coefficients of one programme stand, the same for any arms.

    Row `row` of the pseudo-reward constraints multiplies variable `column` by the reward number
    `of_reward` of the arm number `of_arm` minus its pseudo-reward where the arm number `given_arm`
    gives the reward number `given_reward`.
    """

    n_variables: int
    n_bounded: int
    consistent: Any
    row: IntArray
    column: IntArray
    of_arm: IntArray
    of_reward: IntArray
    given_arm: IntArray
    given_reward: IntArray

    @classmethod
    def of(cls, n_arms: int, size: int) -> _Pattern:
        """Number the variables of some arms with so many rewards each."""
        from scipy.sparse import coo_array

        pairs = np.array(list(combinations(range(n_arms), 2)))
        n_pairs, n_marginals = len(pairs), n_arms * size
        pair, i, j = (axis.ravel() for axis in np.indices((n_pairs, size, size)))
        joint = n_marginals + np.arange(pair.size)
        first, second = pairs[pair].T
        # Each joint distribution sums to the marginals of its two arms.
        row_first, row_second = (2 * pair) * size + i, (2 * pair + 1) * size + j
        of_pair = np.repeat(pairs.ravel(), size) * size + np.tile(np.arange(size), 2 * n_pairs)
        n_rows = 2 * n_pairs * size
        n_variables = n_marginals + joint.size + 1
        consistent = coo_array(
            (
                np.concatenate([np.ones(2 * joint.size), -np.ones(n_rows)]),
                (
                    np.concatenate([row_first, row_second, np.arange(n_rows)]),
                    np.concatenate([joint, joint, of_pair]),
                ),
            ),
            (n_rows, n_variables),
        )
        return cls(
            n_variables,
            n_rows,
            consistent,
            np.concatenate([row_second, row_first]),  # given the second's reward, or the first's
            np.concatenate([joint, joint]),
            np.concatenate([first, second]),
            np.concatenate([i, j]),
            np.concatenate([second, first]),
            np.concatenate([j, i]),
        )
