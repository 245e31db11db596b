"""`check_agent`: whether an agent keeps the contract of `Agent`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from cmab_gym.agents.api import Agent, AgentError
from cmab_gym.agents.make import agent_factory
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.evaluate import label_of
from cmab_gym.evaluation.playing.batch import Batch, find_environment
from cmab_gym.evaluation.workers.local import run_serially

_PROBLEMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("CMAB-Tabular-v0", {"preset": "table1-a"}),
    ("CMAB-Tabular-v0", {"preset": "three-armed"}),
    ("CMAB-Latent-v0", {"preset": "three-arm-b", "bins": 10}),
)


def check_agent(agent: Any, rounds: int = 50) -> None:
    """Run an agent on small problems and check what the evaluation relies on.

    The agent must choose an arm in every round, the same seed must give the same choices again, and
    a trial's choices must not depend on the other trials of its batch.

    Args:
        agent: as for `evaluate`: a name, a class or an instance.
        rounds: pulls per trial.

    Raises:
        AgentError: the agent breaks the contract; the message says how and what to do.
    """
    label = label_of(agent)
    for env_id, env_kwargs in _PROBLEMS:
        again = agent_factory(agent)()  # one object for all: reset() must forget
        regrets = partial(_regrets, label, again, env_id, env_kwargs, rounds)
        first, second = regrets([range(3)] * 2)
        where = f"on {env_id} with {env_kwargs}"
        if not np.array_equal(first, second):
            raise AgentError(
                f"{label} chooses other arms {where} when the same seed is used again: take all "
                "randomness from the rng that reset() receives, and forget everything in reset()"
            )
        alone = regrets([range(i, i + 1) for i in range(3)])
        if not np.array_equal(first, np.concatenate(alone)):
            raise AgentError(
                f"{label} chooses other arms {where} when trials are played one by one: use only "
                "a trial's own row of the state and its own stream of rng for it"
            )


def _regrets(
    label: str,
    agent: Agent,
    env_id: str,
    env_kwargs: dict[str, Any],
    rounds: int,
    trial_ranges: Sequence[range],
) -> list[FloatArray]:
    """Return the regret of each range of trials, which all have one length."""
    spec, checkpoints = find_environment(env_id, env_kwargs), tuple(range(1, rounds + 1))
    make = partial(_itself, agent)
    regrets = []
    for run in run_serially(
        [Batch(label, make, trials, spec, env_kwargs, checkpoints, 0) for trials in trial_ranges]
    ):
        if run.failure:
            raise AgentError(run.failure) from run.cause
        regrets.append(run.regret)
    return regrets


def _itself(agent: Agent) -> Agent:
    return agent
