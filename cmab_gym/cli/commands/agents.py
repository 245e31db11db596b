"""`cmab-gym agents`: list the agents."""

from __future__ import annotations

import argparse
import inspect

from cmab_gym.agents.registry import agent_class, agent_names
from cmab_gym.cli.errors import OK
from cmab_gym.cli.tables import print_table


def run(_: argparse.Namespace) -> int:
    """Print every agent with its parameters."""
    rows = []
    for name in agent_names():
        cls = agent_class(name)
        summary = (inspect.getdoc(cls) or "").split("\n")[0]
        rows.append((name, summary, " ".join(inspect.signature(cls).parameters)))
    print_table(("name", "description (c-: restricted to competitive arms)", "parameters"), rows)
    return OK
