"""The command `cmab-gym`: its entry point, parser, commands and tables."""

from cmab_gym.cli.entry_point import main

__all__ = ["main"]
