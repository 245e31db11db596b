"""`evaluate`: compare agents on one environment, over many trials."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

from cmab_gym import checks
from cmab_gym.agents.make import agent_factory, check_spellings, file_of
from cmab_gym.evaluation.manifest import describe_environment, describe_run
from cmab_gym.evaluation.playing.batch import (
    Batch,
    find_environment,
    forget_variables,
    make_environment,
)
from cmab_gym.evaluation.playing.progress import BatchProgress, OnBatch, OnProgress, combined
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.results.results import (
    EvaluationError,
    EvaluationInterrupted,
    Results,
)
from cmab_gym.evaluation.results.unfinished import Kept
from cmab_gym.evaluation.workers.choose import Workers, workers_of
from cmab_gym.files import checksum
from cmab_gym.late_rewards import Arrivals
from cmab_gym.told_problem import TOLD

CHECKPOINTS = 100
WAIT_FOR_WORKERS = 60.0  # seconds
_BATCH = 256  # trials in lockstep: more take memory and are not faster


def evaluate(
    env_id: str,
    agents: Sequence[Any] | Mapping[str, Any],
    rounds: int = 5000,
    trials: int = 100,
    seed: int = 0,
    n_jobs: int = 1,
    env_kwargs: Mapping[str, Any] | None = None,
    *,
    checkpoints: int | Sequence[int] | Literal["log"] = CHECKPOINTS,
    batch_size: int | None = None,
    scheduler: str | None = None,
    progress: OnProgress | None = None,
    watch: OnBatch | None = None,
    on_error: Literal["raise", "keep"] = "raise",
    timeout: float | None = None,
    wait_for_workers: float = WAIT_FOR_WORKERS,
    delay: int = 0,
    rewards_every: int = 1,
    first_trial: int = 0,
    record_pulls: bool = True,
    folder: str | Path | None = None,
    resume: bool = False,
    **others: NoReturn,
) -> Results:
    """Run every agent on the same trials and record its regret.

    All agents get the same rewards: in trial i the n-th pull of an arm gives every agent the same
    reward (`draws="pulls"` of the environment; `draws="rounds"` in `env_kwargs` draws a joint
    outcome in each round). The numbers of a trial depend only on `seed` and the trial's index.

    Args:
        env_id: a registered environment ("CMAB-MovieLens-v0").
        agents: names, classes or instances, as for `cmab_gym.agents.make.agent_factory`; or a
            mapping of labels to those.
        rounds: pulls per trial, 1 or more.
        trials: number of independent trials, 1 or more.
        seed: 0 or more.
        n_jobs: worker processes; -1 is one per core.
        env_kwargs: keyword arguments of the environment.
        checkpoints: rounds at which regret is recorded; or how many, evenly spaced; or "log", for
            1, 2, ..., 9, 10, 20, ..., 90, 100, 200 and so on. The last round is always recorded.
        batch_size: trials in lockstep; changes speed and memory, but no result.
        scheduler: address of a Dask scheduler ("tcp://host:8786") whose workers are used instead of
            `n_jobs` processes here; needs the extra `distributed`.
        progress: called with the number of rounds since the last call.
        watch: called with a `cmab_gym.evaluation.playing.progress.BatchProgress`: agent, trials,
            rounds and regret so far. From worker processes it comes when a batch has ended.
        on_error: "raise" raises an error if an agent failed, after all others have finished;
            "keep" leaves the failure in the results.
        timeout: seconds that an agent may take for a round of the trials that it plays in lockstep;
            reset() counts as a round. An agent that takes longer fails; the others go on. Agents
            then run in worker processes, even with n_jobs=1. None sets no limit.
        wait_for_workers: seconds to wait for a worker while the cluster has none; after that, all
            unfinished agents fail.
        delay: how many rounds later the agents get each reward.
        rewards_every: they get rewards only after every so many rounds, all those that are due.
            Agents that need each reward before the next pull, such as "exp3" and "ppo", then fail.
        first_trial: index of the first trial, for trials to add to earlier ones by
            `Results.concat`.
        record_pulls: whether to record how often and when each trial pulled each arm. Takes about
            32 bytes for each arm that a trial pulls.
        folder: keeps the states of unfinished trials in its subfolder `unfinished`, every few
            seconds, until results are saved to the folder. Not with `scheduler`.
        resume: whether to play only what `folder` does not have: agents and trials that are missing
            in its results, and the rest of unfinished trials. The results then include its own. If
            the file of an agent ("my_agent.py:Mine") has changed since, its unfinished trials are
            played from the start, and its results are not added to.
        others: refused, with a message that names `env_kwargs`.

    Returns:
        The results of the agents that did not fail.

    Raises:
        TypeError: an argument is unknown.
        ValueError: an argument is wrong, or `folder` has results of another run to resume, or of
            an agent whose file has changed.
        EvaluationError: an agent failed; `error.results` holds those of the others.
        EvaluationInterrupted: Ctrl-C was pressed (a KeyboardInterrupt, with any `on_error`);
            `error.results` holds those of the agents that had finished.
    """
    if others:
        name = next(iter(others))
        near = checks.nearest(name, inspect.signature(evaluate).parameters)
        raise TypeError(
            f"evaluate() has no argument {name!r}: "
            + (f"did you mean {near[0]!r}? P" if near else "p")
            + f"ass keyword arguments of the environment as env_kwargs={others}"
        )
    rounds = checks.whole_number("rounds", rounds, 1)
    trials = checks.whole_number("trials", trials, 1)
    seed = checks.whole_number("seed", seed, 0)
    first_trial = checks.whole_number("first_trial", first_trial, 0)
    checks.choice("on_error", on_error, ("raise", "keep"))
    given = labelled(agents)
    factories = {label: agent_factory(agent) for label, agent in given.items()}
    checksums = _checksums(given)
    at = checkpoint_rounds(checkpoints, rounds)
    spec, kwargs = find_environment(env_id, env_kwargs or {}), dict(env_kwargs or {})
    arrivals = Arrivals(delay, rewards_every)
    if timeout is not None:
        timeout = checks.positive("timeout", timeout)
    with workers_of(n_jobs, scheduler, wait_for_workers, timeout) as workers:
        size = batch_size_of(batch_size, trials, workers.n_workers)
        # Made here, so that a wrong argument raises before anything runs.
        env = make_environment(spec, size, rounds, kwargs)
        manifest = {
            **describe_environment(env_id, kwargs, env),
            "agents": {label: label_of(agent) for label, agent in given.items()},
            "agent_checksums": checksums,
            "rounds": rounds,
            "trials": trials,
            "first_trial": first_trial,
            "seed": seed,
            "delay": delay,
            "rewards_every": rewards_every,
            "log_checkpoints": isinstance(checkpoints, str),
            "n_jobs": workers.n_workers,
            "batch_size": size,
            **describe_run(),
        }
        kept = Kept.opened(folder, resume, manifest, at)
        size = batch_size_of(batch_size or kept.batch_size, trials, workers.n_workers)
        manifest |= {"batch_size": size, "agents": {**kept.agents, **manifest["agents"]}}
        missing = kept.missing(list(factories), range(first_trial, first_trial + trials))
        batches = [
            Batch(
                *(label, factories[label], own, spec, kwargs, at, seed, timeout, arrivals),
                record_pulls,
                None if scheduler else kept.state_file(label, own, record_pulls, checksums),
            )
            for label, trials_left in missing.items()
            for own in trial_ranges(len(trials_left), size, trials_left.start)
        ]
        if batches:
            kept.begin(manifest, at)
        start = time.perf_counter()
        on_batch = combined(progress, watch)
        for run in kept.runs:
            if on_batch is not None and run.label in factories:
                on_batch(BatchProgress.ended(run, run.trials, rounds, resumed=True))
        parts, interruption = _run(workers, batches, on_batch, env)
        forget_variables(interruption)
    manifest["seconds"] = round(time.perf_counter() - start, 3)
    labels = dict.fromkeys([*kept.others(factories), *factories])
    runs = tuple(AgentRun.joined(label, [*kept.runs, *parts], trials) for label in labels)
    told = {run.label: TOLD[run.told] for run in runs if run.told}
    manifest["told_more"] = {**kept.told, **told}
    failed = {run.label for run in runs if run.failure}  # their files may be corrected
    checksums = {**kept.checksums, **checksums}
    manifest["agent_checksums"] = {x: checksums[x] for x in checksums if x not in failed}
    if interruption is not None:
        manifest["interrupted"] = True
        raise EvaluationInterrupted(Results(at, runs, manifest)) from interruption
    results = Results(at, runs, manifest)
    if on_error == "raise" and results.failures:
        raise EvaluationError(results) from next((run.cause for run in runs if run.cause), None)
    return results


def _checksums(agents: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksums of the files of those agents whose names mean one."""
    files = {label: file_of(agent) for label, agent in agents.items() if isinstance(agent, str)}
    return {label: checksum(file) for label, file in files.items() if file is not None}


