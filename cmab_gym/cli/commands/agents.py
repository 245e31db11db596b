"""`cmab-gym agents`: list the agents."""

from __future__ import annotations

import argparse
import inspect

from cmab_gym.agents.registry import INDEX_AGENTS, agent_class, agent_names, split_prefix
from cmab_gym.cli.errors import OK
from cmab_gym.cli.tables import print_table, say

_DEFAULTS = "parameters and their defaults"


def run(_: argparse.Namespace) -> int:
    """Print every agent, and the versions of index policies that the prefixes name."""
    names = agent_names()
    classes = {name: agent_class(name) for name in names if not split_prefix(name)[0]}
    rows = [(name, _summary(cls), _parameters(cls)) for name, cls in classes.items()]
    print_table(("name", "description", _DEFAULTS), rows, text=["description", _DEFAULTS])
    say("\nA prefix gives an index policy's correlated version, with these parameters as well:\n")
    versions = [
        (prefix, " ".join(name for name in names if split_prefix(name)[0] == prefix), cls)
        for prefix, cls in INDEX_AGENTS.items()
        if prefix
    ]
    described = [(prefix, own, _summary(cls), _parameters(cls)) for prefix, own, cls in versions]
    header = ("prefix", "names", "description", _DEFAULTS)
    print_table(header, described, text=["names", "description", _DEFAULTS])
    extras: dict[str, list[str]] = {}
    for name, cls in classes.items():
        extras.setdefault(getattr(cls, "extra", ""), []).append(name)
    for extra, own in extras.items():
        if extra:
            say(f"\n{', '.join(own)}: need the extra {extra}: pip install 'cmab-gym[{extra}]'")
    return OK


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").split("\n")[0]


def _parameters(cls: type) -> str:
    """Write the parameters of a class with their defaults, without a policy and without types."""
    parameters = inspect.signature(cls).parameters.values()
    return " ".join(
        str(each.replace(annotation=each.empty)) for each in parameters if each.name != "policy"
    )
