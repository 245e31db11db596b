"""Non-parametric Thompson sampling: random weights of the rewards seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.mathematics.gamma_draws import dirichlet_means
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class NPTS:
    """Non-parametric Thompson sampling: knows nothing of the rewards but their upper bound.

    Index: the average of the rewards of arm k and one more, the upper bound, with weights drawn
    uniformly among those that add up to 1. Rewards of the same value share a weight, so that the
    weights are Dirichlet(c_k), where c_k counts how often arm k gave each reward, and the bound.

    Needs: of a continuous reward it sees the bins' midpoints, and the upper bound.

    Cost per round: O(K R), with K (R + 1) Gamma variates.

    Guarantee: optimal for bounded rewards: pulls of an arm grow as ln T / K_inf(F_k, mu*).

    Source: Riou and Honda (2020), Algorithm 2, "Non-parametric Thompson sampling".
    """

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Draw the index, float64 (B, K): see `IndexPolicy.index`."""
        problem, counts = history.problem, history.counts
        bound = problem.reward_bounds[1]
        if problem.reward_support[-1] >= bound - problem.tolerance:
            own = counts.astype(np.float64)
            own[:, :, -1] += 1
            return dirichlet_means(own, problem.reward_support, rng)
        own = np.concatenate((counts, np.ones((*counts.shape[:2], 1))), axis=2)
        return dirichlet_means(own, np.append(problem.reward_support, bound), rng)
