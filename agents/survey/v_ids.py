"""V-IDS: information-directed sampling with variances, on the factors of the survey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.survey.gaussian_posterior import posterior
from cmab_gym.agents.survey.learned import factors_of
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class VIDS:
    """Pull arms that cost little regret for what they say about which arm is best.

    With the posterior of `FactorTS`, let D_k = E[max theta - theta_k] be the expected regret of arm
    k, and v_k = Var(E[theta_k | A*]) how far its mean depends on which arm A* is best. The arm is
    drawn from the probabilities pi that minimise (sum pi_k D_k)^2 / (sum pi_k v_k); at most two of
    them are above 0. All expectations are averages over draws from the posterior.

    Index: 1 for the arm that is drawn, 0 for the others.

    Args:
        draws: M, how many draws from the posterior, at least 2. With few of them, an arm that is
            rarely the best of a draw is not explored.
        beta: factor of the posterior's covariance, above 0. A larger one explores more.
        shrinkage: as for `FactorTS`.

    Needs: `survey_factors` in the problem: `factors=4`, say, in `CMAB-Ratings-v0`.

    Cost per round: O(M K), with M (K + r) normal numbers: about M times that of `FactorTS`. Not
    meaningful with the prefixes `c-` and `tc-`: if the arm drawn is ruled out, a random one is
    pulled.

    The default beta has the least regret over 5000 rounds on four segments of MovieLens 1M
    (docs/when-correlations-pay.md).

    Guarantee: with beta = 1, if the model is right and without errors of sampling, Bayesian regret
    O(sqrt(K T ln K)), and less where arms are informative about others.

    Source: Russo and Van Roy (2018), Learning to optimize via information-directed sampling, who
    also show that two arms are enough.
    """

    ranks_unpulled: ClassVar[bool] = True
    draws: int = 100
    beta: float = 0.3
    shrinkage: float = 20.0

    def __post_init__(self) -> None:
        checks.whole_number("draws", self.draws, 2)
        checks.positive("beta", self.beta, "it multiplies the variance")
        checks.positive("shrinkage", self.shrinkage, "it is a number of ratings")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the arm, float64 (B, K): see `IndexPolicy.index`."""
        n_arms, r = factors_of(history.problem).loadings.shape
        normals = rng.standard_normal(self.draws * (r + n_arms)).reshape(-1, self.draws, r + n_arms)
        drawn = posterior(history, self.shrinkage).draw(normals, self.beta)
        regret, variance = regret_and_information(drawn)
        first, second, share = best_mixture(regret, variance)
        arm = np.where(rng.uniform() < share, second, first)
        index: FloatArray = (np.arange(n_arms) == arm[:, None]).astype(np.float64)
        return index


def regret_and_information(drawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Estimate the expected regret of each arm and the variance of its mean given the best arm.

    Args:
        drawn: float64 (B, M, K), draws of the means of all arms.

    Returns:
        D and v, both float64 (B, K).

    Examples:
        Two draws. The best arm is another one in each of them, so knowing it tells everything.

        >>> regret, information = regret_and_information(np.array([[[3.0, 1], [1, 2]]]))
        >>> regret.tolist(), information.tolist()
        ([[0.5, 1.0]], [[1.0, 0.25]])
    """
    trials, draws, n_arms = drawn.shape
    mean = drawn.mean(axis=1)
    regret = drawn.max(axis=2).mean(axis=1)[:, None] - mean
    # The draws of a trial with the same best arm, next to each other.
    group = (np.arange(trials)[:, None] * n_arms + drawn.argmax(axis=2)).ravel()
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(starts, append=group.size)[:, None]
    given_best = np.add.reduceat(drawn.reshape(-1, n_arms)[order], starts) / sizes
    trial = group[order][starts] // n_arms
    squares = sizes / draws * (given_best - mean[trial]) ** 2
    return regret, np.add.reduceat(squares, np.flatnonzero(np.diff(trial, prepend=-1)))


def best_mixture(regret: FloatArray, variance: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Find the two arms and their probabilities that minimise (mean regret)^2 / (mean variance).

    As points (variance, regret), mixtures of arms fill a convex hull, and the best one lies on the
    part of its lower edge along which both rise. The search starts from the ends of that part, and
    moves one of them to the lowest arm below the line between them, until there is none.

    Args:
        regret: float64 (B, K), 0 or more.
        variance: float64 (B, K), 0 or more.

    Returns:
        The two arms, both int64 (B,), and the probability of the second one, float64 (B,).
    """
    rows = np.arange(len(regret))
    first = np.lexsort((-variance, regret), axis=1)[:, 0]  # the least regret, then most variance
    second = np.lexsort((regret, -variance), axis=1)[:, 0]
    while True:
        rise, run = _step(regret, rows, first, second), _step(variance, rows, first, second)
        slope = np.divide(rise, run, out=np.zeros_like(rise), where=run > 0)
        height = regret - slope[:, None] * variance
        lowest = height.argmin(axis=1)
        line = height[rows, first]
        moves: BoolArray = (run > 0) & (height[rows, lowest] < line - 1e-12 * (1 + np.abs(line)))
        if not moves.any():
            break
        # Along the hull (regret)^2 / variance falls while the slope is below regret / (2 variance).
        later = regret[rows, lowest] > 2 * slope * variance[rows, lowest]
        first = np.where(moves & later, lowest, first)
        second = np.where(moves & ~later, lowest, second)
    steep = (rise > 0) & (run > 0)
    ratio = np.divide(regret[rows, first], rise, out=np.ones_like(rise), where=steep)
    ratio -= np.divide(2 * variance[rows, first], run, out=np.zeros_like(run), where=steep)
    return first, second, np.clip(ratio, 0, 1)


def _step(values: FloatArray, rows: IntArray, first: IntArray, second: IntArray) -> FloatArray:
    return values[rows, second] - values[rows, first]
