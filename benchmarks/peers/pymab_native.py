"""PyMAB: its Rust backend runs the whole experiment, 20 replicates."""

from __future__ import annotations

from functools import partial

from clock import ARMS, MEANS, report
from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
from pymab.policies import BernoulliThompsonSamplingPolicy, UCBPolicy

REPLICATES = 20


def play(policy: type, rounds: int) -> int:
    """Run one policy."""
    Experiment(
        environment=BanditEnvironment(means=MEANS, reward_model=BernoulliReward()),
        policies={"it": policy(n_arms=ARMS)},
        config=ExperimentConfig(rounds, REPLICATES, 0, backend="rust"),
    ).run()
    return rounds * REPLICATES


report(
    {
        "ucb, 20 trials": partial(play, UCBPolicy),
        "ts, 20 trials": partial(play, BernoulliThompsonSamplingPolicy),
    }
)
