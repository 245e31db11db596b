"""UCUCB: UCB on the arms that a confidence set of the hidden source does not rule out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.agents.told_more.hidden_source import HiddenSource
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.history import History
from cmab_gym.problem import check_scale
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class UCUCB:
    """UCB without the arms that are worse for all likely values of the hidden source.

    Idea: D estimates the probability of each value x of the source. A reward is shared evenly by
    the values that can give it, and D is the average of these shares and of a uniform start. The
    confidence set holds the likeliest values, just enough for the probability 1 - epsilon; equally
    likely ones are in it together.

    Index: that of UCB; minus infinity for an arm i if another arm j has larger rewards,
    g_j(x) > g_i(x), for all x in the confidence set, and a larger mean under D.

    Args:
        epsilon: from 0 to 1, the probability that the confidence set may lack.
        B: length of the interval of rewards, in their unit; None takes the problem's.

    Needs: a `ToldProblem` with a source: it is told the functions g, as `told = "source"` asks for.
    Where a reward is random given x, g is its mean.

    Cost per round: O(K^2 X) for X values of the source.

    Guarantee: none. D is biased, since the values that share a reward are not equally likely: on
    some problems it converges to a wrong distribution, and may rule the best arm out.

    Source: R. Juneja, A. Gaharwar, D. Varshney and S. Moharir (COMSNETS 2020), as their code
    computes it, where epsilon is 0.11 and B is 3. D starts as if it were one round.
    """

    told: ClassVar[str] = "source"
    ranks_unpulled: ClassVar[bool] = True
    epsilon: float = 0.11
    B: float | None = None

    def __post_init__(self) -> None:
        checks.number_between("epsilon", self.epsilon, 0, 1, "it is a probability")
        check_scale(self.B)

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        source, index = HiddenSource.of(history.problem), np.full(history.pulls.shape, np.inf)
        if not history.t:
            return index
        np.copyto(index, UCB(self.B).index(history, rng), where=history.pulls > 0)
        ruled_out = dominated(history.memory["belief"], source.means, 1 - self.epsilon)
        return np.where(ruled_out, -np.inf, index)

    def learn(self, history: History, rng: TrialStreams) -> None:
        """Share the last reward among the values of the source that can give it."""
        source = HiddenSource.of(history.problem)
        trials, size = history.last_arm.size, source.low.shape[1]
        belief = history.memory.setdefault("belief", np.full((trials, size), 1 / size))
        possible = source.consistent(history.last_arm, history.last_reward)
        possible[~possible.any(axis=1)] = True
        shares = possible / possible.sum(axis=1, keepdims=True)
        belief += (shares - belief) / (history.t + 1)


def dominated(belief: FloatArray, values: FloatArray, mass: float) -> BoolArray:
    """Find the arms that another arm beats for all likely values of the source, and on average.

    Args:
        belief: float64 (B, X), the probability of each value.
        values: float64 (K, X), the reward of each arm for each value.
        mass: the probability that the likely values have together, at least.

    Returns:
        bool (B, K).

    Examples:
        Arm 1 beats arm 0 for the first two values, and arm 0 beats arm 1 for the third.

        >>> values = np.array([[1, 2, 9], [2, 3, 1]])
        >>> dominated(np.array([[0.5, 0.4, 0.1]]), values, mass=0.8)
        array([[ True, False]])
        >>> dominated(np.array([[0.5, 0.4, 0.1]]), values, mass=0.95)
        array([[False, False]])
    """
    n_arms, size = values.shape
    falling = -np.sort(-belief, axis=1)
    # A value is in the set unless those before it have the mass already, but for rounding.
    n_likely = (np.cumsum(falling, axis=1) - falling < mass - 1e-12).sum(axis=1)
    least = np.take_along_axis(falling, np.maximum(n_likely, 1)[:, None] - 1, axis=1)
    likely = (belief >= least).astype(np.float64)
    as_good = values[:, None] >= values[None]  # [i, j, x]: arm i is not worse than arm j
    how_often = likely @ as_good.reshape(-1, size).T.astype(np.float64)
    # A product for each trial, so that its numbers do not depend on how many trials there are.
    mean = (belief[:, None] @ values.T)[:, 0]
    beaten = (how_often.reshape(-1, n_arms, n_arms) == 0) & (mean[:, :, None] < mean[:, None, :])
    ruled_out: BoolArray = beaten.any(axis=2)
    return ruled_out
