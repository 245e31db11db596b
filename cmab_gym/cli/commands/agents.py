"""`cmab-gym agents`: list the agents."""

from __future__ import annotations

import argparse
import inspect

from cmab_gym.agents.registry import INDEX_AGENTS, agent_class, agent_names, split_prefix
from cmab_gym.cli.errors import OK
from cmab_gym.cli.tables import print_table


def run(_: argparse.Namespace) -> int:
    """Print every agent with its parameters."""
    rows = []
    for name in agent_names():
        cls = agent_class(name)
        summary = (inspect.getdoc(cls) or "").split("\n")[0]
        rows.append((name, summary, " ".join(_parameters(name, cls))))
    about = "description (c-: competitive arms only; tc-: tightened pseudo-rewards)"
    print_table(("name", about, "parameters"), rows)
    return OK


def _parameters(name: str, cls: type) -> list[str]:
    index_agent = INDEX_AGENTS[split_prefix(name)[0]]
    of_agent = [each for each in inspect.signature(index_agent).parameters if each != "policy"]
    return [*inspect.signature(cls).parameters, *of_agent]
