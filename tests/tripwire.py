"""Notice when code that only reads files does something else: runs code, writes, or connects."""

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

_RUNS = (
    "ctypes.dlopen",
    "exec",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pickle.find_class",
    "socket.connect",
    "subprocess.Popen",
)
_CHANGES = ("os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Tripwire:
    """Records forbidden events of Python's audit hooks while it is armed.

    Forbidden are pickles, `exec`, processes, connections, and changes to files outside the folder
    of temporary files. An audit hook cannot be removed: make one `Tripwire` for a process.
    """

    def __init__(self) -> None:
        self.events: list[str] = []
        self._armed = False
        self._folders = (str(Path(tempfile.gettempdir()).resolve()),)
        sys.addaudithook(self._hook)

    @contextmanager
    def armed(self, *folders):
        """Record events in this context.

        Args:
            folders: where files may change in addition to the folder of temporary files.
        """
        self._folders += tuple(map(str, folders))
        self.events.clear()
        self._armed = True
        try:
            yield self.events
        finally:
            self._armed = False

    def _hook(self, event, arguments):
        if self._armed and self._is_forbidden(event, arguments):
            self._armed = False  # not for what the next line does
            self.events.append(f"{event} {arguments!r:.300}")
            self._armed = True

    def _is_forbidden(self, event, arguments):
        if event == "open":
            path, _, flags = arguments
            return bool(flags & _WRITES) and self._is_outside(path)
        if event in ("exec", "ctypes.dlopen") and _is_import():
            return False
        return event in _RUNS or (event in _CHANGES and self._is_outside(arguments[0]))

    def _is_outside(self, path):
        if isinstance(path, int) or path == os.devnull:
            return False
        return not os.path.realpath(os.fsdecode(path)).startswith(self._folders)


def _is_import():
    """Return whether Python is importing a module."""
    frame = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None
