"""`check_agent`: whether an agent keeps the contract of `Agent`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cmab_gym.agents.api import Agent, AgentError
from cmab_gym.agents.make import agent_factory
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.batch import Batch, find_environment, run_batch
from cmab_gym.evaluation.evaluate import label_of

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
        regret = partial(_regret, label, again, env_id, env_kwargs, rounds)
        first, second = regret(range(3)), regret(range(3))
        where = f"on {env_id} with {env_kwargs}"
        if not np.array_equal(first, second):
            raise AgentError(
                f"{label} chooses other arms {where} when the same seed is used again: take all "
                "randomness from the rng that reset() receives, and forget everything in reset()"
            )
        alone = [regret(range(i, i + 1)) for i in range(3)]
        if not np.array_equal(first, np.concatenate(alone)):
            raise AgentError(
                f"{label} chooses other arms {where} when trials are played one by one: use only "
                "a trial's own row of the state and its own stream of rng for it"
            )


def _regret(
    label: str,
    agent: Agent,
    env_id: str,
    env_kwargs: dict[str, Any],
    rounds: int,
    trials: range,
) -> FloatArray:
    spec = find_environment(env_id, env_kwargs)
    batch = Batch(
        label, partial(_itself, agent), trials, spec, env_kwargs, tuple(range(1, rounds + 1)), 0
    )
    run = run_batch(batch)
    if run.failure:
        raise AgentError(run.failure) from run.cause
    return run.regret


def _itself(agent: Agent) -> Agent:
    return agent
