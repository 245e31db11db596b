"""MABWiser: `predict` and `partial_fit` in turn, as its documentation does online."""

from __future__ import annotations

from functools import partial

import numpy as np
from clock import ARMS, MEANS, report
from mabwiser.mab import MAB, LearningPolicy


def play(policy: object, rounds: int) -> int:
    """Run one policy, after one pull of each arm."""
    rng = np.random.default_rng(0)
    mab = MAB(list(range(ARMS)), policy)
    mab.fit(list(range(ARMS)), (rng.random(ARMS) < MEANS).astype(int))
    for _ in range(rounds):
        arm = mab.predict()
        mab.partial_fit([arm], [int(rng.random() < MEANS[arm])])
    return rounds


report(
    {
        "ucb, 1 trial": partial(play, LearningPolicy.UCB1(alpha=1.0)),
        "ts, 1 trial": partial(play, LearningPolicy.ThompsonSampling()),
    }
)
