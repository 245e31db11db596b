"""banditlab: Thompson sampling for Gaussian rewards, the loop of its documentation.

It has no Bernoulli arms, and its UCB needs a linear model for each arm.
"""

from __future__ import annotations

from clock import ARMS, MEANS, report
from mab_framework.algorithms.non_contextual.noncontextual_ts_bandit import NonContextualTSBandit
from mab_framework.environments.synthetic_env import SyntheticNonContextualEnv


def play(rounds: int) -> int:
    """Run Thompson sampling."""
    env = SyntheticNonContextualEnv(ARMS, noise_std=0.5)
    env.means = MEANS
    agent = NonContextualTSBandit(ARMS)
    for _ in range(rounds):
        context = env.get_context()
        agent.update(env.step(agent.select_arm(context), context)["available_rewards"])
    return rounds


report({"ts, 1 trial": play})
