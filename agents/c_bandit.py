"""`CBandit`: the correlated version of any index policy."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem, unknown_arms
from cmab_gym.streams import TrialStreams


class CBandit(IndexAgent):
    """Plays an index policy among the arms that the pseudo-rewards do not rule out.

    Idea: rewards of one arm bound the mean of every other. Arm l is empirically competitive if no
    significant arm k (one with at least t/K of the t pulls) has seen rewards whose pseudo-rewards
    for l average less than the best mean among the significant arms.

    Index: the policy's, over the empirically competitive arms and the best significant one.

    Needs: pseudo-rewards in the problem. Where all are the largest reward it chooses exactly like
    `IndexAgent(policy)`: an arm that no other arm says anything about is never ruled out.

    Cost per round: O(K) for the update, O(K |S_t|) for the choice, beside the policy's; memory
    O(K^2) per trial.

    Guarantee: with UCB, non-competitive arms are pulled O(1) times in expectation (Theorem 1).

    Source: Section 3 and Algorithm 1 of the paper, with two points settled. n_k >= t/K, so that
    some arm is always significant. And phi of an arm with respect to itself is its mean, so that a
    significant arm of a lower mean than the best is set aside, as the published curves need; but
    then the paper's remark that c-X reduces to X where nothing is known would fail, so an arm of
    which nothing is known (all its pseudo-rewards are the largest reward) is exempt. If several
    significant arms share the best mean, all of them may be played.

    Args:
        policy: the rule.

    """

    _pseudo_sums: FloatArray

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`."""
        super().reset(problem, trials, rng)
        # [b, k, l]: the pseudo-rewards of arm l summed over the pulls of arm k in trial b.
        self._pseudo_sums = np.zeros((trials, problem.n_arms, problem.n_arms))
        # One row for each (arm k, reward j): what a pull says of all arms, contiguous.
        self._rows = np.ascontiguousarray(problem.pseudo_rewards.transpose(1, 2, 0))
        self._unknown = unknown_arms(problem)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Count the pulls, and add up rewards and pseudo-rewards."""
        super().update(arms, rewards)
        pulled = (self._trial, arms)
        row = self._rows[arms, self.problem.reward_index(rewards)]
        row[pulled] = rewards
        self._pseudo_sums[pulled] += row

    @property
    def phi(self) -> FloatArray:
        """The empirical pseudo-rewards, float64 (B, K, K): [b, k, l] of arm l given arm k.

        [b, k, k] is the mean of arm k; where arm k has no pull, nothing is known: infinity.
        """
        pulls = self.pulls[:, :, None]
        phi = np.full(self._pseudo_sums.shape, np.inf)
        np.divide(self._pseudo_sums, pulls, out=phi, where=pulls > 0)
        return phi

    def allowed_arms(self) -> BoolArray:
        """Return the empirically competitive arms and the best significant one, bool (B, K)."""
        significant = self.significant_arms()
        means = np.where(significant, self.means, -np.inf)
        best = means.max(axis=1, keepdims=True)
        competitive = self._upper_bounds(significant) >= best
        allowed: BoolArray = competitive | (means == best) | self._unknown
        return allowed

    def significant_arms(self) -> BoolArray:
        """Return the arms with at least t/K pulls, bool (B, K): never none."""
        enough: BoolArray = self.pulls * self.problem.n_arms >= self.t
        return enough

    def _upper_bounds(self, significant: BoolArray) -> FloatArray:
        """Take the least empirical pseudo-reward over the significant arms, (B, K)."""
        trial, arm = np.nonzero(significant)
        starts = np.flatnonzero(np.diff(trial, prepend=-1))
        pulls = np.maximum(self.pulls[trial, arm], 1)  # before any pull all arms are significant
        phi = self._pseudo_sums[trial, arm] / pulls[:, None]
        bounds: FloatArray = np.minimum.reduceat(phi, starts, axis=0)
        return bounds
