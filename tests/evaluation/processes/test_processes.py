"""Worker processes: their errors, their time limit, and their end."""

import os
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest
from waiting import LIMIT, wait_until

from cmab_gym.evaluation import evaluate
from cmab_gym.evaluation.processes import worker
from cmab_gym.evaluation.processes.calls import WorkerEnded, in_processes, outcomes

# An agent that does not return from native code, which holds the interpreter's lock.
HANGS = """
import itertools
import pathlib

class Hangs:
    def reset(self, problem, rng):
        (pathlib.Path(__file__).parent / "playing").touch()

    def act(self):
        return sum(itertools.repeat(0))

    def update(self, arm, reward):
        pass
"""
RUN = """
import sys
from cmab_gym import evaluate
evaluate("CMAB-Tabular-v0", {"x": sys.argv[1]}, 9, 4, n_jobs=2)
"""


@pytest.fixture
def hangs(tmp_path):
    path = tmp_path / "hangs.py"
    path.write_text(HANGS)
    return path


def test_calls_are_returned_in_order_and_may_print(capfd):
    assert list(in_processes(_print_square, [(n,) for n in range(5)], 2)) == [0, 1, 4, 9, 16]
    assert "printed 4" in capfd.readouterr().err


def _print_square(n):
    print("printed", n)
    return n * n


def test_a_worker_that_ends_is_replaced_and_an_error_has_its_traceback():
    calls = outcomes(_exit_or_read, [(3,), ("4",), ("x",)], 1)
    index, ended = next(calls)
    assert isinstance(ended, WorkerEnded)
    assert (index, str(ended)) == (0, "its worker process ended without a result (exit code 3)")
    assert next(calls) == (1, 4)
    with pytest.raises(ValueError, match="invalid literal") as caught:
        next(calls)
    assert "in _exit_or_read" in str(caught.value.__cause__)


def _exit_or_read(value):
    return os._exit(value) if value == 3 else int(value)


# By value, since workers cannot import tests.
_print_square.__module__ = _exit_or_read.__module__ = "__main__"


def test_an_agent_that_never_returns_fails_alone(hangs):
    agents = {"hangs": f"{hangs}:Hangs", "random": "random"}
    results = evaluate("CMAB-Tabular-v0", agents, 20, 4, timeout=1, on_error="keep")
    assert [run.label for run in results.finished] == ["random"]
    assert results.failures["hangs"] == (
        "agent 'hangs', trials 0 to 3 in lockstep: more than timeout=1 seconds for a round "
        "(hangs.py line 10)"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere native code outlives the parent")
def test_workers_end_when_their_parent_is_killed(hangs, tmp_path):
    command = [sys.executable, "-c", RUN, f"{hangs}:Hangs"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: process.poll() is not None or (tmp_path / "playing").exists())
        process.kill()
        # Workers write to the same pipe: it ends when all of them have ended.
        assert process.communicate(timeout=LIMIT) == (None, "")


def test_a_worker_whose_parent_ended_while_it_started_runs_no_call(tmp_path):
    """The death signal is not yet set then; a call in native code would never end."""
    pipe = subprocess.PIPE
    call = cloudpickle.dumps((Path.touch, (tmp_path / "ran",)))
    with subprocess.Popen(worker.command(), stdin=pipe, stdout=pipe) as process:
        process.stdin.write(len(call).to_bytes(worker.LENGTH, "big") + call)
        process.stdin.close()  # as the end of the parent does
        assert process.wait(LIMIT) == 1
    assert not (tmp_path / "ran").exists()


def test_a_very_long_timeout_is_none():
    results = evaluate("CMAB-Tabular-v0", ["random"], 5, 1, timeout=1e300)
    assert len(results.finished) == 1


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "1"])
def test_a_timeout_must_be_a_positive_number(timeout):
    with pytest.raises(ValueError, match=r"timeout=.*: expected a number above 0"):
        evaluate("CMAB-Tabular-v0", ["ucb"], 20, 4, timeout=timeout)
