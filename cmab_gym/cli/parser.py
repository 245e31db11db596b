"""The parser of the command line; the module of each command adds the options."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from shlex import quote
from types import MappingProxyType
from typing import Any, NoReturn

from cmab_gym import checks
from cmab_gym.cli.completion import SHELLS, PrintCompletion
from cmab_gym.cli.errors import EXIT_CODES, UsageError
from cmab_gym.versions import version_of

# The modules of `cmab_gym.cli.commands`, and their help.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "run": "compare agents on an environment",
        "identify": "count the pulls until agents know the best arm",
        "sweep": "run environments x agents x parameters x seeds",
        "compare": "say which agents differ, from saved results",
        "plot": "draw pictures of saved results",
        "report": "write a page about saved results",
        "leaderboard": "rank agents by their regret on the standard suite",
        "train": "train an agent in advance (needs the extra rl)",
        "reproduce": "run the paper's experiments and compare",
        "inspect": "print means, gaps, phi, competitive arms and bounds",
        "grade": "grade students' agents",
        "envs": "list the environments",
        "agents": "list the agents",
        "data": "download ratings, and build tables from them",
    }
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line.

    What it returns for a command has the function `run` to call, and `option_of`: see
    `cmab_gym.cli.errors.print_error`.
    """
    codes = "\n".join(f"  {code:<5}{meaning}" for code, meaning in EXIT_CODES.items())
    top = _Parser(
        prog="cmab-gym",
        description="Compare agents on correlated bandits.",
        epilog=f"exit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=version_of("cmab-gym"))
    top.add_argument(
        "--print-completion",
        choices=SHELLS,
        action=PrintCompletion,
        metavar="SHELL",
        help="print a script that completes commands in bash, zsh or tcsh (needs the extra "
        "completion)",
    )
    top.set_defaults(option_of={}, debug=False, quiet=False, json=False)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name, about in COMMANDS.items():
        commands.add_parser(name, help=about, module=f"cmab_gym.cli.commands.{name}")
    return top


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, so that `main` prints them like all others.

    Args:
        module: of a command. It is imported when the command is used, so that `cmab-gym --help`
            loads none of what commands need.
        **kwargs: those of `argparse.ArgumentParser`.
    """

    def __init__(self, module: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._module = module
        self.add_argument(
            "--debug",
            action="store_true",
            default=argparse.SUPPRESS,
            help="print the traceback of every error",
        )

    def load(self) -> None:
        """Let the module of the command add the options, if it did not yet."""
        if self._module is not None:
            import_module(self._module).add_options(self)
            self._module = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown arguments here, so that the error names the command's own options."""
        self.load()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = checks.nearest(unknown[0], self._option_string_actions)
            hint = f": did you mean {near[0]}" if near else ""
            self.error(f"unknown argument {quote(unknown[0])}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if "ENV" in message:
            message += "; put ENV first: --agents and --set take all words that follow"
        raise UsageError(f"{message.removeprefix('argument ')}; see `{self.prog} --help`")
