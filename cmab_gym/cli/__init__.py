"""The command `cmab-gym`."""

from cmab_gym.cli.commands import main

__all__ = ["main"]
