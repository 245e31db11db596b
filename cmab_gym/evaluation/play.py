"""Play one agent on a batch of trials, in lockstep, on the native vector environment."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from cmab_gym import checks
from cmab_gym.agents.api import Agent, AgentError, TrialError
from cmab_gym.agents.registry import AgentFactory
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.evaluation.simulation import Simulation
from cmab_gym.models.base import BanditModel
from cmab_gym.streams import TrialStreams, environment_seed

Progress = Callable[[int], None]

_OWN_SETTINGS = {
    "autoreset_mode",
    "horizon",
    "num_envs",
    "vectorization_mode",
    "vector_kwargs",
    "wrappers",
}
_REPORT_EVERY = 0.1  # seconds between reports of progress
_LOOK_EVERY = 16  # rounds between looks at the clock


@dataclass(frozen=True)
class Batch:
    """One agent, a range of trials, and what they play.

    Args:
        label: the agent's name in the results.
        make: makes the agent.
        trials: numbers of the trials.
        spec: the environment's, so that a worker process needs no registration of the user's.
        settings: its keywords.
        checkpoints: the rounds at which regret is recorded, increasing; the last is the horizon.
        seed: the evaluation's seed.
    """

    label: str
    make: AgentFactory
    trials: range
    spec: EnvSpec
    settings: Mapping[str, Any]
    checkpoints: tuple[int, ...]
    seed: int


@dataclass(frozen=True, eq=False)
class Curves:
    """What a batch recorded.

    Args:
        label, trials: of the batch.
        regret: float64 (trials, checkpoints), the sum of gaps so far.
        best_arm_pulls: int64 (trials, checkpoints), pulls of a best arm so far.
        seconds: how long the rounds took, without making environment and agent.
        failure: why the agent ended early, or "" if it did not.
    """

    label: str
    trials: range
    regret: FloatArray
    best_arm_pulls: IntArray
    seconds: float
    failure: str = field(default="")


def find_environment(env_id: str, settings: Mapping[str, Any]) -> EnvSpec:
    """Look an environment up, and check what of its settings the evaluation decides itself.

    Raises:
        ValueError: the id is unknown, not a bandit of this package, or a setting is refused.
    """
    if not isinstance(env_id, str) or env_id not in gym.registry:
        known = [name for name in gym.registry if name.startswith("CMAB-")]
        raise ValueError(checks.unknown("environment", env_id, known))
    spec = gym.spec(env_id)
    entry_point: Any = spec.vector_entry_point
    if isinstance(entry_point, str):
        entry_point = gym.envs.registration.load_env_creator(entry_point)
    if not (isinstance(entry_point, type) and issubclass(entry_point, BanditVectorEnv)):
        raise ValueError(
            f"{env_id} is no bandit of this package: expected one such as CMAB-Tabular-v0"
        )
    for name in _OWN_SETTINGS & set(settings):
        raise ValueError(
            f"{name}={settings[name]!r} among the environment's settings: expected none, since the "
            "evaluation decides it by rounds and trials; leave it out"
        )
    return spec


def make_environment(spec: EnvSpec, trials: int, rounds: int, settings: Mapping[str, Any]) -> Any:
    """Make the native vector environment of an evaluation."""
    return gym.make_vec(spec, num_envs=trials, horizon=rounds, **{"step_info": "none", **settings})


def find_model(env_id: str, settings: Mapping[str, Any]) -> BanditModel:
    """Return the model of an environment with these keywords.

    Raises:
        ValueError: as `find_environment`, or a setting is wrong.
    """
    spec = find_environment(env_id, settings)
    model: BanditModel = make_environment(spec, 1, 1, settings).unwrapped.model
    return model


def play(batch: Batch, progress: Progress | None = None, env: Any = None) -> Curves:
    """Play a batch to its end, or until the agent fails.

    Args:
        batch: what to play.
        progress: called now and then with the number of rounds played since the last call.
        env: an environment that `make_environment` made for such a batch; None makes one.

    Returns:
        The curves; with a failure, they are empty.
    """
    if env is None:
        env = make_environment(batch.spec, len(batch.trials), batch.checkpoints[-1], batch.settings)
    seeds = [environment_seed(batch.seed, trial) for trial in batch.trials]
    env.reset(seed=seeds, options={"info": False})
    start = time.perf_counter()
    blaming = _Blaming(batch)
    try:
        with blaming:
            agent: Agent = batch.make()
            streams = TrialStreams.for_trials(batch.seed, batch.trials)
            agent.reset(env.unwrapped.problem, len(batch.trials), streams)
            simulation = Simulation.of(agent, env, batch.checkpoints)
        start = time.perf_counter()  # what an agent loads when it is first used is no round
        report = _Report(progress or (lambda rounds: None), len(batch.trials))
        if simulation is not None:
            regret, best_arm_pulls = _simulate(batch, simulation, blaming, report)
        else:
            regret, best_arm_pulls = _play(batch, env, agent, blaming, report)
    except AgentError as error:
        nothing = np.empty((0, 0))
        seconds = time.perf_counter() - start
        return Curves(batch.label, batch.trials, nothing, nothing.astype(int), seconds, str(error))
    return Curves(batch.label, batch.trials, regret, best_arm_pulls, time.perf_counter() - start)


def _simulate(
    batch: Batch, simulation: Simulation, blaming: _Blaming, report: _Report
) -> tuple[FloatArray, IntArray]:
    """Play in compiled loops."""
    t, rounds = 0, batch.checkpoints[-1]
    while t < rounds:
        t = simulation.play(blaming)
        report(t, at_end=t == rounds)
    return simulation.regret, simulation.best_arm_pulls


def _play(
    batch: Batch, env: Any, agent: Agent, blaming: _Blaming, report: _Report
) -> tuple[FloatArray, IntArray]:
    """Play round by round."""
    n_trials, rounds = len(batch.trials), batch.checkpoints[-1]
    model = env.unwrapped.model
    best = model.best_arms.astype(np.int64)
    best_pulls = np.zeros(n_trials, dtype=np.int64)
    recorded_regret = np.empty((n_trials, len(batch.checkpoints)))
    recorded_best = np.empty((n_trials, len(batch.checkpoints)), dtype=np.int64)
    place = 0
    for t in range(1, rounds + 1):
        blaming.round = t
        with blaming:
            arms = _checked(agent.act(), n_trials, model.n_arms)
        _, rewards, _, _, info = env.step(arms)
        best_pulls += best[arms]
        with blaming:
            agent.update(arms, rewards)
        if t == batch.checkpoints[place]:
            recorded_regret[:, place], recorded_best[:, place] = info["regret"], best_pulls
            place += 1
        if t % _LOOK_EVERY == 0 or t == rounds:
            report(t, at_end=t == rounds)
    return recorded_regret, recorded_best


class _Report:
    """Tells now and then how many rounds were played, all trials counted."""

    def __init__(self, progress: Progress, trials: int) -> None:
        self._progress, self._trials = progress, trials
        self._reported, self._due = 0, time.perf_counter() + _REPORT_EVERY

    def __call__(self, t: int, at_end: bool = False) -> None:
        if at_end or time.perf_counter() > self._due:
            self._progress((t - self._reported) * self._trials)
            self._reported, self._due = t, time.perf_counter() + _REPORT_EVERY


class _Blaming:
    """Turns whatever an agent raises into an error that names agent, trial and round.

    One object for all rounds: a generator made anew for each would take 5 microseconds of each.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.round = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if isinstance(error, TrialError):
            trial = f"trial {self.batch.trials[error.trial]}"
            cause = error.__cause__
            raise _agent_error(self.batch, trial, self.round, str(error), cause) from error
        if isinstance(error, Exception | SystemExit):
            first, last = self.batch.trials[0], self.batch.trials[-1]
            where = f"trial {first}" if first == last else f"trials {first} to {last} in lockstep"
            what = f"{type(error).__name__}: {error}"
            raise _agent_error(self.batch, where, self.round, what, error) from error


