"""`Sweep`: combine environments, agents, parameters and seeds into independent tasks."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property
from itertools import product
from os.path import exists, isfile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.make import check_spellings, file_of, name_and_parameters
from cmab_gym.agents.registry import split_prefix
from cmab_gym.envs_data.downloads.datasets import DATASETS
from cmab_gym.evaluation.evaluate import CHECKPOINTS, checkpoint_rounds
from cmab_gym.evaluation.results.results import short_labels
from cmab_gym.files import checksum
from cmab_gym.late_rewards import Arrivals
from cmab_gym.text import quoted
from cmab_gym.versions import NUMBERS

MOST_TASKS = 100_000
_LABEL = 100  # characters of a task's name before its hash
_HASH = 10


@dataclass(frozen=True)
class Task:
    """One agent on one environment with one seed.

    Args:
        env_id: the environment.
        env_kwargs: its keyword arguments; the tasks of one environment share the mapping.
        agent: the agent, with its parameters: "c-ts(beta=2)".
        seed: seed of all random numbers.
        rounds, trials, checkpoints: as for `evaluate`.
        keys: position of environment and agent in the sweep ("environments[0]", "agents[1]").
        folder: where relative paths of data and agents start; "" is the current folder.
        parameters: the agent's parameters that the sweep gives as a mapping; `agent` includes
            them.
        arrivals: when the agent gets its rewards.
    """

    env_id: str
    env_kwargs: Mapping[str, Any]
    agent: str
    seed: int
    rounds: int
    trials: int
    checkpoints: int | Sequence[int] | Literal["log"]
    keys: tuple[str, str] = field(compare=False)
    folder: str = field(compare=False, default="")
    parameters: Mapping[str, Any] = field(compare=False, default_factory=dict)
    arrivals: Arrivals = field(default_factory=Arrivals)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that decides the task's numbers, for JSON.

        This includes the checksums of the agent's file and of those among the environment's keyword
        arguments: if a file changes, the task is a new one.
        """
        settings = {each.name: getattr(self, each.name) for each in fields(self) if each.compare}
        arrivals = asdict(settings.pop("arrivals"))
        if not self.arrivals.at_once:  # so that tasks of earlier versions keep their names
            settings |= arrivals
        paths = {name: Path(self.folder, name) for name in self._files()}
        found = {name: _checksum(path) for name, path in paths.items() if isfile(path)}
        return {**settings, "numbers": NUMBERS, **({"files": found} if found else {})}

    @cached_property
    def located_kwargs(self) -> Mapping[str, Any]:
        """The keyword arguments with the path of a file of ratings as it can be opened."""
        data = self.env_kwargs.get("data")
        if not self.folder or not isinstance(data, str):
            return self.env_kwargs
        path = Path(self.folder, data)
        known = data in DATASETS and not exists(path)
        return self.env_kwargs if known else {**self.env_kwargs, "data": str(path)}

    @cached_property
    def name(self) -> str:
        """The name of the task's folder: a readable label and a short hash of `settings`."""
        text = json.dumps(self.settings, sort_keys=True, default=_plain)
        digest = hashlib.sha256(text.encode()).hexdigest()[:_HASH]
        given = [f"{key}={value}" for key, value in self.env_kwargs.items()]
        agent = self.agent.rpartition(".py:")[2].rstrip(")")
        parts = [self.env_id, *given, agent, f"seed={self.seed}"]
        label = "_".join(re.sub(r"[^A-Za-z0-9.=+-]+", "-", part) for part in parts)
        return f"{label[:_LABEL]}_{digest}"

    def _files(self) -> Iterator[str]:
        yield from (str(v) for v in self.env_kwargs.values() if isinstance(v, str | Path))
        path, colon, _ = self.agent.partition(".py:")
        if colon:
            yield from (f"{path}.py", f"{split_prefix(path)[1]}.py")
        elif file_of(self.agent) is not None:
            yield name_and_parameters(self.agent)[0]  # that of a trained agent is a path