def _run(
    workers: Workers, batches: Sequence[Batch], progress: OnBatch | None, env: Any
) -> tuple[list[AgentRun], KeyboardInterrupt | None]:
    """Run the batches until the end or an interruption, and return both."""
    parts: list[AgentRun] = []
    try:
        if batches:
            parts.extend(workers.run(batches, progress, env))
    except KeyboardInterrupt as error:
        return parts, error
    return parts, None


def labelled(agents: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Map labels to agents; a list gives each agent a label of its own.

    Raises:
        ValueError: there is no agent, two have the same label, or a list names one agent twice.
    """
    if isinstance(agents, Mapping):
        pairs = list(agents.items())
    elif isinstance(agents, Iterable) and not isinstance(agents, str):
        pairs = [(label_of(agent), agent) for agent in agents]
    else:
        raise ValueError(f"agents={agents!r}: expected a list, such as [{agents!r}]")
    labels = [label for label, _ in pairs]
    wrong = [label for label in labels if not _can_be_saved(label)]
    if wrong:
        raise ValueError(f"agent label {wrong[0]!r}: expected a non-empty string of Unicode text")
    if not labels:
        raise ValueError("no agents given: expected at least one, such as 'c-ucb'")
    shared = {label for label in labels if labels.count(label) > 1}
    if shared:
        raise ValueError(
            f"two agents have the label {sorted(shared)[0]!r}: expected each once; to compare one "
            "agent with different parameters, pass a mapping {label: agent}"
        )
    if not isinstance(agents, Mapping):
        check_spellings(agent for _, agent in pairs if isinstance(agent, str))
    return dict(pairs)


def _can_be_saved(label: Any) -> bool:
    try:
        return isinstance(label, str) and bool(label.encode())
    except UnicodeEncodeError:  # a lone surrogate, such as of an undecodable file name
        return False


def trial_ranges(trials: int, size: int, first_trial: int = 0) -> list[range]:
    """Divide the trials into ranges of `size`; the last may be shorter."""
    stop = first_trial + trials
    return [range(first, min(first + size, stop)) for first in range(first_trial, stop, size)]


def checkpoint_rounds(
    checkpoints: int | Sequence[int] | Literal["log"], rounds: int
) -> tuple[int, ...]:
    """List the rounds at which regret is recorded, increasing, the last one included.

    Args:
        checkpoints: the rounds, each from 1 to `rounds`; or how many, evenly spaced; or "log", one
            to nine times the powers of ten, so that a longer run has the same ones and more.
        rounds: the horizon.

    Raises:
        ValueError: a checkpoint is out of range.
    """
    if isinstance(checkpoints, str):
        checks.choice("checkpoints", checkpoints, ("log",))
        powers = [10**power for power in range(len(str(rounds)))]
        steps = (digit * power for power in powers for digit in range(1, 10))
        return tuple(sorted({*(t for t in steps if t <= rounds), rounds}))
    if not isinstance(checkpoints, Iterable):
        count = min(checks.whole_number("checkpoints", checkpoints, 1), rounds)
        return tuple(rounds * (i + 1) // count for i in range(count))
    chosen = {checks.whole_number("checkpoint", t, 1) for t in checkpoints}
    if chosen and max(chosen) > rounds:
        raise ValueError(f"checkpoint {max(chosen)}: expected rounds from 1 to {rounds}")
    return tuple(sorted({*chosen, rounds}))


def label_of(agent: Any) -> str:
    """Return an agent's label: its name, its repr, or the name of its class."""
    if isinstance(agent, str):
        return agent
    if isinstance(agent, type):
        return agent.__name__
    described = repr(agent)
    if described.startswith("<"):
        return type(agent).__name__
    # Without the address of an object in memory, which is another one in each run.
    return re.sub(r"<(?:[\w.<>]*\.)?(\w+) object at 0x[0-9a-f]+>", r"\1()", described)


def batch_size_of(given: int | None, trials: int, workers: int) -> int:
    """Return how many trials run in lockstep, so that every worker has some."""
    if given is not None:
        return min(checks.whole_number("batch_size", given, 1), trials)
    return min(_BATCH, -(-trials // workers))
