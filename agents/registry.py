"""Agents by name: the built-in table, the user's own, and the paper's published settings."""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import inspect
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from cmab_gym import checks
from cmab_gym.agents.api import Agent
from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.correlated.tightened import TightenedCBandit
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.one_trial import Copies
from cmab_gym.agents.rl.frozen import Frozen

ENTRY_POINTS = "cmab_gym.agents"
TRAINED = ".zip"  # ends the name of an agent that `cmab-gym train` wrote
# What plays an index policy, by the prefix of its name.
PLAYERS: dict[str, type[IndexAgent]] = {
    "": IndexAgent,
    "c-": CBandit,
    "tc-": TightenedCBandit,
}

Class = TypeVar("Class", bound=type)
AgentFactory = Callable[[], Agent]


@dataclass(frozen=True)
class AgentSpec:
    """A name, and where its policy or agent class is: "module:attribute" or the class."""

    name: str
    target: str | type

    def load(self) -> Any:
        """Import the class."""
        return _load_target(self.target) if isinstance(self.target, str) else self.target


_SPECS: dict[str, AgentSpec] = {
    spec.name: spec
    for spec in (
        AgentSpec("random", "cmab_gym.agents.policies.random_agent:RandomAgent"),
        AgentSpec("ucb", "cmab_gym.agents.policies.ucb:UCB"),
        AgentSpec("ts", "cmab_gym.agents.policies.ts:TS"),
        AgentSpec("kl-ucb", "cmab_gym.agents.policies.kl_ucb:KLUCB"),
        AgentSpec("ppo", "cmab_gym.agents.rl.online:PPO"),
        AgentSpec("a2c", "cmab_gym.agents.rl.online:A2C"),
        AgentSpec("dqn", "cmab_gym.agents.rl.online:DQN"),
    )
}

# What gives the curves of the paper's figures 10 to 15, whose rewards are 1 to 5 stars: B = 5 for
# UCB and the variance 4 / (n + 1) for Thompson sampling.
PUBLISHED: dict[str, dict[str, float]] = {"ucb": {"B": 5.0}, "ts": {"B": 4.0, "beta": 1.0}}


def register_agent(name: str) -> Callable[[Class], Class]:
    """Make a class known by name: a decorator for policies and agents.

    A policy (a class with `index`) is then known as `name` and `c-name`.

    Raises:
        ValueError: the name is taken by another class, or cannot be one.
    """
    _check_name(name)

    def add(cls: Class) -> Class:
        taken = _SPECS.get(name)
        if taken is not None and _identity(taken.load()) != _identity(cls):
            raise ValueError(f"agent name {name!r} belongs to {taken.target}: choose another name")
        _SPECS[name] = AgentSpec(name, cls)
        return cls

    return add


def agent_names() -> list[str]:
    """List the names that `make_agent` knows, those with a prefix included."""
    names: list[str] = []
    for spec in _all_specs().values():
        prefixes = PLAYERS if is_policy(spec.load()) else ("",)
        names += [prefix + spec.name for prefix in prefixes]
    return names


def agent_class(name: str) -> Any:
    """Return the policy or agent class behind a registered name.

    Raises:
        ValueError: the name is unknown.
    """
    specs = _all_specs()
    prefix, base = split_prefix(name)
    if base not in specs or (prefix and not is_policy(specs[base].load())):
        remedy = "; your own go by file.py:Class or module:Class"
        raise ValueError(checks.unknown("agent", name, agent_names()) + remedy)
    return specs[base].load()


def make_agent(name: str, **parameters: Any) -> Agent:
    """Build an agent from its name.

    Args:
        name: a registered name ("c-ucb"), one with parameters ("c-ucb(B=5)"), or where a class of
            your own is ("my_file.py:MyAgent", "package.module:MyPolicy"); "c-" in front of any
            index policy gives its correlated version, "tc-" the one with tightened pseudo-rewards.
            Or the file that `cmab-gym train` wrote ("model.zip").
        parameters: passed to the policy or agent; they win over those in the name.

    Raises:
        ValueError: the name or a parameter is unknown, or the class lacks a method.
        FileNotFoundError: there is no such file.
    """
    return agent_factory(name, **parameters)()


