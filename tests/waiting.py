"""Wait for other processes without guessing how fast the machine is."""

import time

LIMIT = 240  # seconds; far more than a busy machine needs, less than pytest's faulthandler_timeout

# An agent that creates `FOLDER/waiting` at its first pull, and goes on when `FOLDER/go` exists.
AGENT = """
import pathlib
import time

class Waits:
    def reset(self, problem, rng):
        pass

    def act(self):
        folder = pathlib.Path(FOLDER)
        (folder / "waiting").touch()
        deadline = time.monotonic() + LIMIT
        while not (folder / "go").exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no file {folder / 'go'}")
            time.sleep(0.01)
        return 0

    def update(self, arm, reward):
        pass
"""


def waiting_agent(folder):
    """Write the agent to `folder`, which has its files too, and return the name for `evaluate`."""
    path = folder / "waits.py"
    path.write_text(AGENT.replace("FOLDER", repr(str(folder))).replace("LIMIT", str(LIMIT)))
    return f"{path}:Waits"


def wait_until(condition, seconds=LIMIT):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not true within {seconds} s"
        time.sleep(0.02)
