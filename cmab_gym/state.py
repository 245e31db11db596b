"""The state of what changes with time, as arrays and JSON values: saved, and loaded again.

A class declares the attributes that change after its construction or `reset`; `state_dict` returns
their values, and `load_state_dict` sets them in a new object that was made and reset in the same
way. The file of a state is an npz without pickles.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from cmab_gym.arrays import AnyArray
from cmab_gym.files import read_arrays, reading, write_whole

_TEXT = "json"  # the name of the JSON text among the arrays of a file
# A JSON object with one of these keys alone stands for something that JSON does not have.
_ARRAY, _TUPLE, _ITEMS = "$array", "$tuple", "$items"


class StateError(ValueError):
    """Something has a state that cannot be saved, or a state belongs to something else."""


class Stateful:
    """Saves and loads the attributes that a class and its bases name in `_changing`."""

    _changing: ClassVar[tuple[str, ...]] = ()

    def state_dict(self) -> dict[str, Any]:
        """Return the state: nested mappings, lists and tuples of arrays and JSON values.

        Arrays are not copied: save or copy them before the next round.

        Raises:
            StateError: an attribute has a value that cannot be saved.
        """
        return {name: state_of(getattr(self, name)) for name in self._names()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of an object that was made and reset with the same arguments.

        Args:
            state: what `state_dict` returned.

        Raises:
            StateError: the state is that of another class.
        """
        check_names(self, state, self._names())
        for name, value in state.items():
            setattr(self, name, restored(getattr(self, name), value))

    def _names(self) -> list[str]:
        classes = reversed(type(self).__mro__)  # the names of a base first
        return [name for cls in classes for name in vars(cls).get("_changing", ())]


def check_names(owner: object, state: Mapping[str, Any], names: list[str]) -> None:
    """Refuse a state that has other names than expected.

    Raises:
        StateError: names are missing, or there are others.
    """
    if set(state) != set(names):
        raise StateError(
            f"a state with {', '.join(state)}: expected {', '.join(names)}, that of "
            f"{type(owner).__name__}"
        )


def state_of(value: Any) -> Any:
    """Return a value as arrays and JSON values, for `restored`; arrays are not copied.

    Args:
        value: an array, a JSON value, a NumPy generator, an object with the methods `state_dict`
            and `load_state_dict`, or a mapping, list, tuple or deque of these.

    Raises:
        StateError: it is something else.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise StateError(f"an array of {value.dtype}: expected numbers")
        return value if isinstance(value, np.ndarray) else value.item()
    if isinstance(value, Generator):
        return state_of(value.bit_generator.state)
    if callable(getattr(value, "state_dict", None)):
        return state_of(value.state_dict())
    if isinstance(value, Mapping):
        return {key: state_of(each) for key, each in value.items()}
    if isinstance(value, list | tuple | deque):
        parts = [state_of(each) for each in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    raise StateError(
        f"{type(value).__name__} has no state that can be saved: expected the methods "
        "state_dict() and load_state_dict(state)"
    )


def restored(value: Any, state: Any) -> Any:
    """Return what has a state; where `value` can be changed in place, it is `value`, changed.

    Args:
        value: what `state_of` was called with, or its like in an object that was just reset.
        state: what it returned.
    """
    if isinstance(value, Generator):
        value.bit_generator.state = state
        return value
    if callable(getattr(value, "load_state_dict", None)):
        value.load_state_dict(state)
        return value
    if isinstance(state, np.ndarray):
        fits = isinstance(value, np.ndarray) and value.flags.writeable
        if not fits or (value.shape, value.dtype) != (state.shape, state.dtype):
            return state.copy()
        value[...] = state
        return value
    if isinstance(state, dict):
        own = value if isinstance(value, dict) else {}
        parts = {key: restored(own.get(key), each) for key, each in state.items()}
        own.clear()
        own.update(parts)
        return own
    if isinstance(state, list | tuple):
        old = list(value) if isinstance(value, list | tuple | deque) else []
        old += [None] * (len(state) - len(old))
        kind = type(value) if isinstance(value, deque) else type(state)
        return kind(restored(*each) for each in zip(old, state, strict=False))
    return state


def write_state(path: Path, state: Any) -> None:
    """Write a state, whole or not at all.

    Raises:
        StateError: it holds something other than arrays and JSON values.
        OSError: the file cannot be written.
    """
    arrays: list[AnyArray] = []
    text = json.dumps(_encoded(state, arrays))
    named: dict[str, Any] = {f"array{i}": array for i, array in enumerate(arrays)}
    named[_TEXT] = np.frombuffer(text.encode(), np.uint8)

    def write(part: Path) -> None:
        with part.open("wb") as file:
            np.savez(file, **named)

    write_whole(path, write)


def read_state(path: Path) -> Any:
    """Read what `write_state` wrote.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: it is damaged, or something else.
    """
    with reading(str(path), "expected the state of an unfinished run; delete it"):
        arrays = read_arrays(path)
        return _decoded(json.loads(arrays[_TEXT].tobytes()), arrays)


def _encoded(value: Any, arrays: list[AnyArray]) -> Any:
    """Return a JSON value; append its arrays to `arrays`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, tuple):
        return {_TUPLE: [_encoded(each, arrays) for each in value]}
    if isinstance(value, list):
        return [_encoded(each, arrays) for each in value]
    if not isinstance(value, dict):
        raise StateError(
            f"{type(value).__name__} in a state: expected arrays, numbers, strings, None, and "
            "dicts, lists and tuples of them"
        )
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: _encoded(each, arrays) for key, each in value.items()}
    return {_ITEMS: [[_encoded(each, arrays) for each in item] for item in value.items()]}


def _decoded(value: Any, arrays: Mapping[str, AnyArray]) -> Any:
    """Return what `_encoded` was called with."""
    if isinstance(value, list):
        return [_decoded(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {_ARRAY}:
        return arrays[f"array{value[_ARRAY]}"]
    if set(value) == {_TUPLE}:
        return tuple(_decoded(each, arrays) for each in value[_TUPLE])
    if set(value) == {_ITEMS}:
        return {_decoded(key, arrays): _decoded(each, arrays) for key, each in value[_ITEMS]}
    return {key: _decoded(each, arrays) for key, each in value.items()}
