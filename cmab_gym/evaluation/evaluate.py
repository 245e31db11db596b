"""`evaluate`: compare agents on one environment, over many trials."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.agents import fast
from cmab_gym.agents.registry import agent_factory
from cmab_gym.evaluation.play import (
    Batch,
    Curves,
    Progress,
    find_environment,
    make_environment,
)
from cmab_gym.evaluation.results import AgentRun, EvaluationError, Results
from cmab_gym.evaluation.workers import Workers, workers_of
from cmab_gym.models.base import BanditModel
from cmab_gym.versions import versions

CHECKPOINTS = 100
_BATCH = 256  # trials in lockstep at most: more cost memory and gain no speed


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
    progress: Progress | None = None,
    on_error: Literal["raise", "keep"] = "raise",
) -> Results:
    """Play every agent on the same trials and record its regret.

    All agents meet the same rewards: in round t of trial i an arm gives the same to each. The
    numbers of a trial depend on `seed` and the trial's number alone.

    Args:
        env_id: a registered environment ("CMAB-MovieLens-v0").
        agents: names, classes or instances, as for `cmab_gym.agents.registry.agent_factory`; or a
            mapping of labels to those.
        rounds: pulls per trial, 1 or more.
        trials: number of independent trials, 1 or more.
        seed: 0 or more.
        n_jobs: worker processes; -1 is one per core.
        env_kwargs: keywords of the environment.
        checkpoints: rounds at which regret is recorded; or how many, evenly spaced; or "log", for
            1, 2, ..., 9, 10, 20, ..., 90, 100, 200 and so on. The last round is always recorded.
        batch_size: trials in lockstep; changes speed and memory, no number.
        scheduler: address of a Dask scheduler ("tcp://host:8786") whose workers play, in place of
            `n_jobs` processes here; needs the extra `distributed`.
        progress: called with the number of rounds played since the last call.
        on_error: "raise" ends with an error if an agent failed, after all others have finished;
            "keep" leaves the failure in the results.

    Returns:
        The results of the agents that did not fail.

    Raises:
        ValueError: an argument is wrong.
        EvaluationError: an agent failed; `error.results` holds the others'.
    """
    rounds = checks.whole_number("rounds", rounds, 1)
    trials = checks.whole_number("trials", trials, 1)
    seed = checks.whole_number("seed", seed, 0)
    checks.choice("on_error", on_error, ("raise", "keep"))
    settings = dict(env_kwargs or {})
    given = _labels(agents)
    factories = {label: agent_factory(agent) for label, agent in given.items()}
    at = checkpoint_rounds(checkpoints, rounds)
    spec = find_environment(env_id, settings)
    with workers_of(n_jobs, scheduler) as workers:
        size = batch_size_of(batch_size, trials, workers.number)
        # Made here, so that a wrong setting is told before anything is played.
        env = make_environment(spec, size, rounds, settings)
        batches = [
            Batch(label, make, trial_range, spec, settings, at, seed)
            for label, make in factories.items()
            for trial_range in split(trials, size)
        ]
        manifest = {
            **describe_environment(env_id, settings, env),
            "agents": {label: label_of(agent) for label, agent in given.items()},
            "rounds": rounds,
            "trials": trials,
            "seed": seed,
            "log_checkpoints": isinstance(checkpoints, str),
            "n_jobs": workers.number,
            "batch_size": size,
            **describe_run(),
        }
        curves, how = _played(workers, batches, progress, env)
    runs = tuple(joined(label, curves, trials) for label in factories)
    results = Results(at, runs, {**manifest, **how})
    if on_error == "raise" and results.failures:
        raise EvaluationError(results)
    return results


def _played(
    workers: Workers, batches: Sequence[Batch], progress: Progress | None, env: Any
) -> tuple[list[Curves], dict[str, Any]]:
    """Play the batches, and say in the manifest how long it took and whether it was interrupted."""
    start, interrupted = time.perf_counter(), {}
    curves: list[Curves] = []
    try:
        curves.extend(workers.play(batches, progress, env))
    except KeyboardInterrupt:
        # The agents whose trials are all there are kept, and the others count as failed.
        interrupted = {"interrupted": True}
    return curves, {"seconds": round(time.perf_counter() - start, 3), **interrupted}


def _labels(agents: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Give every agent its label.

    Raises:
        ValueError: there is no agent, or two have one label.
    """
    if isinstance(agents, Mapping):
        pairs = list(agents.items())
    elif isinstance(agents, Iterable) and not isinstance(agents, str):
        pairs = [(label_of(agent), agent) for agent in agents]
    else:
        raise ValueError(f"agents={agents!r}: expected a list, such as [{agents!r}]")
    labels = [label for label, _ in pairs]
    wrong = [label for label in labels if not isinstance(label, str) or not label]
    if wrong:
        raise ValueError(f"label {wrong[0]!r} of an agent: expected a name, a string")
    if not labels:
        raise ValueError("no agents given: expected at least one, such as 'c-ucb'")
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise ValueError(
            f"two agents are called {sorted(twice)[0]!r}: expected each once; to play one with "
            "different settings, pass a mapping {label: agent}"
        )
    return dict(pairs)


