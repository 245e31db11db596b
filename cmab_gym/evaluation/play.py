"""Play one agent on a batch of trials, in lockstep, on the native vector environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from cmab_gym import checks
from cmab_gym.agents.api import Agent, AgentError, TrialError
from cmab_gym.agents.registry import AgentFactory
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.envs.base import BanditVectorEnv
from cmab_gym.streams import TrialStreams, environment_seed

Progress = Callable[[int], None]

_REPORT_EVERY = 0.1  # seconds between reports of progress


@dataclass(frozen=True)
class Batch:
    """One agent, a range of trials, and what they play.

    Args:
        label: the agent's name in the results.
        make: makes the agent.
        trials: numbers of the trials.
        env_id, env_kwargs: the environment.
        checkpoints: the rounds at which regret is recorded, increasing; the last is the horizon.
        seed: the evaluation's seed.
    """

    label: str
    make: AgentFactory
    trials: range
    env_id: str
    env_kwargs: Mapping[str, Any]
    checkpoints: tuple[int, ...]
    seed: int


@dataclass(frozen=True, eq=False)
class Curves:
    """What a batch recorded.

    Args:
        label, trials: of the batch.
        regret: float64 (trials, checkpoints), the sum of gaps so far.
        best_arm_pulls: int64 (trials, checkpoints), pulls of a best arm so far.
        seconds: how long the rounds took.
        failure: why the agent ended early, or "" if it did not.
    """

    label: str
    trials: range
    regret: FloatArray
    best_arm_pulls: IntArray
    seconds: float
    failure: str = field(default="")


def make_environment(env_id: str, trials: int, rounds: int, settings: Mapping[str, Any]) -> Any:
    """Make the native vector environment of an evaluation.

    Raises:
        ValueError: the id is unknown, not a bandit of this package, or a setting is refused.
    """
    if "horizon" in settings:
        raise ValueError(f"horizon={settings['horizon']!r} among env_kwargs: give rounds instead")
    if not isinstance(env_id, str) or env_id not in gym.registry:
        known = [name for name in gym.registry if name.startswith("CMAB-")]
        raise ValueError(checks.unknown("environment", env_id, known))
    step_info = {"step_info": "none", **settings}
    if not _is_bandit(gym.spec(env_id).vector_entry_point):
        raise ValueError(f"{env_id} is no bandit: expected a vector_entry_point of BanditVectorEnv")
    return gym.make_vec(env_id, num_envs=trials, horizon=rounds, **step_info)


def _is_bandit(entry_point: Any) -> bool:
    if isinstance(entry_point, str):
        entry_point = gym.envs.registration.load_env_creator(entry_point)
    return isinstance(entry_point, type) and issubclass(entry_point, BanditVectorEnv)


def play(batch: Batch, progress: Progress | None = None) -> Curves:
    """Play a batch to its end, or until the agent fails.

    Args:
        batch: what to play.
        progress: called now and then with the number of rounds played since the last call.

    Returns:
        The curves; with a failure, they are empty.
    """
    start = time.perf_counter()
    try:
        regret, best_arm_pulls = _play(batch, progress or (lambda rounds: None))
    except AgentError as error:
        nothing = np.empty((0, 0))
        seconds = time.perf_counter() - start
        return Curves(batch.label, batch.trials, nothing, nothing.astype(int), seconds, str(error))
    return Curves(batch.label, batch.trials, regret, best_arm_pulls, time.perf_counter() - start)


def _play(batch: Batch, progress: Progress) -> tuple[FloatArray, IntArray]:
    n_trials, rounds = len(batch.trials), batch.checkpoints[-1]
    env = make_environment(batch.env_id, n_trials, rounds, batch.env_kwargs)
    model = env.unwrapped.model
    best = model.best_arms.astype(np.int64)
    best_pulls = np.zeros(n_trials, dtype=np.int64)
    recorded_regret = np.empty((n_trials, len(batch.checkpoints)))
    recorded_best = np.empty((n_trials, len(batch.checkpoints)), dtype=np.int64)
    env.reset(seed=[environment_seed(batch.seed, trial) for trial in batch.trials])
    streams = TrialStreams.for_trials(batch.seed, batch.trials)
    with _blaming(batch, 0):
        agent: Agent = batch.make()
        agent.reset(model.problem, n_trials, streams)
    place, reported, due = 0, 0, time.perf_counter() + _REPORT_EVERY
    for t in range(1, rounds + 1):
        with _blaming(batch, t):
            arms = _checked(agent.act(), n_trials, model.n_arms)
        _, rewards, _, _, info = env.step(arms)
        with _blaming(batch, t):
            agent.update(arms, rewards)
        best_pulls += best[arms]
        if t == batch.checkpoints[place]:
            recorded_regret[:, place], recorded_best[:, place] = info["regret"], best_pulls
            place += 1
            if time.perf_counter() > due or t == rounds:
                progress((t - reported) * n_trials)
                reported, due = t, time.perf_counter() + _REPORT_EVERY
    env.close()
    return recorded_regret, recorded_best


@contextmanager
def _blaming(batch: Batch, t: int) -> Iterator[None]:
    """Turn whatever an agent raises into an error that names agent, trial and round."""
    try:
        yield
    except TrialError as error:
        trial = batch.trials[error.trial]
        raise AgentError(f"agent {batch.label!r}, trial {trial}, round {t}: {error}") from error
    except Exception as error:
        first, last = batch.trials[0], batch.trials[-1]
        where = f"trial {first}" if first == last else f"trials {first} to {last} in lockstep"
        raise AgentError(
            f"agent {batch.label!r}, {where}, round {t}: {type(error).__name__}: {error}"
        ) from error


def _checked(arms: Any, trials: int, n_arms: int) -> IntArray:
    """Return what act() gave if it is an arm for each trial; else name the first trial without."""
    array = np.asarray(arms)
    if array.shape != (trials,):
        raise ValueError(f"act() returned the shape {array.shape}: expected ({trials},)")
    if array.dtype.kind not in "iu":
        raise TrialError(
            0, f"act() returned {array[0]!r} of type {array.dtype}: expected integer arms"
        )
    if array.min() < 0 or array.max() >= n_arms:
        trial = int(np.flatnonzero((array < 0) | (array >= n_arms))[0])
        raise TrialError(
            trial, f"act() returned arm {array[trial]}: expected 0 to {n_arms - 1} ({n_arms} arms)"
        )
    return array