@dataclass(frozen=True)
class Sweep:
    """Every agent on every environment with every seed.

    Args:
        environments: ids, or mappings with an `id` and keyword arguments. A list as a keyword
            argument makes one environment for each item; put a value that is itself a list into
            another list, or write it as a tuple.
        agents: names ("c-ucb", "c-ts(beta=2)", "my_agent.py:MyAgent"), or mappings with a `name`
            and parameters, with lists as for environments.
        rounds, trials, checkpoints, delay, rewards_every: as for `evaluate`, the same in every
            task.
        seeds: seeds, each 0 or more.
        source: the file that holds the sweep, for error messages.
    """

    environments: Sequence[str | Mapping[str, Any]]
    agents: Sequence[str | Mapping[str, Any]]
    rounds: int = 5000
    trials: int = 100
    seeds: Sequence[int] = (0,)
    checkpoints: int | Sequence[int] | Literal["log"] = CHECKPOINTS
    delay: int = 0
    rewards_every: int = 1
    source: str = ""

    @classmethod
    def from_file(cls, path: str | Path) -> Sweep:
        """Read a sweep from a YAML file whose keys are the arguments above.

        A value is read as on the command line (`cmab_gym.literals.read_value`). The paths of
        ratings, agents' files and trained agents are relative to the folder of the file.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: it is not YAML, gives a key twice, or has other keys.
        """
        from cmab_gym.evaluation.sweeps.sweep_file import read_sweep_file

        path = Path(path)
        read = read_sweep_file(path)
        known = [each.name for each in fields(cls) if each.name != "source"]
        if not isinstance(read, dict):
            raise ValueError(f"{path} has no keys: expected {', '.join(known)}")
        for key in read:
            if key not in known:
                raise ValueError(f"{path}: {checks.unknown('key', key, known)}")
        missing = {"environments", "agents"} - set(read)
        if missing:
            raise ValueError(f"{path}: no {sorted(missing)[0]} given: expected a list of them")
        return cls(**read, source=str(path))

    def tasks(self) -> list[Task]:
        """List the tasks, ordered by environment, then agent, then seed.

        Raises:
            ValueError: a value is wrong (the error names its key), or two tasks or agents are the
                same.
        """
        at = f"{self.source}: " if self.source else ""
        folder = str(Path(self.source).absolute().parent) if self.source else ""
        rounds = checks.whole_number(f"{at}rounds", self.rounds, 1)
        trials = checks.whole_number(f"{at}trials", self.trials, 1)
        seeds = [
            checks.whole_number(f"{at}seeds[{index}]", seed, 0)
            for index, seed in enumerate(_list(f"{at}seeds", self.seeds))
        ]
        _each_once(f"{at}seeds", seeds)
        try:
            arrivals = Arrivals(self.delay, self.rewards_every)
            checkpoint_rounds(self.checkpoints, rounds)
        except ValueError as error:
            raise ValueError(f"{at}{error}") from None
        environments = list(_expanded(f"{at}environments", self.environments, "id"))
        agents = [
            (key, _with_parameters(key, name, parameters), parameters)
            for key, name, parameters in _expanded(f"{at}agents", self.agents, "name")
        ]
        _check_count(f"{at}the sweep", len(environments) * len(agents) * len(seeds), "tasks")
        tasks = [
            Task(
                env_id,
                env_kwargs,
                agent,
                seed,
                rounds,
                trials,
                self.checkpoints,
                (env_key, agent_key),
                folder,
                parameters,
                arrivals,
            )
            for env_key, env_id, env_kwargs in environments
            for agent_key, agent, parameters in agents
            for seed in seeds
        ]
        _check_names(tasks)
        try:
            check_spellings(dict.fromkeys(agent for _, agent, _ in agents))
        except ValueError as error:
            raise ValueError(f"{at}agents: {error}") from None
        return tasks


