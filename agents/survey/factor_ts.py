"""Thompson sampling on the factors of the survey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cmab_gym import checks
from cmab_gym.agents.survey.gaussian_posterior import posterior
from cmab_gym.agents.survey.learned import factors_of
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class FactorTS:
    """Thompson sampling whose prior is the survey: its means, and the tastes in which users differ.

    New users differ from the surveyed ones along a few directions: those who like one war film more
    like the others more too. So a reward of one arm says something about the means of all, and a
    new population is known after few pulls.

    Index: a draw from the posterior of theta_k = m_k + sum_i V_ki x_i + e_k, given rewards that are
    normal around theta_k with variance s_k^2. The shrunk mean m_k of the survey, the loadings V,
    the deviation of e and s are learned from the survey; x is standard normal. All arms are drawn
    jointly.

    Args:
        beta: factor of the posterior's covariance, above 0. A larger one explores more.
        shrinkage: how many ratings of the mean of all ratings are added to those of each arm, above
            0: see `shrunk_means`.

    Needs: `survey_factors` in the problem: `factors=4`, say, in `CMAB-Ratings-v0`.

    Cost per round: O(K r^2 + r^3) for r factors, with K + r normal numbers.

    The default beta has the least regret over 5000 rounds on four segments of MovieLens 1M, with 50
    and with 200 films (docs/when-correlations-pay.md).

    Guarantee: none is known for a prior that is learned from other users. With beta = 1 and if the
    model is right, that of Thompson sampling with the right prior: Bayesian regret
    O(sqrt(K T ln K)).

    Source: our own combination. Thompson sampling with a correlated normal prior is linear Thompson
    sampling (Agrawal and Goyal, 2013); factors of ratings as features of arms go back to Zhao,
    Zhang and Wang (2013), Interactive collaborative filtering. The bound is that of Russo and Van
    Roy (2016).
    """

    ranks_unpulled: ClassVar[bool] = True
    beta: float = 0.1
    shrinkage: float = 20.0

    def __post_init__(self) -> None:
        checks.positive("beta", self.beta, "it multiplies the variance")
        checks.positive("shrinkage", self.shrinkage, "it is a number of ratings")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        n_arms, r = factors_of(history.problem).loadings.shape
        normals = rng.standard_normal(r + n_arms)[:, None]
        drawn: FloatArray = posterior(history, self.shrinkage).draw(normals, self.beta)[:, 0]
        return drawn
