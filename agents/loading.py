"""Loading of classes from modules and files: "package.module:Class" or "path/to/file.py:Class"."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from os.path import isfile
from pathlib import Path
from types import ModuleType
from typing import Any

from cmab_gym import checks
from cmab_gym.user_code import line_of_user


def load_target(target: str) -> Any:
    """Import the object that a target names.

    Args:
        target: "package.module:attribute" or "path/to/file.py:attribute".

    Raises:
        ValueError: the module cannot be imported, or has no such attribute.
        FileNotFoundError: the file does not exist.
    """
    where, _, attribute = target.rpartition(":")
    module = _load_file(Path(where)) if where.endswith(".py") else _load_module(where)
    found = getattr(module, attribute, None)
    if found is None:
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise ValueError(checks.unknown("name", attribute, classes, where=f"in {where}"))
    return found


def _load_module(name: str) -> ModuleType:
    try:
        with _importable(""):  # the current folder, if it still exists
            return importlib.import_module(name)
    except ImportError as error:
        raise ValueError(
            f"cannot import {name!r} ({error}): expected an installed module, or path/to/file.py"
        ) from error
    except (Exception, SystemExit) as error:
        raise _cannot_import(repr(name), error) from error


def _load_file(path: Path) -> ModuleType:
    if not isfile(path):
        raise FileNotFoundError(f"{path} is not a file: expected path/to/file.py:Class")
    return _execute(path, path.stat().st_mtime_ns)


@cache
def _execute(path: Path, _: int) -> ModuleType:
    """Run a user's file, once for each time of its last change."""
    name = f"_cmab_gym_user_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} cannot be imported: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _importable(str(path.parent)):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _cannot_import(path, error) from error
    return module


def _cannot_import(what: object, error: BaseException) -> ValueError:
    reason = f"{type(error).__name__}: {error}{line_of_user(error)}"
    return ValueError(f"{what} cannot be imported: {reason}")


@contextmanager
def _importable(folder: str) -> Iterator[None]:
    """Let imports find modules in a folder, as Python does for a script."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
