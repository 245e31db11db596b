"""`evaluate`: compare agents on one environment, over many trials."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.registry import AgentFactory, agent_factory
from cmab_gym.evaluation.play import Batch, Curves, Progress, make_environment, play
from cmab_gym.evaluation.results import AgentRun, EvaluationError, Results
from cmab_gym.models.base import BanditModel

_CHECKPOINTS = 100
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
    checkpoints: int | Sequence[int] = _CHECKPOINTS,
    batch_size: int | None = None,
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
        checkpoints: rounds at which regret is recorded, or how many, evenly spaced. The last round
            is always recorded.
        batch_size: trials in lockstep; changes speed and memory, no number.
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
    factories = labelled(agents)
    at = checkpoint_rounds(checkpoints, rounds)
    # Made once here, so that a wrong setting is told before anything is played.
    model = make_environment(env_id, 1, rounds, settings).unwrapped.model
    workers = _workers(n_jobs)
    size = _batch_size(batch_size, trials, workers)
    batches = [
        Batch(label, make, range(first, min(first + size, trials)), env_id, settings, at, seed)
        for label, make in factories.items()
        for first in range(0, trials, size)
    ]
    started = time.time()
    curves: list[Curves] = []
    # After Ctrl-C the agents whose trials are all there are kept, and the others count as failed.
    with suppress(KeyboardInterrupt):
        curves.extend(_play_all(batches, workers, progress))
    runs = tuple(_joined(label, curves, trials) for label in factories)
    manifest = {
        "env_id": env_id,
        "env_kwargs": settings,
        **_describe(model),
        "agents": {label: _written(given) for label, given in _pairs(agents)},
        "rounds": rounds,
        "trials": trials,
        "seed": seed,
        "n_jobs": workers,
        "batch_size": size,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(time.time() - started, 3),
        "versions": _versions(),
    }
    results = Results(at, runs, manifest)
    if on_error == "raise" and results.failures:
        raise EvaluationError(results)
    return results


def labelled(agents: Sequence[Any] | Mapping[str, Any]) -> dict[str, AgentFactory]:
    """Give every agent its label and its factory.

    Raises:
        ValueError: there is no agent, two have one label, or one is no agent.
    """
    if isinstance(agents, str):
        raise ValueError(f"agents={agents!r}: expected a list, such as [{agents!r}]")
    pairs = list(_pairs(agents))
    labels = [label for label, _ in pairs]
    if not labels:
        raise ValueError("no agents given: expected at least one, such as 'c-ucb'")
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise ValueError(
            f"two agents are called {sorted(twice)[0]!r}: expected different labels; pass a "
            "mapping {label: agent}"
        )
    return {label: agent_factory(given) for label, given in pairs}


def checkpoint_rounds(checkpoints: int | Sequence[int], rounds: int) -> tuple[int, ...]:
    """List the rounds at which regret is recorded, increasing, the last one included.

    Args:
        checkpoints: the rounds, each from 1 to `rounds`, or how many, evenly spaced.
        rounds: the horizon.

    Raises:
        ValueError: a checkpoint is out of range.
    """
    if isinstance(checkpoints, int):
        number = min(checks.whole_number("checkpoints", checkpoints, 1), rounds)
        return tuple(rounds * (i + 1) // number for i in range(number))
    wrong = [t for t in checkpoints if not 1 <= t <= rounds]
    if wrong:
        raise ValueError(f"checkpoint {wrong[0]}: expected rounds from 1 to {rounds}")
    return tuple(sorted({*(int(t) for t in checkpoints), rounds}))


def _pairs(agents: Sequence[Any] | Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(agents, Mapping):
        yield from agents.items()
        return
    for agent in agents:
        yield _written(agent), agent


def _written(agent: Any) -> str:
    if isinstance(agent, str):
        return agent
    return agent.__name__ if isinstance(agent, type) else repr(agent)


def _describe(model: BanditModel) -> dict[str, Any]:
    return {
        "reward_unit": model.reward_unit,
        "arm_names": list(model.arm_names),
        "means": model.means.tolist(),
    }


def _play_all(
    batches: Sequence[Batch], workers: int, progress: Progress | None
) -> Iterable[Curves]:
    if workers == 1:
        failed = ""
        for batch in batches:
            if batch.label != failed:
                curves = play(batch, progress)
                failed = batch.label if curves.failure else failed
                yield curves
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    for curves in parallel(delayed(play)(batch) for batch in batches):
        if progress is not None:
            progress(len(curves.trials) * batches[0].checkpoints[-1])
        yield curves


def _joined(label: str, curves: Sequence[Curves], trials: int) -> AgentRun:
    """Put the batches of one agent together, by trial; the first failure speaks for all."""
    own = sorted((c for c in curves if c.label == label), key=lambda c: c.trials.start)
    seconds = sum(c.seconds for c in own)
    failures = [c.failure for c in own if c.failure]
    done = sum(len(c.trials) for c in own)
    if not failures and done < trials:
        failures = [f"agent {label!r}: interrupted when {done} of {trials} trials had finished"]
    if failures:
        nothing = np.empty((0, 0))
        return AgentRun(label, nothing, nothing.astype(np.int64), seconds, failures[0])
    regret = np.concatenate([c.regret for c in own])
    pulls = np.concatenate([c.best_arm_pulls for c in own])
    return AgentRun(label, regret, pulls, seconds)


def _workers(n_jobs: int) -> int:
    if n_jobs == -1:
        return os.cpu_count() or 1
    return checks.whole_number("n_jobs", n_jobs, 1, "or -1 for one per core")


def _batch_size(given: int | None, trials: int, workers: int) -> int:
    if given is not None:
        return min(checks.whole_number("batch_size", given, 1), trials)
    return min(_BATCH, -(-trials // workers))


def _versions() -> dict[str, str]:
    packages = ("cmab-gym", "gymnasium", "numpy", "scipy")
    return {
        **{name: version(name) for name in packages},
        "python": sys.version.split()[0],
        "platform": platform.platform(),
    }
