"""`PairPrograms`: the largest mean of each arm, given the table and the marginal of another arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.mathematics.dual_simplex import maximise
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem

SLACK_PRICE = 1e4  # of a unit of slack, in reward ranges; larger than any dual value
LEAST_SLACK = 1e-7  # a slack up to here is the solver's rounding
_TIE = 1e-9  # added to the objective, so that no two bases are equally good
_TOGETHER = 256  # programs solved at once: their tableaus fit into the processor's cache


@dataclass(frozen=True, eq=False)
class PairPrograms:
    """The linear programs of any two arms l and k, over the joint distributions of the two.

    A program maximises the mean of l. Its variables are the probabilities p_ij that k gives r_i and
    l gives r_j, with arm k's marginal fixed, and a slack, by which pseudo-rewards may be exceeded.
    The slack is so expensive that it is 0 wherever the program is feasible without it. Rewards
    and pseudo-rewards are scaled to the interval [0, 1].

    The dual has a price for every pseudo-reward: a_i for s_lk(r_i) and b_j for s_kl(r_j). They give
    the vector v_i = max over j of r_j - (r_j - s_lk(r_i)) a_i - (r_i - s_kl(r_j)) b_j, which is a
    bound with any prices of at least 0. So rounding cannot make a vector wrong, only loose.

    Args:
        problem: the problem.
    """

    problem: BanditProblem

    def solve(self, given: IntArray, marginals: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Maximise the mean of every other arm for each of some arms and marginals.

        Args:
            given: int64 (n,), arms k.
            marginals: float64 (n, R), probabilities of their rewards.

        Returns:
            The vectors, float64 (n, K, R), with the rewards in row k; and which programs are
            feasible, bool (n, K).
        """
        n_arms, rewards = self.problem.n_arms, self.problem.reward_support
        vectors = np.tile(rewards, (given.size, n_arms, 1))
        feasible = np.ones((given.size, n_arms), np.bool_)
        which, others = np.nonzero(np.arange(n_arms) != given[:, None])
        for first in range(0, which.size, _TOGETHER):
            row, other = which[first : first + _TOGETHER], others[first : first + _TOGETHER]
            some = _Programs.of(self.problem, given[row], other)
            prices, slack = some.solve(marginals[row])
            vectors[row, other] = some.vectors(prices)
            feasible[row, other] = slack <= LEAST_SLACK
        return vectors, feasible


@dataclass(frozen=True, eq=False)
class _Programs:
    """Some of the programs.

    Args:
        low, size: the least reward, and the length of the interval of rewards.
        rewards: float64 (R,), scaled.
        above: float64 (n, R, R), r_j - s_lk(r_i) as [program, i, j].
        above_given: float64 (n, R, R), r_i - s_kl(r_j) as [program, i, j].
    """

    low: float
    size: float
    rewards: FloatArray
    above: FloatArray
    above_given: FloatArray

    @classmethod
    def of(cls, problem: BanditProblem, given: IntArray, other: IntArray) -> _Programs:
        """Write the programs of n pairs of arms k (given) and l (other)."""
        low, size, table = problem.reward_bounds[0], problem.reward_range, problem.pseudo_rewards
        rewards = (problem.reward_support - low) / size
        of_other, of_given = (table[other, given] - low) / size, (table[given, other] - low) / size
        return cls(
            low,
            size,
            rewards,
            rewards - of_other[:, :, None],
            rewards[:, None] - of_given[:, None, :],
        )

    def solve(self, marginals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the prices of the pseudo-rewards, (n, 2 R), and the slacks, (n,)."""
        n, n_rewards = marginals.shape
        n_joint = n_rewards**2
        given, other = np.arange(n_rewards), n_rewards + np.arange(n_rewards)  # rows of the prices
        # Columns: p_ij, the slack, one for each price, the right-hand side. Rows: sum over j of
        # p_ij; the pseudo-rewards given k; those given l; the reduced costs.
        tableau = np.zeros((n, 3 * n_rewards + 1, n_joint + 2 * n_rewards + 2))
        joint = tableau[:, :, :n_joint].reshape(n, -1, n_rewards, n_rewards)
        prices = n_rewards + np.arange(2 * n_rewards)
        joint[:, given, given] = 1
        tableau[:, given, -1] = marginals
        joint[:, n_rewards + given, given] = self.above
        joint[:, n_rewards + other, :, given] = self.above_given.transpose(2, 0, 1)
        tableau[:, prices, n_joint] = -1
        tableau[:, prices, n_joint + 1 + np.arange(2 * n_rewards)] = 1
        joint[:, -1] = self.rewards + _TIE * _spread(n_joint).reshape(n_rewards, n_rewards)
        tableau[:, -1, n_joint] = -SLACK_PRICE
        tableau[:, -1, n_joint + 1 : -1] = -_TIE * _spread(2 * n_rewards)
        # The first basis: arm l always gives its largest reward, and no pseudo-reward is binding.
        first = np.arange(n_rewards) * n_rewards + n_rewards - 1
        factors = tableau[:, :, first].copy()
        factors[:, given] = 0
        tableau -= factors @ tableau[:, :n_rewards]
        basis = np.tile(np.append(first, n_joint + 1 + np.arange(2 * n_rewards)), (n, 1))
        # Slacks are basic, so that their costs are eliminated as well.
        tableau[:, -1] += _TIE * np.einsum("r,nrc->nc", _spread(2 * n_rewards), tableau[:, prices])
        maximise(tableau, basis)
        slack: FloatArray = np.where(basis == n_joint, tableau[:, :-1, -1], 0).sum(axis=1)
        return -tableau[:, -1, n_joint + 1 : -1], slack

    def vectors(self, prices: FloatArray) -> FloatArray:
        """Return the vectors of these prices, (n, R)."""
        n_rewards = self.rewards.size
        prices = np.maximum(prices, 0)
        a, b = prices[:, :n_rewards, None], prices[:, None, n_rewards:]
        values = self.rewards - self.above * a - self.above_given * b
        return np.asarray(self.low + self.size * values.max(axis=2))


def _spread(count: int) -> FloatArray:
    """Return different numbers from 0.5 to 1."""
    return np.asarray(0.5 + 0.5 * (np.arange(count) * 0.6180339887498949 % 1), dtype=np.float64)
