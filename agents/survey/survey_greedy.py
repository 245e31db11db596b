"""The agent that ignores rewards and follows the survey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.survey.survey_means import shrunk_means
from cmab_gym.arrays import FloatArray
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams


@dataclass(frozen=True)
class SurveyGreedy:
    """Pull the arm that the surveyed users like best and ignore its rewards: a baseline.

    Index: the shrunk mean of the arm in the survey. The correlated version pulls the best of the
    arms that the rewards have not ruled out.

    Args:
        shrinkage: how many ratings of the mean of all ratings are added to those of each arm, 0 or
            more: see `shrunk_means`.

    Needs: `survey_means` in the problem.

    Cost per round: O(K).

    Guarantee: regret T times the gap of the survey's best arm.
    """

    ranks_unpulled: ClassVar[bool] = True
    shrinkage: float = 20.0

    def __post_init__(self) -> None:
        checks.number_between("shrinkage", self.shrinkage, 0, np.inf, "it is a number of ratings")

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Compute the index, float64 (B, K): see `IndexPolicy.index`."""
        means = shrunk_means(history.problem, self.shrinkage)
        return np.broadcast_to(means, history.pulls.shape)
