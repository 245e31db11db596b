"""`JointRewards`: the joint outcomes of all arms, and the limits that pseudo-rewards set them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.problem import BanditProblem, scaled_rewards

LARGEST_JOINT = 256  # joint outcomes; programs over them take up to about 10 seconds


@dataclass(frozen=True, eq=False)
class JointRewards:
    """N joint outcomes of a problem with finitely many rewards, which are scaled to [0, 1].

    Attributes:
        support: float64 (R,), the possible rewards.
        index: int64 (N, K), the position in the support of every arm's reward.
        rewards: float64 (N, K), these rewards.
        limits: float64 (L, N); the probabilities q of the outcomes, or a multiple of them, respect
            the pseudo-rewards if limits @ q <= 0.
    """

    support: FloatArray
    index: IntArray
    rewards: FloatArray
    limits: FloatArray

    @classmethod
    def of(cls, problem: BanditProblem, given: Sequence[IntArray] | None = None) -> JointRewards:
        """List the outcomes of a problem.

        Args:
            problem: the problem.
            given: the rewards that each arm can give, as positions in the support; by default all.

        Raises:
            ValueError: the rewards are continuous, there are more than `LARGEST_JOINT` outcomes, or
                the table is too large to be held whole.
        """
        if problem.reward_edges is not None:
            raise ValueError("the rewards are continuous: expected finitely many rewards")
        size = problem.reward_support.size
        given = [np.arange(size)] * problem.n_arms if given is None else given
        n_outcomes = np.prod([float(each.size) for each in given])
        if n_outcomes > LARGEST_JOINT:
            raise ValueError(
                f"{problem.n_arms} arms of {size} rewards have {n_outcomes:.4g} joint outcomes: "
                f"expected at most {LARGEST_JOINT}"
            )
        support = scaled_rewards(problem.reward_support, problem.reward_bounds)
        table = scaled_rewards(problem.rows.table("the joint distribution"), problem.reward_bounds)
        axes = np.meshgrid(*given, indexing="ij")
        index = np.stack(axes, axis=-1).reshape(-1, problem.n_arms)
        rewards = support[index]
        limits = [
            (index[:, k] == j) * (rewards[:, l] - table[l, k, j])
            for l, k, j in np.argwhere(table < support[-1])  # noqa: E741 (the paper's letter)
            if l != k
        ]
        return cls(support, index, rewards, np.reshape(limits, (-1, len(index))))