def split(trials: int, size: int) -> list[range]:
    """Divide the trials into ranges of `size`; the last may be shorter."""
    return [range(first, min(first + size, trials)) for first in range(0, trials, size)]


def checkpoint_rounds(
    checkpoints: int | Sequence[int] | Literal["log"], rounds: int
) -> tuple[int, ...]:
    """List the rounds at which regret is recorded, increasing, the last one included.

    Args:
        checkpoints: the rounds, each from 1 to `rounds`; or how many, evenly spaced; or "log", the
            one to nine times the powers of ten, of which a longer run has the same and more.
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
        number = min(checks.whole_number("checkpoints", checkpoints, 1), rounds)
        return tuple(rounds * (i + 1) // number for i in range(number))
    chosen = {checks.whole_number("checkpoint", t, 1) for t in checkpoints}
    if chosen and max(chosen) > rounds:
        raise ValueError(f"checkpoint {max(chosen)}: expected rounds from 1 to {rounds}")
    return tuple(sorted({*chosen, rounds}))


def label_of(agent: Any) -> str:
    """Write an agent as the user would; one that has no repr of its own by its class."""
    if isinstance(agent, str):
        return agent
    if isinstance(agent, type):
        return agent.__name__
    described = repr(agent)
    return type(agent).__name__ if described.startswith("<") else described


def describe_environment(env_id: str, settings: Mapping[str, Any], env: Any) -> dict[str, Any]:
    """Say in the manifest what is played."""
    model: BanditModel = env.unwrapped.model
    return {
        "env_id": env_id,
        "env_kwargs": settings,
        "env_settings": env.unwrapped.env_kwargs,
        "reward_unit": model.reward_unit,
        "arm_names": list(model.arm_names),
        "means": model.means.tolist(),
        "provenance": dict(getattr(model, "provenance", {})),
    }


def joined(label: str, curves: Sequence[Curves], trials: int) -> AgentRun:
    """Put the batches of one agent together, by trial; the first failure speaks for all."""
    own = sorted((c for c in curves if c.label == label), key=lambda c: c.trials.start)
    seconds = sum(c.seconds for c in own)
    failures = [c.failure for c in own if c.failure]
    done = sum(len(c.trials) for c in own)
    if not failures and done < trials:
        failures = [f"agent {label!r}: interrupted, {done} of {trials} trials had finished"]
    if failures:
        nothing = np.empty((0, 0))
        return AgentRun(label, nothing, nothing.astype(np.int64), seconds, failures[0])
    regret = np.concatenate([c.regret for c in own])
    pulls = np.concatenate([c.best_arm_pulls for c in own])
    return AgentRun(label, regret, pulls, seconds)


def batch_size_of(given: int | None, trials: int, workers: int) -> int:
    """Return how many trials are played in lockstep, so that every worker has some."""
    if given is not None:
        return min(checks.whole_number("batch_size", given, 1), trials)
    return min(_BATCH, -(-trials // workers))


def describe_run() -> dict[str, Any]:
    """Say in the manifest when it was played, and with which versions."""
    numba = ["numba"] if fast.is_wanted() else []
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": versions("gymnasium", "numpy", "scipy", *numba),
    }
