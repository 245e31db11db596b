"""The oracle: the regret that is left when there is nothing to learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.problem import OracleProblem
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class Oracle:
    """Always pull the best arm: told the means, which no other agent is.

    Index: the mean of the arm. The correlated versions show what the rule that drops arms costs:
    they lose only where it drops the best one.

    Needs: an `OracleProblem`. `evaluate` gives it to agents whose class has the attribute
    `is_oracle = True`.

    Cost per round: O(K).

    Guarantee: no regret.
    """

    ranks_unpulled: ClassVar[bool] = True
    is_oracle: ClassVar[bool] = True

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        problem = history.problem
        if not isinstance(problem, OracleProblem):
            raise ValueError(
                "the problem does not tell the means: expected an OracleProblem, which evaluate() "
                "gives to an oracle; by hand, pass OracleProblem(problem, means) to reset()"
            )
        return np.broadcast_to(problem.means, history.pulls.shape)
