"""Read sweep files: YAML whose values mean the same as on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import isfile
from pathlib import Path
from typing import Any

import yaml

from cmab_gym.literals import read_value
from cmab_gym.text import quoted, shortened

_LONGEST = 300  # characters of a parser's message
_DEEPEST = 50  # levels of lists and mappings
_MOST_VALUES = 100_000  # of a file, including those that an alias repeats


def read_sweep_file(path: Path) -> Any:
    """Read a YAML file into lists, mappings with text as keys, and values.

    Values without quotes are read by `cmab_gym.literals.read_value`, as on the command line.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: it is not YAML, a key is given twice, it has a tag, or it is nested too deeply
            or too large.
    """
    if not isfile(path):
        raise FileNotFoundError(f"{path} is not a file: expected a sweep, such as sweep.yaml")
    try:
        events = yaml.parse(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        return _Reader(events).read()
    except _Refused as error:
        raise ValueError(f"{path}, {error}") from None
    # Besides its own errors, PyYAML raises others for damaged escapes and directives.
    except (yaml.YAMLError, ValueError, OverflowError, LookupError) as error:
        where = shortened(" ".join(str(error).split()), _LONGEST)
        raise ValueError(f"{path} is not YAML ({where}): expected a sweep") from None


class _Refused(Exception):
    """A line of the file is YAML that is not accepted."""

    def __init__(self, event: yaml.Event, message: str) -> None:
        super().__init__(f"line {event.start_mark.line + 1}: {message}")


class _Reader:
    """Builds values from the events of a YAML parser.

    Args:
        events: of one file.
    """

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._anchors: dict[str, tuple[Any, int]] = {}  # values, and how many they hold
        self._n_values = 0

    def read(self) -> Any:
        """Return the content of the file; None if it is empty."""
        value, documents = None, 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _Refused(event, "a second document: expected one")
                value = self._value(next(self._events), 0)
        return value

    def _value(self, event: yaml.Event, depth: int) -> Any:
        """Return the value that begins with an event."""
        if isinstance(event, yaml.AliasEvent):
            return self._repeated(event)
        if event.tag is not None:
            raise _Refused(event, f"the tag {quoted(event.tag)}: expected values without tags")
        if depth > _DEEPEST:
            raise _Refused(event, f"nested more than {_DEEPEST} levels deep")
        before = self._n_values
        self._count(event, 1)
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else _plain(event.value)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = [self._value(item, depth + 1) for item in self._until(yaml.SequenceEndEvent)]
        else:
            value = self._mapping(depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._n_values - before
        return value

    def _mapping(self, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key in self._until(yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise _Refused(key, "a list, mapping or alias as a key: expected a word")
            if key.value in mapping:
                raise _Refused(key, f"{quoted(key.value)} is given twice: expected each key once")
            mapping[key.value] = self._value(next(self._events), depth + 1)
        return mapping

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _repeated(self, event: yaml.AliasEvent) -> Any:
        if event.anchor not in self._anchors:
            raise _Refused(event, f"*{event.anchor} has no &{event.anchor} before it")
        value, n_values = self._anchors[event.anchor]
        self._count(event, n_values)
        return value

    def _count(self, event: yaml.Event, n_values: int) -> None:
        self._n_values += n_values
        if self._n_values > _MOST_VALUES:
            raise _Refused(event, f"more than {_MOST_VALUES:,} values, including those of aliases")


def _plain(text: str) -> Any:
    """Read a value without quotes; an empty one is None."""
    return read_value(text) if text else None
