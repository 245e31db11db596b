"""A pseudo-terminal as standard output and standard error."""

import fcntl
import os
import struct
import sys
import termios
import threading
from contextlib import contextmanager


@contextmanager
def pseudo_terminal(monkeypatch, columns):
    """Print to a terminal of this width; yield a list, to which all output is appended."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    chunks, output = [], []
    reader = threading.Thread(target=_read, args=(master, chunks))
    reader.start()
    with open(slave, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        yield output
    reader.join()
    os.close(master)
    output.append(b"".join(chunks).decode().replace("\r\n", "\n"))


def _read(master, chunks):
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # Linux: the other end is closed
            return
        if not chunk:
            return
        chunks.append(chunk)
