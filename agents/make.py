"""Making of agents from names with parameters, classes, instances and files."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from os.path import isfile
from pathlib import Path
from typing import Any

from cmab_gym.agents.api import Agent
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.loading import load_target
from cmab_gym.agents.one_trial import Copies
from cmab_gym.agents.registry import INDEX_AGENTS, agent_class, is_policy, split_prefix
from cmab_gym.agents.rl.sb3_agent import SB3Agent
from cmab_gym.agents.rl.sb3_file import is_sb3_file
from cmab_gym.agents.rl.trained import TrainedAgent
from cmab_gym.literals import read_keywords
from cmab_gym.text import quoted

AgentFactory = Callable[[], Agent]
_TRAINED = ".zip"  # suffix of the files of `cmab-gym train` and stable-baselines3

# The parameters behind the paper's figures 10 to 15, whose rewards are 1 to 5 stars: B = 5 for UCB
# and the variance 4 / (n + 1) for Thompson sampling.
PUBLISHED: dict[str, dict[str, float]] = {"ucb": {"B": 5.0}, "ts": {"B": 4.0, "beta": 1.0}}


def make_agent(name: str, **parameters: Any) -> Agent:
    """Make an agent from its name.

    Args:
        name: a registered name ("c-ucb"), one with parameters ("c-ucb(B=5)"), a class of your own
            ("my_file.py:MyAgent", "package.module:MyPolicy"), or a file that `cmab-gym train` or
            stable-baselines3 wrote ("model.zip"). The prefix "c-" gives the correlated version of
            an index policy, "tc-" the one with tightened pseudo-rewards.
        parameters: passed to the policy or agent; they override those in the name.

    Raises:
        ValueError: the name or a parameter is unknown, or the class lacks a method.
        FileNotFoundError: the file does not exist.

    Examples:
        >>> make_agent("c-ucb(B=5)")
        CBandit(UCB(B=5))
    """
    return agent_factory(name, **parameters)()


def agent_factory(agent: Any, **parameters: Any) -> AgentFactory:
    """Return a function that makes a new `Agent`.

    Args:
        agent: a name as for `make_agent`, a class, or an instance: of an agent, of a policy, or of
            a plain one-trial agent.
        parameters: as for `make_agent`, for a name or a class.

    Raises:
        ValueError, FileNotFoundError: as `make_agent`.
    """
    if isinstance(agent, str):
        return named_agent(agent, **parameters)
    if isinstance(agent, type):
        return _from_class(agent, "", parameters)
    if isinstance(agent, list | tuple | dict):
        raise ValueError(f"agent {agent!r}: expected one agent, not several")
    if is_policy(agent):
        return partial(IndexAgent, agent)
    _check_methods(agent, type(agent).__name__)
    clone = partial(copy.deepcopy, agent)
    return clone if _plays_batches(agent) else partial(Copies, clone)


def named_agent(name: str, folder: str | Path = "", /, **parameters: Any) -> AgentFactory:
    """Return a function that makes a new `Agent`, given its name.

    Args:
        name: as for `make_agent`.
        folder: where relative paths of files start; "" is the current folder.
        parameters: as for `make_agent`.

    Raises:
        ValueError, FileNotFoundError: as `make_agent`.
    """
    name, in_name = name_and_parameters(name)
    named = (*_split(name, folder), {**in_name, **parameters})
    factory = _named_factory(*named)  # here, so that a wrong name raises at once
    # A worker process must find the class of a user's file by name: it has not loaded the file.
    return partial(_make_named, *named) if ".py:" in name else factory


def published(*names: str) -> dict[str, str]:
    """Add the parameters behind the paper's figures 10 to 15 to agents' names, for `evaluate`.

    Args:
        names: as for `make_agent`. Parameters in a name take precedence.

    Returns:
        A mapping of each name to the name with parameters.

    Examples:
        >>> published("c-ucb", "ts(beta=2)")
        {'c-ucb': 'c-ucb(B=5.0)', 'ts(beta=2)': 'ts(B=4.0, beta=2)'}
    """
    result = {}
    for label in names:
        name, given = name_and_parameters(label)
        parameters = {**PUBLISHED.get(split_prefix(name)[1], {}), **given}
        inside = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        result[label] = f"{name}({inside})" if inside else name
    return result


def file_of(name: str, folder: str | Path = "") -> Path | None:
    """Return the file of an agent's class, or of a trained agent; None if its name means no file.

    Args:
        name: as for `make_agent`.
        folder: as for `named_agent`.
    """
    _, base = _split(name_and_parameters(name)[0], folder)
    path = base if base.endswith(_TRAINED) else base.rpartition(":")[0]
    return Path(path) if path.endswith((".py", _TRAINED)) else None


def without_file(make: AgentFactory) -> AgentFactory:
    """Return a factory that holds the class itself if `make` would load it from a file."""
    if isinstance(make, partial) and make.func is _make_named:
        return _named_factory(*make.args)
    return make


def name_and_parameters(text: str) -> tuple[str, dict[str, Any]]:
    """Split "c-ucb(B=5)" into "c-ucb" and {"B": 5}.

    Raises:
        ValueError: `text` is not a string, or its parameters cannot be read.
    """
    if not isinstance(text, str):
        raise ValueError(f"agent {text!r}: expected a name, such as 'c-ucb'")
    # A path may contain parentheses too: the parameters come after the class or the trained agent.
    start = text.find("(", max(text.rfind(".py:"), text.rfind(_TRAINED)) + 1)
    if start < 0:
        return text, {}
    name, rest = text[:start], text[start + 1 :].rstrip()
    try:
        if not rest.endswith(")"):
            raise ValueError("expected name(parameter=value, ...)")
        return name, read_keywords(rest[:-1])
    except ValueError as error:
        raise ValueError(f"agent {quoted(text)}: {error}") from None


def check_spellings(names: Iterable[str]) -> None:
    """Refuse two spellings of one agent.

    Raises:
        ValueError: there are two, a name is not a string, or its parameters cannot be read.

    Examples:
        >>> check_spellings(["ts", "ts(beta=2, B=1)", "ts(B=1, beta=2.0)"])
        Traceback (most recent call last):
        ValueError: 'ts(beta=2, B=1)' and 'ts(B=1, beta=2.0)' are one agent: expected it once; ...
    """
    seen: dict[Hashable, str] = {}
    for name in names:
        agent = _hashable(name_and_parameters(name))
        if agent in seen:
            raise ValueError(
                f"{seen[agent]!r} and {name!r} are one agent: expected it once; leave one out"
            )
        seen[agent] = name


def _hashable(value: Any) -> Hashable:
    """Return the same for equal literals, also for those that cannot be hashed."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return frozenset(value) if isinstance(value, set) else value


