"""The values that options accept: readers (`type=`) and actions (`action=`) for argparse."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from shlex import quote
from typing import Any, Literal

from cmab_gym.checks import positive
from cmab_gym.cli.errors import UsageError
from cmab_gym.literals import read_value


def whole(option: str, at_least: int) -> Callable[[str], int]:
    """Return a reader of integers of at least `at_least`."""

    def read(text: str) -> int:
        number = _integer(text)
        if number is None or number < at_least:
            raise UsageError(f"{option} {quote(text)}: expected an integer of at least {at_least}")
        return number

    return read


def above_0(option: str, of: str = "") -> Callable[[str], float]:
    """Return a reader of a number above 0, such as one of seconds."""

    def read(text: str) -> float:
        try:
            return positive(option, float(text))
        except ValueError:
            expected = f"{option} {quote(text)}: expected a number{of} above 0"
            raise UsageError(expected) from None

    return read


def probability(option: str) -> Callable[[str], float]:
    """Return a reader of a probability between 0 and 1, both excluded."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number < 1:
            raise UsageError(f"{option} {quote(text)}: expected a number between 0 and 1")
        return number

    return read


def jobs(text: str) -> int:
    """Read the value of `--jobs`."""
    number = _integer(text)
    if number is None or (number < 1 and number != -1):
        raise UsageError(
            f"--jobs {quote(text)}: expected an integer of at least 1, or -1 for one per core"
        )
    return number


def checkpoints(text: str) -> int | Literal["log"]:
    """Read the value of `--checkpoints`."""
    if text == "log":
        return "log"
    number = _integer(text)
    if number is None or number < 1:
        raise UsageError(f"--checkpoints {quote(text)}: expected a count of at least 1, or log")
    return number


class AddAgents(argparse.Action):
    """Adds agents to a list; each may be given once."""

    def __call__(
        self, _: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Add the values of one occurrence of the option."""
        agents = [*(getattr(namespace, self.dest) or ()), *values]
        for agent in agents:
            if agents.count(agent) > 1:
                where = option or self.metavar
                raise UsageError(
                    f"{where}: {quote(agent)} is given twice: expected each agent once; to "
                    "compare parameters, give them in parentheses, such as 'ucb(B=2)'"
                )
        setattr(namespace, self.dest, agents)


class AddKeywords(argparse.Action):
    """Adds KEY=VALUE pairs to a mapping; each key may be given once."""

    def __call__(
        self, _: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Add the values of one occurrence of the option."""
        keywords = dict(getattr(namespace, self.dest))
        for text in values:
            key, equals, value = text.partition("=")
            if not key or not equals:
                raise UsageError(f"{option} {quote(text)}: expected KEY=VALUE, such as task=movie")
            if key in keywords:
                raise UsageError(
                    f"{option}: {key}= is given twice: expected each keyword argument once"
                )
            keywords[key] = read_value(value)
        setattr(namespace, self.dest, keywords)


class AddLabels(argparse.Action):
    """Adds AGENT=NAME pairs to a mapping; agents may have an equals sign too, names may not."""

    def __call__(
        self, _: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Add the values of one occurrence of the option."""
        labels = dict(getattr(namespace, self.dest) or {})
        for text in values:
            agent, _, name = text.rpartition("=")
            if not agent or not name:
                raise UsageError(f"{option} {quote(text)}: expected AGENT=NAME, such as c-ucb=ours")
            labels[agent] = name
        setattr(namespace, self.dest, labels)


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
