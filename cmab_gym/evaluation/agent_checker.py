"""`check_agent`: does an agent of your own keep the contract?"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cmab_gym.agents.api import Agent, AgentError
from cmab_gym.agents.registry import agent_factory
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.evaluate import label_of
from cmab_gym.evaluation.play import Batch, find_environment, play

_PROBLEMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("CMAB-Tabular-v0", {"preset": "table1-a"}),
    ("CMAB-Tabular-v0", {"preset": "three-armed"}),
    ("CMAB-Latent-v0", {"preset": "three-arm-b", "bins": 10}),
)


def check_agent(agent: Any, rounds: int = 50) -> None:
    """Play an agent on small problems and check what the evaluation relies on.

    It must choose an arm in every round; the same seed must give the same choices again; and a
    trial's choices must not depend on the trials that are played beside it.

    Args:
        agent: as for `evaluate`: a name, a class or an instance.
        rounds: pulls per trial.

    Raises:
        AgentError: what is wrong, and what to do about it.
    """
    for env_id, settings in _PROBLEMS:
        again = agent_factory(agent)()  # one object for all: reset() must forget
        first, second = (_regret(again, env_id, settings, rounds, range(3)) for _ in range(2))
        label, where = label_of(again), f"on {env_id} with {settings}"
        if not np.array_equal(first, second):
            raise AgentError(
                f"{label} plays differently {where} when the same seed is used again: take all "
                "randomness from the rng that reset() is given, and let reset() forget everything"
            )
        alone = [_regret(again, env_id, settings, rounds, range(i, i + 1)) for i in range(3)]
        if not np.array_equal(first, np.concatenate(alone)):
            raise AgentError(
                f"{label} plays differently {where} when trials are played one by one: let each "
                "trial use its own row of the state and its own stream of rng only"
            )


def _regret(
    agent: Agent, env_id: str, settings: dict[str, Any], rounds: int, trials: range
) -> FloatArray:
    spec, label = find_environment(env_id, settings), label_of(agent)
    batch = Batch(
        label, partial(_itself, agent), trials, spec, settings, tuple(range(1, rounds + 1)), 0
    )
    curves = play(batch)
    if curves.failure:
        raise AgentError(curves.failure)
    return curves.regret


def _itself(agent: Agent) -> Agent:
    return agent