def _split(name: str, folder: str | Path) -> tuple[str, str]:
    """Split a name into prefix and rest, and make the path of a file in a folder absolute.

    A file whose name starts with a prefix is not prefixed. The path is absolute because a worker
    process may run in another folder.
    """
    if name.endswith(_TRAINED):
        return "", str(Path(folder, name).resolve())
    prefix, base = split_prefix(name)
    if prefix and isfile(Path(folder, name.rpartition(":")[0] or "-")):
        prefix, base = "", name
    where, colon, attribute = base.rpartition(":")
    if where.endswith(".py"):
        base = f"{Path(folder, where).resolve()}{colon}{attribute}"
    return prefix, base


def _make_named(prefix: str, name: str, parameters: dict[str, Any]) -> Agent:
    return _named_factory(prefix, name, parameters)()


def _named_factory(prefix: str, name: str, parameters: dict[str, Any]) -> AgentFactory:
    if ":" in name and not name.endswith(_TRAINED):
        cls = load_target(name)
        if prefix and not is_policy(cls):
            raise ValueError(
                f"{name!r}: {prefix!r} needs an index policy, a class with index() and no act()"
            )
        return _from_class(cls, prefix, parameters)
    if name.endswith(_TRAINED):
        cls = SB3Agent if is_sb3_file(Path(name)) else TrainedAgent
        factory = _from_class(cls, "", {"path": name, **parameters})
    else:
        factory = _from_class(agent_class(prefix + name), prefix, parameters)
    factory()  # so that a wrong parameter or a missing package raises at once
    return factory


def _from_class(cls: Any, prefix: str, parameters: dict[str, Any]) -> AgentFactory:
    label = getattr(cls, "__name__", repr(cls))
    if not callable(cls):
        raise ValueError(f"{label} is not a class: expected an agent or policy class")
    index_agent = INDEX_AGENTS[prefix]
    of_class = inspect.signature(cls).parameters
    of_agent = [
        key for key in inspect.signature(index_agent).parameters if key not in {"policy", *of_class}
    ]
    options = {key: parameters[key] for key in of_agent if key in parameters}
    parameters = {key: value for key, value in parameters.items() if key not in options}
    try:
        inspect.signature(cls).bind(**parameters)
    except TypeError as error:
        known = [*of_class, *of_agent] or "none"
        raise ValueError(f"{label}: {error}; its parameters are {known}") from None
    if is_policy(cls):
        return partial(index_agent, cls(**parameters), **options)
    _check_methods(cls, label)
    make = partial(cls, **parameters)
    return make if _plays_batches(cls) else partial(Copies, make)


def _check_methods(thing: Any, label: str) -> None:
    missing = [name for name in ("reset", "act", "update") if not hasattr(thing, name)]
    if missing:
        raise ValueError(
            f"{label} has no method {missing[0]}: expected reset(problem, rng), act() and "
            "update(arm, reward), or a policy with index(history, rng)"
        )


def _plays_batches(thing: Any) -> bool:
    return "trials" in inspect.signature(thing.reset).parameters
