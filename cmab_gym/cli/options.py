"""The options that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from cmab_gym.cli.values import AddAgents, AddKeywords, above_0, jobs, whole

# Keyword arguments of environments that errors tell the user to pass.
_KEYWORDS = (
    *("user", "item", "rating", "category", "time", "segment_by", "genres"),
    *("separator", "encoding", "quote", "escape", "not_rated", "on_error", "data"),
)


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add the environment and its keyword arguments."""
    parser.add_argument("env", metavar="ENV", help="an environment id (see `cmab-gym envs`)")
    parser.add_argument(
        "--set",
        dest="env_kwargs",
        nargs="+",
        action=AddKeywords,
        default={},
        metavar="KEY=VALUE",
        help="keyword arguments of the environment, such as task=movie pad=0.4",
    )
    name_options(parser, {name: f"--set {name}=" for name in _KEYWORDS})


def add_agents(parser: argparse.ArgumentParser, about: str) -> None:
    """Add `--agents`."""
    parser.add_argument(
        "--agents", nargs="+", action=AddAgents, required=True, metavar="AGENT", help=about
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add `--seed`."""
    add_whole(parser, "--seed", "seed of all random numbers", 0, at_least=0)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add where and how long agents run: `--jobs`, `--scheduler` and their limits."""
    add_jobs(parser, 1)
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the workers of a Dask cluster instead, such as tcp://host:8786",
    )
    parser.add_argument(
        "--wait-for-workers",
        type=above_0("--wait-for-workers", " of seconds"),
        default=60.0,
        metavar="SECONDS",
        help="how long to wait while the cluster has no worker (default 60)",
    )
    parser.add_argument(
        "--timeout",
        type=above_0("--timeout", " of seconds"),
        metavar="SECONDS",
        help="an agent that takes longer for one round of its trials fails, and the others go on "
        "(default: no limit)",
    )
    name_options(
        parser,
        {
            "scheduler": "--scheduler",
            "timeout": "--timeout",
            "wait_for_workers": "--wait-for-workers",
        },
    )


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add `--dry-run`."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="write nothing; say what would run, and estimate its time and memory from a short run "
        "of each agent",
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add `--quiet`."""
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the numbers, not rounded, as one JSON document on standard output",
    )


def add_jobs(parser: argparse.ArgumentParser, default: int) -> None:
    """Add `--jobs`."""
    parser.add_argument(
        "--jobs",
        type=jobs,
        default=default,
        metavar="N",
        help=f"worker processes; -1: one per core (default {default})",
    )
    name_options(parser, {"n_jobs": "--jobs"})


def add_whole(
    parser: argparse.ArgumentParser,
    option: str,
    about: str,
    default: int | None = None,
    at_least: int = 1,
) -> None:
    """Add an option with an integer of at least `at_least`."""
    parser.add_argument(
        option,
        type=whole(option, at_least),
        default=default,
        metavar="N",
        help=about if default is None else f"{about} (default {default})",
    )


def name_options(parser: argparse.ArgumentParser, option_of: Mapping[str, str]) -> None:
    """Let errors name the options of these Python parameters, as `print_error` explains."""
    parser.set_defaults(option_of={**(parser.get_default("option_of") or {}), **option_of})