def agent_factory(agent: Any, **parameters: Any) -> AgentFactory:
    """Turn what a user calls an agent into a function that makes a new `Agent`.

    Args:
        agent: a name as for `make_agent`, a class, or an instance: of an agent, of a policy, or of
            a plain one-trial agent.
        parameters: as for `make_agent`, for a name or a class.

    Raises:
        ValueError, FileNotFoundError: as `make_agent`.
    """
    if isinstance(agent, str):
        name, in_name = _parse(agent)
        named = (*_split(name), {**in_name, **parameters})
        factory = _named_factory(*named)  # here, so that a wrong name is told at once
        # A class from a file of the user's is found again by name in each worker process, where
        # that file has not been loaded yet.
        return partial(_make_named, *named) if ".py:" in name else factory
    if isinstance(agent, type):
        return _from_class(agent, "", parameters)
    if isinstance(agent, list | tuple | dict):
        raise ValueError(f"agent {agent!r}: expected one agent, not several")
    if is_policy(agent):
        return partial(IndexAgent, agent)
    _check_methods(agent, type(agent).__name__)
    clone = partial(copy.deepcopy, agent)
    return clone if _plays_batches(agent) else partial(Copies, clone)


def published(*names: str) -> dict[str, str]:
    """Give agents the settings behind the paper's figures 10 to 15, for `evaluate`.

    Args:
        names: as for `make_agent`. Parameters in a name win.

    Returns:
        A mapping of each name to the name with parameters.
    """
    result = {}
    for label in names:
        name, given = _parse(label)
        settings = {**PUBLISHED.get(split_prefix(name)[1], {}), **given}
        inside = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        result[label] = f"{name}({inside})" if inside else name
    return result


def is_policy(thing: Any) -> bool:
    """Tell whether a class or instance is an index policy, not an agent."""
    return hasattr(thing, "index") and not hasattr(thing, "act")


def split_prefix(name: str) -> tuple[str, str]:
    """Split "c-ucb" into "c-" and "ucb"; the prefix is "" where there is none."""
    prefix = next((each for each in PLAYERS if each and name.startswith(each)), "")
    return prefix, name.removeprefix(prefix)


def _all_specs() -> dict[str, AgentSpec]:
    return {**_plugins(), **_SPECS}


