"""How to run an evaluation again: a command, or a call in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any

from cmab_gym.agents.make import name_and_parameters
from cmab_gym.agents.registry import agent_names
from cmab_gym.evaluation.evaluate import checkpoint_rounds
from cmab_gym.evaluation.results.results import Results
from cmab_gym.literals import read_value

_CHECKPOINTS = 100  # the default of `run`
_OPTIONAL = {"delay": 0, "rewards_every": 1, "first_trial": 0}  # and their defaults


def run_again(group: Iterable[Results]) -> list[str]:
    """Return what runs results again, one command for each seed.

    A call in Python stands for a command that cannot express an argument, such as an object.
    """
    tasks: dict[str, tuple[Results, list[str]]] = {}
    for results in group:
        manifest = results.manifest
        differs = (manifest["seed"], manifest["trials"], results.checkpoints)
        _, agents = tasks.setdefault(repr(differs), (results, []))
        agents += [name for name in manifest["agents"].values() if name not in agents]
    return [_command(*task) or _call(*task) for task in tasks.values()]


def _command(results: Results, agents: list[str]) -> str | None:
    """Return the command; None if it cannot express an argument."""
    manifest = results.manifest
    words = [_as_word(value) for value in manifest["env_kwargs"].values()]
    checkpoints = _checkpoints(results)
    if (
        None in words
        or not isinstance(checkpoints, int | str)
        or manifest.get("first_trial")
        or not all(map(_is_name, agents))
    ):
        return None
    pairs = [f"{key}={word}" for key, word in zip(manifest["env_kwargs"], words, strict=True)]
    command = ["cmab-gym", "run", manifest["env_id"], *(["--set", *pairs] if pairs else [])]
    command += ["--agents", *agents]
    command += ["--rounds", manifest["rounds"], "--trials", manifest["trials"]]
    command += ["--seed", manifest["seed"]]
    for name, value in _given(manifest).items():
        command += [f"--{name.replace('_', '-')}", value]
    if checkpoints != _CHECKPOINTS:
        command += ["--checkpoints", checkpoints]
    return " ".join(_quoted(str(word)) for word in command)


def _quoted(word: str) -> str:
    """Quote a word for a shell; in double quotes if it has single ones, which is easier to read."""
    return f'"{word}"' if "'" in word and not set(word) & set('"$`\\!\n') else quote(word)


def _call(results: Results, agents: list[str]) -> str:
    manifest = results.manifest
    arguments: dict[str, Any] = {
        "rounds": manifest["rounds"],
        "trials": manifest["trials"],
        "seed": manifest["seed"],
        "env_kwargs": dict(manifest["env_kwargs"]),
        "checkpoints": _checkpoints(results),
        **_given(manifest),
    }
    lines = [
        "import cmab_gym",
        "",
        "cmab_gym.evaluate(",
        f"    {manifest['env_id']!r},",
        f"    {agents!r},",
        *(f"    {name}={value!r}," for name, value in arguments.items()),
        ")",
    ]
    return "\n".join(lines)


def _given(manifest: Mapping[str, Any]) -> dict[str, int]:
    """Return the optional arguments that are not the default."""
    return {
        name: manifest[name]
        for name, default in _OPTIONAL.items()
        if manifest.get(name, default) != default
    }


def _checkpoints(results: Results) -> int | str | list[int]:
    """Return the shortest value of `checkpoints` that gives those of the results."""
    if results.manifest.get("log_checkpoints"):
        return "log"
    rounds, count = results.checkpoints[-1], len(results.checkpoints)
    if results.checkpoints == checkpoint_rounds(_CHECKPOINTS, rounds):
        return _CHECKPOINTS
    even = results.checkpoints == checkpoint_rounds(count, rounds)
    return count if even else list(results.checkpoints)


def _as_word(value: Any) -> str | None:
    """Return the text that `--set` reads as a value; None if it would read another value."""
    text = value if isinstance(value, str) else repr(value)
    is_object = text.startswith("<")  # the repr of an object, such as ratings
    return None if is_object or read_value(text) != value else text


def _is_name(agent: str) -> bool:
    """Return whether `--agents` accepts a text, as far as that is known without the files."""
    try:
        name, _ = name_and_parameters(agent)
    except ValueError:
        return False
    return name in agent_names() or ":" in name or name.endswith(".zip")