def _list(key: str, value: Any) -> Sequence[Any]:
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence) or not value:
        given = quoted(value)
        raise ValueError(f"{key}={given}: expected a list of at least one, such as [{given}]")
    return value


def _each_once(key: str, values: Sequence[Any]) -> Sequence[Any]:
    """Return a list in which no value occurs twice; values that JSON cannot write fail later."""
    seen = set()
    for value in values:
        try:
            text = json.dumps(value, sort_keys=True, default=_plain)
        except (TypeError, ValueError):
            return values
        if text in seen:
            raise ValueError(f"{key}: {quoted(value)} is given twice: expected each value once")
        seen.add(text)
    return values


def _check_count(what: str, count: int, of: str) -> None:
    if count > MOST_TASKS:
        raise ValueError(f"{what} has {count:,} {of}: expected at most {MOST_TASKS:,}")


def _expanded(key: str, entries: Any, named: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield key, name and arguments of each combination of listed values."""
    for index, entry in enumerate(_list(key, entries)):
        own, given = f"{key}[{index}]", entry
        if isinstance(entry, str):
            given = {named: entry}
        if not isinstance(given, Mapping) or not isinstance(given.get(named), str):
            raise ValueError(
                f"{own}={quoted(entry)}: expected a name, or a mapping with {named}: NAME"
            )
        rest = {name: value for name, value in given.items() if name != named}
        values = [
            _each_once(f"{own}.{name}", _list(f"{own}.{name}", value))
            if isinstance(value, list)
            else [value]
            for name, value in rest.items()
        ]
        _check_count(own, math.prod(map(len, values)), "combinations")
        for chosen in product(*values):
            yield own, given[named], dict(zip(rest, chosen, strict=True))


def _with_parameters(key: str, name: str, given: Mapping[str, Any]) -> str:
    if given and name.endswith(")"):
        raise ValueError(
            f"{key}: {name!r} and {quoted(dict(given))}: expected parameters only once"
        )
    inside = ", ".join(f"{parameter}={value!r}" for parameter, value in given.items())
    agent = f"{name}({inside})" if inside else name
    try:
        name_and_parameters(agent)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    return agent


def _check_names(tasks: Sequence[Task]) -> None:
    seen: dict[str, Task] = {}
    for task in tasks:
        try:
            name = task.name
        except TypeError as error:
            raise ValueError(f"{task.keys[0]}: {error}") from None
        if name in seen:
            pairs = zip(seen[name].keys, task.keys, strict=True)
            where = " and ".join(key for pair in pairs if len({*pair}) > 1 for key in pair)
            raise ValueError(f"task {name} is given twice ({where}): expected each once")
        seen[name] = task


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(
        f"{value!r} cannot be written as JSON, by which a sweep recognises its tasks: expected "
        "numbers, strings, lists and mappings of them"
    )


def _checksum(path: Path) -> str:
    found = path.stat()
    return _sha256(path, found.st_mtime_ns, found.st_size)


@cache
def _sha256(path: Path, *_: int) -> str:
    """Read a file again only if its time or size has changed."""
    return checksum(path)


def columns_of(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return each task's columns, with one for each keyword argument and agent parameter."""
    agents = list(dict.fromkeys(task.agent for task in tasks))
    short = dict(zip(agents, short_labels(agents), strict=True))
    env_kwargs = dict.fromkeys(key for task in tasks for key in task.env_kwargs)
    parameters = dict.fromkeys(key for task in tasks for key in task.parameters)
    return [
        {
            "env_id": task.env_id,
            **{f"env.{key}": _cell(task.env_kwargs.get(key)) for key in env_kwargs},
            "agent": short[task.agent],
            **{f"agent.{key}": _cell(task.parameters.get(key)) for key in parameters},
            "seed": task.seed,
            "rounds": task.rounds,
            "trials": task.trials,
        }
        for task in tasks
    ]


def _cell(value: Any) -> Any:
    simple = value is None or isinstance(value, str | int | float)
    return value if simple else json.dumps(value, default=_plain)
