"""Run one agent on a batch of trials, in lockstep, on the native vector environment."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from cmab_gym import checks
from cmab_gym.agents.api import Agent, AgentError, TrialError, unchecked_update
from cmab_gym.agents.make import AgentFactory
from cmab_gym.arrays import AnyArray
from cmab_gym.envs.info import NO_JOINT_OUTCOME
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.envs_data.surveys.unknown import without_survey_warnings
from cmab_gym.evaluation.playing.batch_state import BatchState, StateUnusable
from cmab_gym.evaluation.playing.compiled import CompiledRun
from cmab_gym.evaluation.playing.memory import peak_memory
from cmab_gym.evaluation.playing.progress import BatchReports, OnBatch
from cmab_gym.evaluation.playing.record import Record
from cmab_gym.evaluation.processes import worker
from cmab_gym.evaluation.processes.time_limit import TimeLimit
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.late_rewards import Arrivals, RoundQueue
from cmab_gym.models.base import BanditModel
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import TrialStreams, environment_seed
from cmab_gym.text import quoted
from cmab_gym.told_problem import TOLD, ToldProblem
from cmab_gym.user_code import line_of_user

_DECIDED_HERE = {
    "autoreset_mode",
    "horizon",
    "num_envs",
    "vectorization_mode",
    "vector_kwargs",
    "wrappers",
}
_CLOCK_EVERY = 4  # rounds between looks at the clock


@dataclass(frozen=True)
class Batch:
    """One agent, a range of trials, and their environment.

    Args:
        label: what its results are found by: the agent's label, or the name of a sweep's task.
        make: makes the agent.
        trials: indices of the trials.
        spec: the environment's, so that a worker process needs no registration by the user.
        env_kwargs: keyword arguments of the environment.
        checkpoints: the rounds at which regret is recorded, increasing; the last is the horizon.
        seed: the evaluation's seed.
        timeout: seconds that the agent may take for a round; None sets no limit. Only worker
            processes obey it.
        arrivals: when the agent gets its rewards.
        record_pulls: whether to record the pulls of each arm.
        state_file: where the state is saved from time to time, and continued from if it exists;
            None saves none.
        agent: the agent's name, if the label is that of a task.
    """

    label: str
    make: AgentFactory
    trials: range
    spec: EnvSpec
    env_kwargs: Mapping[str, Any]
    checkpoints: tuple[int, ...]
    seed: int
    timeout: float | None = None
    arrivals: Arrivals = field(default_factory=Arrivals)
    record_pulls: bool = True
    state_file: Path | None = None
    agent: str | None = None

    def who(self) -> str:
        """Name the agent, for an error message."""
        if self.agent is None:
            return f"agent {self.label!r}"
        return f"task {self.label}, agent {self.agent!r}"

    def where(self) -> str:
        """Name the trials, for an error message."""
        first, last = self.trials[0], self.trials[-1]
        return f"trial {first}" if first == last else f"trials {first} to {last} in lockstep"


def find_environment(env_id: str, env_kwargs: Mapping[str, Any]) -> EnvSpec:
    """Look an environment up, and refuse keyword arguments that the evaluation decides itself.

    Raises:
        ValueError: the id is unknown or not a bandit of this package, or an argument is refused.
    """
    if not isinstance(env_id, str):
        made = getattr(getattr(env_id, "spec", None), "id", "CMAB-Tabular-v0")
        raise ValueError(
            f"env_id={env_id!r} of type {type(env_id).__name__}: expected the id of a registered "
            f"environment, such as {made!r}; pass its keyword arguments as env_kwargs={{...}}"
        )
    if not isinstance(env_kwargs, Mapping):
        raise ValueError(
            f"env_kwargs={quoted(env_kwargs)}: expected a mapping, such as {{'task': 'movie'}}"
        )
    if env_id not in gym.registry:
        known = [name for name in gym.registry if name.startswith("CMAB-")]
        raise ValueError(checks.unknown("environment", env_id, known))
    spec = gym.spec(env_id)
    entry_point: Any = spec.vector_entry_point
    if isinstance(entry_point, str):
        entry_point = gym.envs.registration.load_env_creator(entry_point)
    if not (isinstance(entry_point, type) and issubclass(entry_point, BanditVectorEnv)):
        raise ValueError(
            f"{env_id} is not a bandit of this package: expected one such as CMAB-Tabular-v0"
        )
    for name in _DECIDED_HERE & set(env_kwargs):
        raise ValueError(
            f"{name}={env_kwargs[name]!r} is not accepted here: rounds, trials and the evaluation "
            "decide it; leave it out"
        )
    return spec


def make_environment(spec: EnvSpec, trials: int, rounds: int, env_kwargs: Mapping[str, Any]) -> Any:
    """Make the native vector environment of an evaluation."""
    kwargs = {"step_info": "none", "draws": "pulls", **env_kwargs}
    return gym.make_vec(spec, num_envs=trials, horizon=rounds, **kwargs)


def find_model(env_id: str, env_kwargs: Mapping[str, Any]) -> BanditModel:
    """Return the model of an environment.

    Raises:
        ValueError: as `find_environment`, or a keyword argument is wrong.
    """
    spec = find_environment(env_id, env_kwargs)
    model: BanditModel = make_environment(spec, 1, 1, env_kwargs).unwrapped.model
    return model


@np.errstate()  # NumPy's settings are restored, if the agent changes them
def run_batch(batch: Batch, progress: OnBatch | None = None, env: Any = None) -> AgentRun:
    """Run a batch to its end, or until the agent fails.

    Args:
        batch: what to run.
        progress: called from time to time, with how far the batch has come.
        env: an environment that `make_environment` made for such a batch; None makes one.

    Returns:
        What was recorded; nothing but the failure if the agent failed.
    """
    n_trials, rounds = len(batch.trials), batch.checkpoints[-1]
    if env is None:
        with without_survey_warnings():  # `evaluate` warned when it made its own
            env = make_environment(batch.spec, n_trials, rounds, batch.env_kwargs)
    env.reset(
        seed=[environment_seed(batch.seed, trial) for trial in batch.trials],
        options={"info": False},
    )
    context, state = ErrorContext(batch), BatchState(batch.state_file)
    limit = TimeLimit(batch.timeout, worker.replies)
    record = Record(env.unwrapped.model, n_trials, batch.checkpoints, batch.record_pulls)
    report = BatchReports(progress, batch.label, batch.trials, record.mean_regret)
    try:
        with context:
            limit.start_round()
            agent: Agent = batch.make()
            limit.stop()
            streams = TrialStreams.for_trials(batch.seed, batch.trials)
            compiled = None
            if batch.arrivals.at_once:
                compiled = CompiledRun.of(agent, env, streams, record)
            else:
                _check_copes_with_late_rewards(agent)
            if compiled is None:
                limit.start_round()
                agent.reset(_problem_for(agent, env.unwrapped, rounds), n_trials, streams)
        state.start()  # after the agent's imports and compilation
        report(0, always=True)
        if compiled is not None:
            _run_compiled(compiled, rounds, context, report, state)
        else:
            _run_rounds(batch, env, agent, record, context, report, limit, state)
    except StateUnusable:
        state.forget()
        return run_batch(replace(batch, state_file=None), progress, env)
    except AgentError as error:
        state.forget()  # the user may correct the agent
        return AgentRun.failed(
            batch.label, str(error), state.seconds, batch.trials.start, cause=error.__cause__
        )
    finally:
        limit.stop()
    return AgentRun(
        batch.label,
        record.regret,
        record.best_arm_pulls,
        state.seconds,
        first_trial=batch.trials.start,
        reward=record.reward,
        competitive=record.competitive,
        pulls=record.arm_pulls(),
        peak_memory=peak_memory(),
        told=_declared(agent, "told") or "",
    )


def _problem_for(agent: Agent, env: BanditVectorEnv, rounds: int) -> BanditProblem:
    """Return what an agent is told: the problem, the horizon, and what its class asks for."""
    problem, told = env.problem.with_horizon(rounds), _declared(agent, "told")
    if told == "means":
        return ToldProblem(problem, env.model.means)
    if told == "source":
        return ToldProblem(problem, source=env.model.source_rewards())
    if told == "outcomes" and env.draws != "rounds":
        raise ValueError(NO_JOINT_OUTCOME)
    if told not in (None, *TOLD):
        raise ValueError(checks.unknown("value", str(told), list(TOLD), where="of told"))
    return problem


def _check_copes_with_late_rewards(agent: Agent) -> None:
    if _declared(agent, "needs_rewards_at_once"):
        raise ValueError(
            "it needs the reward of each pull before the next: expected delay=0 and "
            "rewards_every=1; leave them out, or leave the agent out"
        )


def _declared(agent: Agent, attribute: str) -> Any:
    """Return an attribute of the agent's policy, or of the agent itself; None without it."""
    own = getattr(agent, attribute, None)
    return getattr(getattr(agent, "policy", None), attribute, None) if own is None else own


