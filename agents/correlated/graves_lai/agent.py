"""`GravesLai`: explores as the lower bound for agents with pseudo-rewards asks."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.argmax import argmax_with_random_ties
from cmab_gym.agents.correlated.graves_lai.nearest import NearestDistributions
from cmab_gym.agents.correlated.graves_lai.plan import plan
from cmab_gym.agents.history_agent import HistoryAgent
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.joint_rewards import JointRewards
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams

_GROWTH = 1.05  # of the rounds from one plan to the next


class GravesLai(HistoryAgent):
    """Make the cheapest pulls that tell the best arm from all others, by all pseudo-rewards.

    Idea: all joint distributions Q that respect the table, over every combination of rewards, are
    possible, even those that no single pseudo-reward bounds. The evidence against arm l is
    E_l = min over Q under which l is best of sum_k n_k KL(P_k, Q_k), with the empirical
    distributions P_k. The leader is the arm with the least E. If the table says that a bad arm
    tells a lot about a good one, the bad one is pulled for its information.

    Rule: exploit, that is, pull the leader h, while E_l - E_h >= ln(n_h / n_l) for all other arms.
    Otherwise solve the program of Graves and Lai at the present estimates: the pulls of least
    regret after which that holds, if the leader had 100 t pulls. Make these pulls, but of each arm
    at most a fifth of those that it had (or one), and then pull the leader. Plans are made in every
    round up to 20, and then whenever t has grown by 5 %.

    Needs: finitely many rewards, and at most 256 joint outcomes, R^K: 8 arms of 2 rewards, 5 of 3,
    4 of 4, 3 of 6. The pseudo-rewards must be upper bounds.

    Cost per round: O(K). A plan takes 1 to 12 programs of R^K variables for each arm, a millisecond
    each for 27 outcomes, 13 for 256; a trial of T rounds has about 20 ln T plans.

    Guarantee: none is proven. On the presets its regret per ln T is that of the lower bound of
    Graves and Lai, `cmab_gym.theory.graves_lai_bound`, and bounded where that is 0
    (docs/theory.md).

    Source: the lower bound of Graves and Lai (1997). Combes, Magureanu and Proutiere (2017) follow
    the solution of its program (OSSB), Van Parys and Golrezaei (2020) its dual (DUSA); here the
    test of whether to exploit is a likelihood ratio, as in Degenne, Shao and Koolen (2020), with
    the threshold of IMED, Honda and Takemura (2015), so that no exploration has to be forced.

    Attributes:
        history: the pulls and rewards of the trials so far.
    """

    _changing = ("_leader", "_owed", "_next_plan")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def reset(
        self, problem: BanditProblem, trials: int, rng: TrialStreams | Generator | int
    ) -> None:
        """Begin new trials: see `Agent.reset`; `rng` may also be a seed or a NumPy generator.

        Raises:
            ValueError: the rewards are continuous, there are too many joint outcomes, or no joint
                distribution respects the pseudo-rewards.
        """
        super().reset(problem, trials, rng)
        joint = JointRewards.of(problem)
        self._nearest, self._rewards = NearestDistributions(joint), joint.support
        self._trial = np.arange(trials)
        self._leader = np.zeros(trials, dtype=np.int64)
        self._owed = np.zeros((trials, problem.n_arms))
        self._next_plan = 0

    def act(self) -> IntArray:
        """Choose an arm for each trial, int64 (B,): all once first, in random order."""
        t, uniform = self.history.t, self.rng.uniform()
        if t >= self._next_plan:
            self._next_plan = max(t + 1, int(t * _GROWTH))
            self._plan(uniform)
        arm = argmax_with_random_ties(self._owed, uniform)
        return np.where(self._owed[self._trial, arm] > 0, arm, self._leader)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        self.history.counts  # noqa: B018 (kept from the first time it is read)
        super()._learn(arms, rewards)
        self._owed[self._trial, arms] -= 1

    def _plan(self, uniform: FloatArray) -> None:
        history = self.history
        self._owed[:] = history.pulls == 0
        ready = np.flatnonzero(history.pulls.all(axis=1))
        if ready.size:
            counts = history.counts[ready].astype(np.float64)
            self._leader[ready], self._owed[ready] = plan(
                self._nearest, self._rewards, counts, uniform[ready]
            )
