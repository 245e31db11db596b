"""Thompson sampling on the classes of users that a survey found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.mathematics.categorical import drawn, exponentials
from cmab_gym.agents.survey.learned import classes_of
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class ClassTS:
    """Thompson sampling that asks which class of surveyed users the new ones are like.

    Idea: the new population is like one of C classes, so that a reward of one arm says something
    about all arms. Its mean of arm k is normal around that of the class, m_ck, with standard
    deviation d = `deviation`; and its rewards are normal around that with the standard deviation
    s_k within a class. So an arm's own rewards count for more and more.

    Index: a draw of the class from its posterior, and then of the mean of each arm given the class,
    from Normal(m_ck + n_k d^2 (y_k - m_ck) / v_k, beta d^2 s_k^2 / v_k), where y_k is the mean of
    the n_k rewards, and v_k = s_k^2 + n_k d^2. The second parameter is the variance.

    Args:
        deviation: how far a population may be from its class, in the reward's unit, 0 or more.
            With 0 it learns the class and nothing else.
        beta: factor of the variance, 0 or more. A larger one explores more.

    Needs: `survey_classes` in the problem: `classes=8`, say, in `CMAB-Ratings-v0`.

    Cost per round: O(C K), with K normal numbers.

    Guarantee: with deviation 0, if the new population is one of the classes, the Bayesian regret
    grows with C, not K. New users are rather a mixture of all classes: then regret may be linear.

    Source: J. Hong, B. Kveton, M. Zaheer, Y. Chow, A. Ahmed and C. Boutilier, "Latent bandits
    revisited" (NeurIPS 2020): mTS, and mmTS for a deviation above 0.
    """

    ranks_unpulled: ClassVar[bool] = True
    deviation: float = 0.2
    beta: float = 0.1

    def __post_init__(self) -> None:
        remedy = "it is a standard deviation"
        checks.number_between("deviation", self.deviation, 0, checks.LARGEST, remedy)
        checks.number_between("beta", self.beta, 0, checks.LARGEST, "it multiplies the variance")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        classes, pulls = classes_of(history.problem), history.pulls
        own, of_rewards = float(self.deviation) ** 2, classes.sigmas**2
        variance = of_rewards + pulls * own
        means = classes.means[drawn(exponentials(self.log_posterior(history)), rng.random(1)[:, 0])]
        centre = means + own / variance * (history.sums - pulls * means)
        z = rng.standard_normal(history.problem.n_arms)
        index: FloatArray = centre + z * np.sqrt(float(self.beta) * own * of_rewards / variance)
        return index

    def log_posterior(self, history: History) -> FloatArray:
        """Return the logarithm of the probability of each class, up to a constant, (B, C)."""
        classes, pulls = classes_of(history.problem), history.pulls
        variance = classes.sigmas**2 + pulls * float(self.deviation) ** 2
        # A product for each trial, so that its numbers do not depend on how many trials there are.
        fit = (history.sums / variance)[:, None] @ classes.means.T
        fit -= (pulls / variance)[:, None] @ (classes.means.T**2 / 2)
        log: FloatArray = fit[:, 0] + np.log(np.maximum(classes.weights, 1e-300))
        return log
