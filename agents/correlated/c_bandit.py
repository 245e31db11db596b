"""`CBandit`: the correlated version of any index policy."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents import fast
from cmab_gym.agents.correlated.least_bounds import LeastBounds
from cmab_gym.agents.index_agent import Counts, IndexAgent, IndexPolicy, Known
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.problem import BanditProblem, pseudo_reward_rows, unknown_arms
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
        lower_bounds: whether to use the problem's pseudo-lower bounds, where it has any: an arm is
            then set aside if its pseudo-rewards average less than the pseudo-lower bounds of some
            arm do (remark of Section 3; the paper takes the bounds of significant arms only, but a
            bound on any arm's mean is one on the best).
    """

    _pseudo_sums: FloatArray

    def __init__(self, policy: IndexPolicy, lower_bounds: bool = False) -> None:
        super().__init__(policy)
        self.lower_bounds = lower_bounds

    def __repr__(self) -> str:
        option = ", lower_bounds=True" if self.lower_bounds else ""
        return f"{type(self).__name__}({self.policy!r}{option})"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`."""
        super().reset(problem, trials, rng)
        n_arms = problem.n_arms
        self._unknown = unknown_arms(problem)  # before the sums fill the memory
        # [b, k, l]: the pseudo-rewards of arm l summed over the pulls of arm k in trial b.
        self._pseudo_sums = np.zeros((trials, n_arms, n_arms))
        # One row for each (arm k, reward j): what a pull says of all arms, contiguous.
        self._rows = pseudo_reward_rows(problem.pseudo_rewards)
        # Other upper bounds than phi, as [b, k, l], of a subclass.
        self._tight: FloatArray | None = None
        self._lower_rows: FloatArray | None = None
        self._floor: FloatArray | None = None
        if self.lower_bounds and problem.pseudo_lower_bounds is not None:
            self._lower_rows = pseudo_reward_rows(problem.pseudo_lower_bounds)
            self._lower_sums = np.zeros((trials, n_arms, n_arms))
            # What the rewards of each arm say that some arm's mean is at least.
            self._floor = np.full((trials, n_arms), -np.inf)
        self._bounds = LeastBounds(self._pseudo_sums, self._unknown)

    def compiled_state(self) -> tuple[Counts, Known | None] | None:
        """Return what compiled rounds read and change: see `IndexAgent.compiled_state`."""
        if type(self) is not CBandit or not self._compiled or self._floor is not None:
            return None
        counts = self.pulls, self._sums, self.means
        return counts, (self._pseudo_sums, self._rows, self._bounds.kept, self._unknown)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Count the pulls, and add up rewards and pseudo-rewards."""
        arms, rewards = self._checked_pull(arms, rewards)
        index = self.problem.reward_index(rewards)
        self._count(arms, rewards)
        self._tighten(arms, index)
        if self._lower_rows is not None and self._floor is not None:
            self._lower_sums[self._trial, arms] += self._lower_rows[arms, index]
            sums, pulls = self._lower_sums[self._trial, arms], self.pulls[self._trial, arms]
            self._floor[self._trial, arms] = sums.max(axis=1) / pulls
        if self._compiled:
            fast.kernels().add_pseudo_rewards(
                self._pseudo_sums,
                self._rows,
                self._tight,
                self._bounds.kept,
                self.pulls,
                self.t,
                arms,
                index,
                rewards,
            )
            return
        row = self._rows[arms, index]
        row[self._trial, arms] = rewards
        at = self._trial * self.problem.n_arms + arms
        sums = self._pseudo_sums.reshape(-1, self.problem.n_arms)
        row += sums[at]
        sums[at] = row
        pulls = self.pulls.take(at)
        row /= pulls[:, None]
        if self._tight is not None:
            np.minimum(row, self._tight[self._trial, arms], out=row)
        self._bounds.update(arms, row, pulls * self.problem.n_arms >= self.t)

    def _tighten(self, arms: IntArray, index: IntArray) -> None:
        """Learn which rewards the arms gave (B,), and set `_tight` given these arms."""

    @property
    def phi(self) -> FloatArray:
        """The empirical pseudo-rewards, float64 (B, K, K): [b, l, k] of arm l given arm k.

        [b, k, k] is the mean of arm k; where arm k has no pull, nothing is known: infinity.
        """
        pulls = self.pulls[:, :, None]
        phi = np.full(self._pseudo_sums.shape, np.inf)
        np.divide(self._pseudo_sums, pulls, out=phi, where=pulls > 0)
        return phi.transpose(0, 2, 1)

    def allowed_arms(self) -> BoolArray:
        """Return the empirically competitive arms and the best significant one, bool (B, K)."""
        if self._compiled:
            compiled: BoolArray = fast.kernels().allowed_arms(
                self._pseudo_sums,
                self._tight,
                self._bounds.kept,
                self._floor,
                self.pulls,
                self.means,
                self.t,
                self._unknown,
            )
            return compiled
        significant = self.significant_arms()
        means = np.where(significant, self.means, -np.inf)
        best = means.max(axis=1, keepdims=True)
        enough = best  # what an arm's bound must reach
        if self._floor is not None:
            floor = np.where(significant, self._floor, -np.inf).max(axis=1, keepdims=True)
            enough = np.maximum(best, floor)
        least = self._bounds.over(significant, enough, self.pulls, self._tight)
        allowed: BoolArray = (least >= enough) | (means == best) | self._unknown
        return allowed

    def significant_arms(self) -> BoolArray:
        """Return the arms with at least t/K pulls, bool (B, K): never none."""
        enough: BoolArray = self.pulls * self.problem.n_arms >= self.t
        return enough
