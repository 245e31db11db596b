"""rovingbandit: its online runner, one trial."""

from __future__ import annotations

from functools import partial

from clock import ARMS, MEANS, report
from rovingbandit import UCB1, BanditEnvironment, OnlineRunner, ThompsonSampling


def play(policy: type, rounds: int) -> int:
    """Run one policy."""
    env = BanditEnvironment(ARMS, arm_means=MEANS, seed=0)
    OnlineRunner().run(policy(ARMS, seed=0), env, rounds)
    return rounds


report({"ucb, 1 trial": partial(play, UCB1), "ts, 1 trial": partial(play, ThompsonSampling)})
