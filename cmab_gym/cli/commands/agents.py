"""`cmab-gym agents`: list the agents."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Mapping
from typing import Any

from cmab_gym.agents.identification import IDENTIFICATION_AGENTS
from cmab_gym.agents.registry import INDEX_AGENTS, agents_by_idea, is_policy
from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_json
from cmab_gym.cli.printing import print_table, say
from cmab_gym.extras import how_to_install

_DEFAULTS = "parameters and their defaults"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_json(parser)
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print every agent by idea, and what the prefixes of index policies mean."""
    ideas = agents_by_idea()
    for idea, classes in ideas.items():
        _print_classes(idea, classes)
        say("")
    every = {name: cls for classes in ideas.values() for name, cls in classes.items()}
    plain = [name for name, cls in every.items() if not is_policy(cls)]
    say(
        "A prefix gives the correlated version, with these parameters as well, of every agent "
        f"except {', '.join(plain)}:\n"
    )
    versions = {f"{prefix}NAME": cls for prefix, cls in INDEX_AGENTS.items() if prefix}
    _print_classes("prefix", versions)
    say("\nFor `cmab-gym identify`, which passes delta:\n")
    _print_classes("best arm", IDENTIFICATION_AGENTS)
    extras: dict[str, list[str]] = {}
    for name, cls in every.items():
        extras.setdefault(getattr(cls, "extra", ""), []).append(name)
    for extra, own in extras.items():
        if extra:
            say(f"\n{', '.join(own)}: need the extra {extra}: {how_to_install(extra)}")
    print_document(
        "agents",
        {
            "agents": [
                {"agent": name, "idea": idea, **_described(cls), "has_prefixes": is_policy(cls)}
                for idea, classes in ideas.items()
                for name, cls in classes.items()
            ],
            "prefixes": [
                {"prefix": prefix, **_described(cls)}
                for prefix, cls in INDEX_AGENTS.items()
                if prefix
            ],
            "identification": [
                {"agent": name, **_described(cls)} for name, cls in IDENTIFICATION_AGENTS.items()
            ],
        },
    )
    return OK


def _described(cls: type) -> dict[str, Any]:
    extra = getattr(cls, "extra", "") or None
    return {"description": _summary(cls), "parameters": _parameters(cls), "extra": extra}


def _print_classes(what: str, classes: Mapping[str, type]) -> None:
    rows = [(name, _summary(cls), _parameters(cls)) for name, cls in classes.items()]
    print_table((what, "description", _DEFAULTS), rows, text=["description", _DEFAULTS])


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").split("\n")[0]


def _parameters(cls: type) -> str:
    """Write the parameters of a class with their defaults, without a policy and without types."""
    parameters = inspect.signature(cls).parameters.values()
    return " ".join(
        str(each.replace(annotation=each.empty)) for each in parameters if each.name != "policy"
    )
