"""`AllArmsPrograms`: the largest mean of each arm, given the table and the marginal of one arm."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cmab_gym.agents.correlated.tightened.pairs import LEAST_SLACK, SLACK_PRICE
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem


class AllArmsPrograms:
    """The linear programs of all arms given any arm.

    Args:
        problem: the problem.
    """

    def __init__(self, problem: BanditProblem) -> None:
        self._problem = problem
        self._programs: dict[int, _Programs] = {}

    def solve(self, given: IntArray, marginals: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Maximise the mean of every other arm for each of some arms and marginals.

        Args:
            given: int64 (n,), arms k.
            marginals: float64 (n, R), probabilities of their rewards.

        Returns:
            The dual solutions, float64 (n, K, R), with the rewards in row k; and which programs are
            feasible, bool (n, K).
        """
        pairs = zip(given.tolist(), marginals, strict=True)
        solved = [self._given(arm).solve(marginal) for arm, marginal in pairs]
        vectors, feasible = zip(*solved, strict=True)
        return np.stack(vectors), np.stack(feasible)

    def _given(self, arm: int) -> _Programs:
        if arm not in self._programs:
            self._programs[arm] = _Programs.of(self._problem, arm)
        return self._programs[arm]


@dataclass(frozen=True, eq=False)
class _Programs:
    """The linear programs of all other arms given arm k, solved together as one.

    Each program maximises the mean of one arm. Its variables, all at least 0, are the marginals of
    all arms, with that of arm k fixed; the joint distribution of every pair of arms; and a slack,
    by which pseudo-rewards may be exceeded. The slack is so expensive that it is 0 wherever the
    program is feasible without it.
    """

    given: int
    rewards: FloatArray
    objective: FloatArray
    known: IntArray  # (K - 1, R), the variables of arm k's marginal
    slack: IntArray  # (K - 1,), the variables of the slacks
    consistent: Any  # sparse; its product with the variables is 0
    bounded: Any  # sparse; its product with the variables is at most 0

    @classmethod
    def of(cls, problem: BanditProblem, given: int) -> _Programs:
        """Write the programs of a problem.

        Args:
            problem: the problem.
            given: k, the arm whose marginal is known.
        """
        n_arms, rewards = problem.n_arms, problem.reward_support
        others = np.delete(np.arange(n_arms), given)
        arms = np.tile(np.arange(n_arms), (others.size, 1))
        rows = _Rows.of(arms.shape[1], rewards.size)
        first = rows.n_variables * np.arange(others.size)[:, None]

        def marginal_of(arm: int | IntArray) -> IntArray:
            position = (arms == arm).argmax(axis=1)[:, None]
            variables: IntArray = first + rewards.size * position + np.arange(rewards.size)
            return variables

        slack = rows.n_variables - 1
        objective = np.zeros(others.size * rows.n_variables)
        objective[marginal_of(others[:, None])] = rewards
        objective[first + slack] = -SLACK_PRICE * problem.reward_range
        # E[R_other - s; R_given = r] is at most the slack.
        s = problem.pseudo_rewards[arms[:, rows.other], arms[:, rows.given], rows.reward]
        excess = rewards - s[:, :, None]
        return cls(
            given,
            rewards,
            objective,
            known=marginal_of(given),
            slack=(first + slack)[:, 0],
            consistent=rows.matrix(np.ones_like(excess), rows.given * rewards.size + rows.reward),
            bounded=rows.matrix(excess, np.full(rows.given.size, slack)),
        )

    def solve(self, marginal: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the dual solutions, (K, R), and which programs are feasible, (K,)."""
        from scipy.optimize import linprog

        limits = np.zeros((self.objective.size, 2))
        limits[:, 1] = np.inf
        limits[self.known] = marginal[:, None]
        solution = linprog(
            -self.objective,
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
        return vectors, np.insert(solution.x[self.slack] <= LEAST_SLACK, self.given, True)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of one program's constraints, with the positions of its arms instead of the arms.

    There is a row for each reward of each arm of each pair of arms. It concerns the joint
    probabilities of this reward of the arm ("given") with all rewards of the other arm.
    """

    n_variables: int
    joint: IntArray  # (rows, R), the variables of these probabilities
    given: IntArray  # (rows,)
    other: IntArray  # (rows,)
    reward: IntArray  # (rows,), the index of the given arm's reward

    @classmethod
    def of(cls, n_arms: int, n_rewards: int) -> _Rows:
        """Number the variables: marginals, then joint distributions, then the slack."""
        pairs = np.array(list(combinations(range(n_arms), 2)))
        n_marginals, n_joint = n_arms * n_rewards, len(pairs) * n_rewards**2
        joint = n_marginals + np.arange(n_joint).reshape(-1, n_rewards, n_rewards)
        both = np.stack([joint, joint.swapaxes(1, 2)], axis=1)  # given the first, or the second
        return cls(
            n_marginals + n_joint + 1,
            both.reshape(-1, n_rewards),
            np.repeat(pairs.ravel(), n_rewards),
            np.repeat(pairs[:, ::-1].ravel(), n_rewards),
            np.tile(np.arange(n_rewards), pairs.size),
        )

    def matrix(self, weights: FloatArray, subtracted: IntArray) -> Any:
        """Return the rows of all programs: weighted joint probabilities minus one variable.

        Args:
            weights: float64 (programs, rows, R).
            subtracted: int64 (rows,), the variable.

        Returns:
            A sparse matrix with the programs along its diagonal.
        """
        from scipy.sparse import csr_array

        n_programs, n_rows, _ = weights.shape
        values = np.concatenate([weights, np.full((n_programs, n_rows, 1), -1.0)], axis=2)
        variables = np.column_stack([self.joint, subtracted])
        program, row, _ = np.indices(values.shape)
        position = (program * n_rows + row, program * self.n_variables + variables)
        shape = (n_programs * n_rows, n_programs * self.n_variables)
        return csr_array((values.ravel(), tuple(axis.ravel() for axis in position)), shape)