@cache
def _plugins() -> dict[str, AgentSpec]:
    """Find the agents of installed packages; one that cannot be used is told and left out."""
    found = {}
    for point in _entry_points():
        try:
            _check_name(point.name)
            if point.name in _SPECS:
                raise ValueError(f"{point.name!r} is built in")
            AgentSpec(point.name, point.value).load()
            found[point.name] = AgentSpec(point.name, point.value)
        except Exception as error:
            warnings.warn(
                f"agent {point.name!r} of an installed package ({point.value}) is left out: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )
    return found


def _check_name(name: str) -> None:
    if not name or set(name) & set(":() ") or split_prefix(name)[0]:
        raise ValueError(
            f"agent name {name!r}: expected no ':', brackets, blanks or prefix, as 'c-'"
        )


@cache
def _entry_points() -> tuple[Any, ...]:
    return tuple(entry_points(group=ENTRY_POINTS))


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(text, str):
        raise ValueError(f"agent {text!r}: expected a name, such as 'c-ucb'")
    # A path may hold brackets too: the parameters come after the class, or the trained agent.
    bracket = text.find("(", max(text.rfind(".py:"), text.rfind(TRAINED)) + 1)
    if bracket < 0:
        return text, {}
    name, rest = text[:bracket], text[bracket + 1 :]
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return name, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise ValueError(f"agent {text!r}: expected name(parameter=number, ...)") from None


def _split(name: str) -> tuple[str, str]:
    """Take the prefix off, unless a file is called so; make a file's path absolute.

    A worker process may run in another folder.
    """
    if name.endswith(TRAINED):
        return "", str(Path(name).resolve())
    prefix, base = split_prefix(name)
    if prefix and Path(name.rpartition(":")[0] or "-").is_file():
        prefix, base = "", name
    where, colon, attribute = base.rpartition(":")
    if where.endswith(".py"):
        base = f"{Path(where).resolve()}{colon}{attribute}"
    return prefix, base


def _make_named(prefix: str, name: str, parameters: dict[str, Any]) -> Agent:
    return _named_factory(prefix, name, parameters)()


def without_file(make: AgentFactory) -> AgentFactory:
    """Return a factory that holds the class itself, where `make` would look for it in a file."""
    if isinstance(make, partial) and make.func is _make_named:
        return _named_factory(*make.args)
    return make


def _named_factory(prefix: str, name: str, parameters: dict[str, Any]) -> AgentFactory:
    if ":" in name and not name.endswith(TRAINED):
        cls = _load_target(name)
        if prefix and not is_policy(cls):
            raise ValueError(
                f"{name!r}: {prefix!r} needs an index policy, a class with index(), not act()"
            )
        return _from_class(cls, prefix, parameters)
    if name.endswith(TRAINED):
        factory = _from_class(Frozen, "", {"path": name, **parameters})
    else:
        factory = _from_class(agent_class(prefix + name), prefix, parameters)
    factory()  # so that a wrong parameter, or a package that is not installed, is told at once
    return factory


def _from_class(cls: Any, prefix: str, parameters: dict[str, Any]) -> AgentFactory:
    label = getattr(cls, "__name__", repr(cls))
    if not callable(cls):
        raise ValueError(f"{label} is not a class: expected an agent or policy class")
    player = PLAYERS[prefix]
    taken = inspect.signature(cls).parameters
    own = inspect.signature(player).parameters if prefix else {}
    options = {key: parameters[key] for key in parameters if key in own and key not in taken}
    parameters = {key: value for key, value in parameters.items() if key not in options}
    try:
        inspect.signature(cls).bind(**parameters)
    except TypeError as error:
        known = [*taken, *(key for key in own if key != "policy")]
        raise ValueError(f"{label}: {error}; its parameters are {known or 'none'}") from None
    if is_policy(cls):
        return partial(player, cls(**parameters), **options)
    _check_methods(cls, label)
    make = partial(cls, **parameters)
    return make if _plays_batches(cls) else partial(Copies, make)


def _check_methods(thing: Any, label: str) -> None:
    missing = [name for name in ("reset", "act", "update") if not hasattr(thing, name)]
    if missing:
        raise ValueError(
            f"{label} has no method {missing[0]}: expected reset(problem, rng), act() and "
            "update(arm, reward), or a policy with index(...)"
        )


def _plays_batches(thing: Any) -> bool:
    return "trials" in inspect.signature(thing.reset).parameters


def _load_target(target: str) -> Any:
    where, _, attribute = target.rpartition(":")
    module = _load_file(Path(where)) if where.endswith(".py") else _load_module(where)
    found = getattr(module, attribute, None)
    if found is None:
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise ValueError(checks.unknown(f"name in {where}", attribute, classes))
    return found


def _load_module(name: str) -> ModuleType:
    try:
        with _importable(Path.cwd()):
            return importlib.import_module(name)
    except ImportError as error:
        raise ValueError(
            f"cannot import {name!r} ({error}): expected an installed module, or path/to/file.py"
        ) from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: expected path/to/file.py:Class")
    return _execute(path, path.stat().st_mtime_ns)


@cache
def _execute(path: Path, _: int) -> ModuleType:
    """Run a user's file, once for each time that it was written."""
    name = f"_cmab_gym_user_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} cannot be imported: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importable(path.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let an import find the files of a folder, as Python does for a script."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _identity(cls: Any) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
