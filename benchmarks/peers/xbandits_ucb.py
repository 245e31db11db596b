"""xbandits: vectorised; the rewards of all arms are drawn beforehand, which is included."""

from __future__ import annotations

import numpy as np
from clock import MEANS, TRIALS, report
from xbandits.algo import ucb
from xbandits.core.rollout import play as rollout


def play(rounds: int) -> int:
    """Run UCB in all trials at once."""
    rng = np.random.default_rng(0)
    rewards = (rng.random((TRIALS, rounds, MEANS.size)) < MEANS).astype(float)
    rollout(rewards, ucb.initialize, ucb.select_arm, ucb.update)
    return TRIALS * rounds


report({f"ucb, {TRIALS} trials": play})
