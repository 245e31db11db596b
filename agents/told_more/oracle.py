"""The oracle: the regret that is left when there is nothing to learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams
from cmab_gym.told_problem import ToldProblem


@dataclass(frozen=True)
class Oracle:
    """Always pull the best arm: told the means.

    Index: the mean of the arm. The correlated versions show what the rule that drops arms costs:
    they lose only where it drops the best one.

    Needs: a `ToldProblem` with means. `evaluate` gives it to agents whose class has the attribute
    `told = "means"`.

    Cost per round: O(K).

    Guarantee: no regret.
    """

    ranks_unpulled: ClassVar[bool] = True
    told: ClassVar[str] = "means"

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        problem = history.problem
        if not isinstance(problem, ToldProblem) or problem.means is None:
            raise ValueError(
                "the problem does not tell the means: expected a ToldProblem, which evaluate() "
                "gives to an oracle; by hand, pass ToldProblem(problem, means) to reset()"
            )
        return np.broadcast_to(problem.means, history.pulls.shape)
