"""`cmab-gym envs`: list the environments and their presets."""

from __future__ import annotations

import argparse
import inspect

import gymnasium as gym

from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_json
from cmab_gym.cli.printing import print_table, say
from cmab_gym.envs.family import COMMON
from cmab_gym.envs.registration import ENVIRONMENTS
from cmab_gym.models.presets import LATENT, TABULAR


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_json(parser)
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print every environment with its keyword arguments, and every preset."""
    rows, environments = [], []
    for entry in ENVIRONMENTS:
        cls = gym.envs.registration.load_env_creator(str(gym.spec(entry.id).entry_point))
        parameters = inspect.signature(vars(cls)["build_model"]).parameters.values()
        keywords = " ".join(f"{each.name}={each.default!r}" for each in parameters)
        defaults = {
            each.name: None if each.default is each.empty else each.default for each in parameters
        }
        about = {"id": entry.id, "description": entry.description, "env_kwargs": defaults}
        environments.append(about)
        rows.append((entry.id, entry.description, keywords))
    keywords = f"keyword arguments (and {', '.join(COMMON)})"
    print_table(("id", "description", keywords), rows, text=["description", keywords])
    say("")
    presets = [("CMAB-Tabular-v0", name, each.source) for name, each in TABULAR.items()]
    presets += [("CMAB-Latent-v0", name, each.source) for name, each in LATENT.items()]
    print_document(
        "envs",
        {
            "environments": environments,
            "presets": [dict(zip(("id", "preset", "source"), row, strict=True)) for row in presets],
        },
    )
    print_table(("id", "preset", "source"), presets, text=["source"])
    say("\nIn Python, help(cmab_gym.envs.MovieLensEnv), for example, explains the arguments.")
    return OK
