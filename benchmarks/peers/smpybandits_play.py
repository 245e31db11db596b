"""SMPyBandits: the loop of its evaluator (`delayed_play`), without its set-up."""

from __future__ import annotations

import contextlib
import io
from functools import partial

from clock import ARMS, MEANS, report

with contextlib.redirect_stdout(io.StringIO()):  # it prints messages when imported
    from SMPyBandits.Arms.Bernoulli import Bernoulli
    from SMPyBandits.Environment.MAB import MAB
    from SMPyBandits.Environment.Result import Result
    from SMPyBandits.Policies.Thompson import Thompson
    from SMPyBandits.Policies.UCB import UCB


def play(policy: type, rounds: int) -> int:
    """Run one policy."""
    with contextlib.redirect_stdout(io.StringIO()):
        env = MAB({"arm_type": Bernoulli, "params": MEANS.tolist()})
    player = policy(ARMS)
    player.startGame()
    result = Result(ARMS, rounds, means=MEANS)
    for t in range(rounds):
        choice = player.choice()
        reward = env.draw(choice, t)
        player.getReward(choice, reward)
        result.store(t, choice, reward)
    return rounds


report({"ucb, 1 trial": partial(play, UCB), "ts, 1 trial": partial(play, Thompson)})
