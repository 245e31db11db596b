"""`--print-completion`: a script by which a shell completes the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from cmab_gym.cli.errors import UsageError
from cmab_gym.extras import how_to_install
from cmab_gym.text import write

SHELLS = ("bash", "zsh", "tcsh")


class PrintCompletion(argparse.Action):
    """Prints the script of a shell, and ends the program."""

    def __call__(
        self, parser: argparse.ArgumentParser, _: Any, values: Any, option: str | None = None
    ) -> None:
        """Print the script of the shell that the option names."""
        try:
            import shtab
        except ImportError as error:
            raise UsageError(
                f"{option} needs shtab ({error}): {how_to_install('completion')}"
            ) from error
        # Imported only here, since the parser imports this module.
        from cmab_gym.envs.registration import ENVIRONMENTS
        from cmab_gym.envs_data.downloads.datasets import DATASETS

        for command, action in _actions(parser):
            # shtab reads the choices, or the attribute `complete`.
            if action.metavar == "ENV":
                action.choices = [entry.id for entry in ENVIRONMENTS]
            elif action.metavar == "DATASET":
                action.choices = [*DATASETS]
            elif action.metavar == "AGENT":
                _complete_by(action, _agents_or_files(command))
            elif action.metavar in ("FILE", "FOLDER"):
                _complete_by(action, shtab.FILE if action.metavar == "FILE" else shtab.DIRECTORY)
        write(shtab.complete(parser, values))
        parser.exit()


def _actions(parser: Any) -> Iterator[tuple[str, argparse.Action]]:
    """Yield all options and positional arguments with the last word of their command."""
    parser.load()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield parser.prog.rpartition(" ")[2], action


def _complete_by(action: Any, completer: Any) -> None:
    action.complete = completer


def _agents_or_files(command: str) -> dict[str, Any]:
    """Return what completes agents by their names, and by files with classes or trained agents."""
    from cmab_gym.agents.identification import IDENTIFICATION_AGENTS
    from cmab_gym.agents.registry import agent_names

    names = " ".join(IDENTIFICATION_AGENTS if command == "identify" else agent_names())
    function = f"_cmab_gym_{command}_agents_or_files"  # shtab knows "_file" in a name
    bash = f"""
{function}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"  # shtab passes "" in place of an option
  if [[ $word == -* ]]; then
    compgen -W "${{_shtab_cmab_gym_{command}_option_strings[*]}}" -- "$word"
    return
  fi
  compgen -W "{names}" -- "$1"
  compgen -f -X '!*.py' -- "$1"
  compgen -f -X '!*.zip' -- "$1"
  compgen -d -- "$1"
}}
"""
    zsh = f"""
{function}() {{
  _alternative 'agents:agent:({names})' 'files:file:_files -g "*.(py|zip)"'
}}
"""
    preamble = {"bash": bash, "zsh": zsh}
    return {"bash": function, "zsh": function, "tcsh": f"({names})", "preamble": preamble}