def _agent_error(
    batch: Batch, where: str, t: int, what: str, cause: BaseException | None
) -> AgentError:
    line = _line_of_the_user(cause)
    return AgentError(f"agent {batch.label!r}, {where}, round {t}: {what}{line}")


def _line_of_the_user(error: BaseException | None) -> str:
    """Say in which line of the user's code an error was raised; "" if it was raised here."""
    own = str(Path(__file__).resolve().parent.parent)
    frames = traceback.extract_tb(error.__traceback__) if error else []
    for frame in reversed(frames):
        path = Path(frame.filename)
        if "site-packages" not in path.parts and not str(path.resolve()).startswith(own):
            return f" ({path.name} line {frame.lineno})"
    return ""


def _checked(arms: Any, trials: int, n_arms: int) -> IntArray:
    """Copy what act() gave if it is an arm for each trial; else name the first trial without."""
    array = np.asarray(arms)
    if array.shape != (trials,):
        raise ValueError(f"act() returned the shape {array.shape}: expected ({trials},)")
    if array.dtype.kind not in "iu":
        raise TrialError(
            0, f"act() returned {array[0]!r} of type {array.dtype}: expected integer arms"
        )
    checked: IntArray = array.astype(np.int64)
    # As unsigned numbers negative ones are the largest: one pass finds both.
    if np.maximum.reduce(checked.view(np.uint64)) >= n_arms:
        trial = int(np.flatnonzero((array < 0) | (array >= n_arms))[0])
        raise TrialError(
            trial, f"act() returned arm {array[trial]}: expected 0 to {n_arms - 1} ({n_arms} arms)"
        )
    return checked
