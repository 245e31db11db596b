"""`check_agent`: does an agent of your own keep the contract?"""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab_gym.agents.api import AgentError
from cmab_gym.evaluation.evaluate import evaluate
from cmab_gym.evaluation.results import EvaluationError

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
        first, again, alone = (
            _regret(agent, env_id, settings, rounds, batch_size) for batch_size in (3, 3, 1)
        )
        where = f"on {env_id} with {settings}"
        if not np.array_equal(first, again):
            raise AgentError(
                f"{agent!r} plays differently {where} when the same seed is used again: take all "
                "randomness from the rng that reset() is given, and let reset() forget everything"
            )
        if not np.array_equal(first, alone):
            raise AgentError(
                f"{agent!r} plays differently {where} when trials are played one by one: let each "
                "trial use its own row of the state and its own stream of rng only"
            )


def _regret(agent: Any, env_id: str, settings: dict[str, Any], rounds: int, batch_size: int) -> Any:
    try:
        results = evaluate(
            env_id,
            {"agent": agent},
            rounds,
            trials=3,
            env_kwargs=settings,
            checkpoints=rounds,
            batch_size=batch_size,
        )
    except EvaluationError as error:
        raise AgentError(str(error)) from error
    return results.regret("agent")