def forget_variables(error: BaseException | None) -> None:
    """Clear the variables of the functions that an error came through; they keep an agent alive.

    What a traceback prints is kept.
    """
    seen = set()  # an error may be its own cause
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        for raised, _ in traceback.walk_tb(error.__traceback__):
            for frame, _ in traceback.walk_stack(raised):  # their callers too
                with suppress(RuntimeError):  # it is still running
                    frame.clear()
        error = error.__cause__ or error.__context__


def _run_compiled(
    compiled: CompiledRun,
    rounds: int,
    context: ErrorContext,
    report: BatchReports,
    state: BatchState,
) -> None:
    """Run the compiled loop to the end."""
    parts = {"compiled": compiled, "record": compiled.record}
    t = _begun(state, parts, report, rounds)
    while t < rounds:
        context.round = t + 1
        with context:
            t = compiled.play()
        if state.is_due(t == rounds):
            state.keep(t, parts if t < rounds else {"record": compiled.record})
        report(t, always=t == rounds)


def _run_rounds(
    batch: Batch,
    env: Any,
    agent: Agent,
    record: Record,
    context: ErrorContext,
    report: BatchReports,
    limit: TimeLimit,
    state: BatchState,
) -> None:
    """Run round by round."""
    n_trials, rounds = len(batch.trials), batch.checkpoints[-1]
    n_arms, update = env.unwrapped.model.n_arms, unchecked_update(agent)
    queue = RoundQueue[tuple[AnyArray, ...]](batch.arrivals)
    sees_all = _declared(agent, "told") == "outcomes"
    parts = {"agent": agent, "env": env.unwrapped, "record": record, "queue": queue}
    for t in range(_begun(state, parts, report, rounds) + 1, rounds + 1):
        context.round = t
        limit.start_round()
        with context:
            # A copy, since the agent may change its array later.
            arms = checks.arms_in_range("act()", agent.act(), n_trials, n_arms).copy()
        _, rewards, _, _, info = env.step(arms)
        more = (env.unwrapped.round_rewards,) if sees_all else ()
        with context:
            record.add(t, arms, rewards, info["regret"], agent)
            for arrived in queue.add((arms, rewards, *more)):
                update(*arrived)
        if t % _CLOCK_EVERY == 0 or t == rounds:
            if state.is_due(t == rounds):
                limit.stop()
                with context:
                    state.keep(t, parts if t < rounds else {"record": record})
            report(t, always=t == rounds)


def _begun(state: BatchState, parts: Mapping[str, Any], report: BatchReports, rounds: int) -> int:
    """Continue from a saved state, report its rounds, and return how many they are."""
    played = state.load(parts)
    if played:
        report(played, always=True, resumed=True)
    return played


class ErrorContext:
    """Turns any error of an agent into an `AgentError` that names agent, trial and round.

    One object serves all rounds: a generator-based context manager would add 5 us per round.

    Args:
        batch: the batch that runs.

    Attributes:
        round: the current round, which the caller sets.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.round = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        trials = self._batch.trials
        if error is None or isinstance(error, KeyboardInterrupt):
            return
        if isinstance(error, TrialError):
            where, what, cause = f"trial {trials[error.trial]}", str(error), error.__cause__
        else:
            where, cause = self._batch.where(), error
            what = f"{type(error).__name__}: {error}"
        line = line_of_user(cause)
        who = self._batch.who()
        raise AgentError(f"{who}, {where}, round {self.round}: {what}{line}") from cause
