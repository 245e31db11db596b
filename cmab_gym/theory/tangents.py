"""The linear program of the Graves-Lai bound, with tangents instead of logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.theory.conditions import NoBoundError
from cmab_gym.theory.joint import IMPOSSIBLE, SOLVER, JointDistributions

_RATIOS = 2.0 ** np.arange(-6, 7)  # Q / P at which the first tangents touch


class TangentProgram:
    """The linear program: a block (q, w, m, u) for each arm that can be best, and t.

    q and w are as in `cmab_gym.theory.graves_lai`, m the probabilities of the pairs under q, and u
    bounds each pair's term w h(m / (P w)) from above, where h(a) = a - 1 - ln a. The divergence of
    an arm is the sum of P u over its pairs, plus w - sum m, the probability of rewards that it
    never gives. t, which is minimised, is at least every arm's divergence divided by its gap.

    Args:
        joint: the joint distributions that respect the pseudo-rewards.
        rivals: the arms that can be best, one for each block.
    """

    def __init__(self, joint: JointDistributions, rivals: list[int]) -> None:
        self._joint, blocks = joint, len(rivals)
        n, pairs = len(joint.rewards), joint.probabilities.size
        start = np.arange(blocks) * (n + 1 + 2 * pairs)
        self._q = start[:, None] + np.arange(n)
        self._w = start + n
        self._m = self._w[:, None] + 1 + np.arange(pairs)
        self._u = self._m + pairs
        self._t = blocks * (n + 1 + 2 * pairs)
        self._equal, self._at_most = _Rows(), _Rows()
        self._add_divergences()
        for block, rival in enumerate(rivals):
            self._add_joint(block, rival)
        self._equal.add((self._w, 1.0))  # the last row
        self._lowest = np.full((blocks, pairs), _RATIOS[0])
        for ratio in _RATIOS:
            self._add_tangents(np.full((blocks, pairs), ratio))

    def solve(self) -> tuple[float, FloatArray, FloatArray]:
        """Solve the program with the tangents added so far.

        Returns:
            t, the multipliers eta of the arms that are not best, with cost 1, and the solution, w
            and m (blocks, 1 + T).

        Raises:
            NoBoundError: the solver found no solution.
        """
        size = self._t + 1
        cost, total = np.zeros(size), np.zeros(len(self._equal))
        cost[self._t] = total[-1] = 1.0
        found = linprog(
            cost,
            self._at_most.matrix(size),
            np.zeros(len(self._at_most)),
            self._equal.matrix(size),
            total,
            options=SOLVER,
        )
        if not found.success:
            raise NoBoundError(f"a linear program could not be solved: {found.message}")
        gaps = self._joint.gaps[self._joint.others]
        eta = -found.ineqlin.marginals[: gaps.size] / gaps
        mixture = np.column_stack([found.x[self._w], found.x[self._m]])
        return found.fun, eta, mixture.clip(0)

    def touch(self, mixture: FloatArray) -> None:
        """Add the tangents that touch the terms of a mixture, w and m (blocks, 1 + T)."""
        ratios = mixture[:, 1:] / (self._joint.probabilities * mixture[:, :1].clip(IMPOSSIBLE))
        # At 0 the terms have no tangent: approach 0 step by step.
        ratios = np.maximum(ratios, self._lowest / 8)
        self._lowest = np.minimum(self._lowest, ratios)
        self._add_tangents(ratios)

    def _add_divergences(self) -> None:
        joint = self._joint
        for arm in joint.others:  # the first rows: `solve` reads their multipliers
            own = np.flatnonzero(joint.arms == arm)
            self._at_most.add(
                (self._w, 1 / joint.gaps[arm]),
                (self._m[:, own], -1 / joint.gaps[arm]),
                (self._u[:, own], joint.probabilities[own] / joint.gaps[arm]),
                (self._t, -1.0),
            )

    def _add_joint(self, block: int, rival: int) -> None:
        joint, q, w = self._joint, self._q[block], self._w[block]
        for pair, row in zip(self._m[block], joint.marginal, strict=True):
            self._equal.add((q, row), (pair, -1.0))
        for probability, row in zip(joint.best_probabilities, joint.best_marginal, strict=True):
            self._equal.add((q, row), (w, -probability))
        for row in (*joint.limits, -joint.advantage(rival)):
            self._at_most.add((q, row))

    def _add_tangents(self, ratios: FloatArray) -> None:
        """Add u >= w h(a) + h'(a) (m / P - a w) with a ratio a for each block and pair."""
        probabilities = self._joint.probabilities
        for (block, pair), a in np.ndenumerate(ratios.clip(0.1 * IMPOSSIBLE / probabilities)):
            self._at_most.add(
                (self._w[block], -np.log(a)),
                (self._m[block, pair], (1 - 1 / a) / probabilities[pair]),
                (self._u[block, pair], -1.0),
            )


class _Rows:
    """The rows of a sparse matrix, added one by one."""

    def __init__(self) -> None:
        self._rows: list[tuple[IntArray, FloatArray]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, *terms: tuple[ArrayLike, ArrayLike]) -> None:
        """Add a row of (columns, values); a single value serves all its columns."""
        columns = np.concatenate([np.ravel(each) for each, _ in terms])
        values = np.concatenate(
            [np.ravel(np.broadcast_to(value, np.shape(each))) for each, value in terms]
        )
        self._rows.append((columns[values != 0], values[values != 0]))

    def matrix(self, width: int) -> Any:
        """Return the rows as a sparse matrix (rows, width)."""
        columns, values = zip(*self._rows, strict=True)
        ends = np.cumsum([0, *map(len, columns)])
        entries = (np.concatenate(values), np.concatenate(columns), ends)
        return csr_array(entries, shape=(len(self), width))
