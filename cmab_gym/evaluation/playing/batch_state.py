"""`BatchState`: the state of a batch, saved from time to time while it runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cmab_gym.state import StateError, read_state, restored, state_of, write_state

_SAVE_EVERY = 5.0  # seconds between two states of a batch
_SHARE = 0.05  # of the time that saving states may take


class StateUnusable(Exception):
    """A saved state cannot be continued from."""


class BatchState:
    """Saves the state of a batch from time to time, and loads it.

    Args:
        path: its file; None saves nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._due = time.monotonic() + _SAVE_EVERY
        self._start, self._before = time.perf_counter(), 0.0

    @property
    def seconds(self) -> float:
        """The time that the rounds took, with that before an interruption."""
        return self._before + time.perf_counter() - self._start

    def start(self) -> None:
        """Start the time of the rounds."""
        self._start = time.perf_counter()

    def load(self, parts: Mapping[str, Any]) -> int:
        """Continue from the saved state, if there is one of the same parts.

        Args:
            parts: what changes while the batch runs, by name, as it is before the first round. Of a
                batch that had ended, only the record is needed and loaded.

        Returns:
            How many rounds were played; 0 without a saved state.

        Raises:
            StateUnusable: the state is damaged, or that of other parts; these may have changed.
        """
        if self._path is None or not self._path.is_file():
            return 0
        try:
            state = read_state(self._path)
            if set(state["parts"]) not in ({"record"}, set(parts)):  # compiled, or not
                raise StateError(f"{list(state['parts'])}: expected {list(parts)}")
            for name, own in state["parts"].items():
                restored(parts[name], own)
            self._before = state["seconds"]
            return int(state["rounds"])
        except Exception as error:
            raise StateUnusable(self._path) from error

    def is_due(self, at_end: bool) -> bool:
        """Return whether it is time to save the state, as it always is at the end."""
        return self._path is not None and (at_end or time.monotonic() > self._due)

    def keep(self, rounds: int, parts: Mapping[str, Any]) -> None:
        """Save the state after some rounds.

        A state that cannot be saved, or a full disk, does not end the run: it is played from the
        start if it is interrupted.
        """
        if self._path is None:
            return
        begun = time.monotonic()
        try:
            state = {"rounds": rounds, "seconds": self.seconds, "parts": state_of(dict(parts))}
            write_state(self._path, state)
        except (StateError, OSError):
            self._path = None
        now = time.monotonic()
        self._due = now + max(_SAVE_EVERY, (now - begun) / _SHARE)

    def forget(self) -> None:
        """Delete the state."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
