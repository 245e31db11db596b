"""The means of a new population, given a survey and rewards: for `FactorTS` and `VIDS`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.survey.learned import factors_of
from cmab_gym.agents.survey.survey_means import shrunk_means, surveyed
from cmab_gym.arrays import AnyArray, FloatArray
from cmab_gym.history import History


@dataclass(frozen=True)
class Posterior:
    """The normal posterior of the means of B trials, in the form in which it is cheap to draw from.

    Given the rewards, theta_k = base_k + kept_k sum_i loadings[k, i] x_i + spread_k z_k, where x is
    normal with precision L L' and mean P^-1 b, and z is standard normal.

    Args:
        loadings: float64 (K, r).
        root: float64 (B, r, r), L, lower triangular.
        weighted: float64 (B, r), L^-1 b.
        base: float64 (B, K).
        kept: float64 (B, K).
        spread: float64 (B, K).
    """

    loadings: FloatArray
    root: FloatArray
    weighted: FloatArray
    base: FloatArray
    kept: FloatArray
    spread: FloatArray

    def draw(self, normals: FloatArray, beta: float = 1.0) -> FloatArray:
        """Draw means with `beta` times the posterior's covariance.

        Args:
            normals: float64 (B, M, r + K), standard normal.
            beta: 0 or more; 0 returns the posterior means.

        Returns:
            float64 (B, M, K).
        """
        r, scale = self.loadings.shape[1], float(beta) ** 0.5
        rotated = self.weighted[:, :, None] + scale * normals[:, :, :r].swapaxes(1, 2)
        x = np.linalg.solve(self.root.swapaxes(1, 2), rotated).swapaxes(1, 2)
        noise = (scale * self.spread)[:, None] * normals[:, :, r:]
        drawn: FloatArray = self.base[:, None] + self.kept[:, None] * (x @ self.loadings.T) + noise
        return drawn


def posterior(history: History, shrinkage: float) -> Posterior:
    """Compute the posterior of the means under the normal model of the survey's factors.

    With v_k the variance of e_k and of the survey's mean of arm k, and s_k^2 that of a reward,
    n rewards of mean y say of m_k + loadings x what one number with variance v_k + s_k^2 / n says.
    So x has the precision P = I + sum_k n_k / (s_k^2 + n_k v_k) loadings_k loadings_k', r x r.

    Args:
        history: of a problem with `survey_factors`; its pulls and sums are read.
        shrinkage: as for `shrunk_means`, above 0.

    Raises:
        ValueError: the problem has no factors.
    """
    problem, pulls = history.problem, history.pulls
    factors = factors_of(problem)
    means, (_, counts) = shrunk_means(problem, shrinkage), surveyed(problem)
    variances = factors.sigmas**2
    own: FloatArray = factors.deviation**2 + variances / (counts + float(shrinkage))
    loadings, r = factors.loadings, factors.loadings.shape[1]
    excess: FloatArray = history.sums - pulls * means
    weights: FloatArray = 1 / (variances + pulls * own)  # without the factor n_k
    products: FloatArray = (loadings[:, :, None] * loadings[:, None, :]).reshape(-1, r**2)
    # A product for each trial, so that its numbers do not depend on how many trials there are.
    precision: FloatArray = ((pulls * weights)[:, None] @ products).reshape(-1, r, r) + np.eye(r)
    root: AnyArray = np.linalg.cholesky(precision)
    evidence: FloatArray = ((weights * excess)[:, None] @ loadings).swapaxes(1, 2)
    weighted: AnyArray = np.linalg.solve(root, evidence)[:, :, 0]
    return Posterior(
        loadings,
        root,
        weighted,
        means + own * weights * excess,
        variances * weights,
        np.sqrt(own * variances * weights),
    )
