"""Watch a parser while it reads one input after another, and collect its faults.

A parser may return, or raise a ValueError or an OSError that names the file in at most 3,000
characters. Anything else is a fault: another exception, a warning, a call that takes too long or
too much memory, code that runs, a file that changes elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tripwire import Tripwire

_SECONDS = 20  # of one input; on a busy machine nothing comes near
_MEMORY = 1 << 20  # kB that one input may add to the peak of the process
_MOST_KINDS = 100
_LONGEST = 3000  # characters of an error


class TooSlow(BaseException):
    """An input took too long."""


class Watch:
    """Counts inputs and faults; the first input of each fault is kept in a folder.

    Args:
        name: of the target.
        folder: where inputs and the summary go.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.n_inputs = self.n_refused = 0
        self.faults: Counter[str] = Counter()
        self._tripwire = Tripwire()
        signal.signal(signal.SIGALRM, _raise_too_slow)

    def read(self, read: Callable[[], Any], content: Any, names: str) -> None:
        """Let a parser read one input.

        Args:
            read: calls the parser.
            content: the input, which is kept if it shows a fault.
            names: text that each error must hold.
        """
        self.n_inputs += 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        fault = ""
        with _recorded_warnings() as warned, self._tripwire.armed() as events:
            signal.setitimer(signal.ITIMER_REAL, _SECONDS)
            try:
                read()
            except (ValueError, OSError) as error:
                self.n_refused += 1
                text = str(error)
                if names not in text or not text or len(text) > _LONGEST:
                    fault = f"message {_place(error)}"
            except Exception as error:
                fault = f"{type(error).__name__} {_place(error)}"
            except TooSlow as error:
                fault = f"slow {_place(error)}"
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        found = [fault, *warned, *events, "memory" if grown > _MEMORY else ""]
        for each in filter(None, found):
            self._keep(each, content)

    def _keep(self, fault: str, content: Any) -> None:
        self.faults[fault] += 1
        if self.faults[fault] == 1 and len(self.faults) < _MOST_KINDS:
            data = content if isinstance(content, bytes) else repr(content).encode()
            (self.folder / f"{self.name}-{len(self.faults)}.input").write_bytes(data)
            print(f"{self.name}: {fault}: {data[:200]!r}", flush=True)

    def summary(self, **more: Any) -> dict[str, Any]:
        """Return counts and faults, which are also written to the folder."""
        found = {
            "target": self.name,
            "inputs": self.n_inputs,
            "refused": self.n_refused,
            "faults": dict(self.faults),
            **more,
        }
        (self.folder / f"{self.name}.json").write_text(json.dumps(found, indent=2) + "\n")
        return found


def _raise_too_slow(number: int, frame: Any) -> None:
    raise TooSlow


def _place(error: BaseException) -> str:
    """Return the last line of this package that an error came through."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if any(part in frame.filename for part in ("/cmab_gym/", "/agents/", "/envs_data/"))
    ]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"


@contextlib.contextmanager
def _recorded_warnings() -> Iterator[list[str]]:
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    found += [f"warning {each.category.__name__}: {each.message!s:.80}" for each in caught]
