"""The live view of `run`."""

import re

import pytest
from pseudo_terminal import pseudo_terminal
from rich.console import Console

from cmab_gym.cli import main
from cmab_gym.cli.live_view import View, _drawn
from cmab_gym.evaluation.playing.progress import BatchProgress
from cmab_gym.text import anything, display_width

NAN = float("nan")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def view_of(n_agents, pulls=100):
    """Return a view and its clock."""
    clock = Clock()
    return View({f"a{i}": f"agent {i}" for i in range(n_agents)}, pulls, clock), clock


def drawn(view, columns, rows):
    """Return the lines of a view as text."""
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(_drawn(view, columns, rows, anything))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_regret_is_the_mean_over_the_trials_that_have_begun():
    view, _ = view_of(1)
    line = view.lines["a0"]
    assert line.regret is None
    view.add(BatchProgress("a0", range(3), 5, 15, 2.0))
    view.add(BatchProgress("a0", range(3), 10, 15, 4.0))
    assert line.regret == 4.0
    view.add(BatchProgress("a0", range(3, 4), 10, 10, 8.0))
    assert (line.regret, view.done(line)) == (5.0, 0.4)


def test_time_left_follows_the_speed_without_what_an_earlier_run_played():
    view, clock = view_of(2)
    line = view.lines["a1"]
    assert view.seconds_left(line) is view.all_seconds_left() is None
    view.add(BatchProgress("a0", range(10), 10, 100, 1.0, resumed=True))
    view.add(BatchProgress("a1", range(10), 2, 20, 1.0, resumed=True))
    assert view.seconds_left(line) is None
    clock.now = 4.0
    view.add(BatchProgress("a1", range(10), 6, 40, 1.0))
    assert view.seconds_left(line) == view.all_seconds_left() == 4.0  # 40 pulls, at 10 a second
    clock.now = 5.0
    assert view.seconds_left(line) == 3.0


def test_a_failed_agent_is_shown_and_has_no_time_left():
    view, clock = view_of(2)
    clock.now = 1.0
    view.add(BatchProgress("a0", range(10), 1, 10, 1.0))
    view.add(BatchProgress("a0", range(10), 0, 0, NAN, failed=True))
    view.add(BatchProgress("a1", range(10), 5, 50, 3.0))
    _, failed, running, total = drawn(view, 80, 24)
    assert re.fullmatch(r"agent 0 .*10% +failed +-", failed)
    assert re.fullmatch(r"agent 1 .*50% +3\.0 +0:00:0\d", running)
    assert total.startswith("1 of 2 agents, 30%")


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_forty_agents_fit_and_those_that_run_are_shown(columns):
    view, clock = view_of(40)
    for agent in range(30):
        clock.now += 1
        view.add(BatchProgress(f"a{agent}", range(10), 10, 100, 123456.7))
    view.add(BatchProgress("a39", range(10), 5, 50, 1.0))
    lines = drawn(view, columns, 12)
    assert len(lines) == 12 - 2
    assert all(display_width(line) <= columns for line in lines)
    names = [line[:8].strip() for line in lines[1:-1]]
    assert names == [*(f"agent {i}" for i in range(23, 30)), "agent 39"]
    assert lines[-1].startswith("30 of 40 agents, 76%")


@pytest.mark.usefixtures("numpy_loops")
@pytest.mark.parametrize("columns", [40, 100])
def test_a_run_in_a_terminal_shows_each_agent(columns, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = ["run", "CMAB-Tabular-v0", "--rounds", "300", "--trials", "3"]
    with pseudo_terminal(monkeypatch, columns) as output:
        assert main([*run, "--agents", "ucb", "random"]) == 0
    text = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", output[0])
    view, _, table = text.rpartition("of 2 agents")
    assert "time left" in view
    assert re.search(r"\nucb .*100% +\d+\.\d ", view)
    assert "final regret" in table
    assert "2 of 2 agents, 100%" in text
    assert all(display_width(line.rpartition("\r")[2]) <= columns for line in text.split("\n"))


@pytest.mark.usefixtures("numpy_loops")
def test_quiet_shows_no_view(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = ["run", "CMAB-Tabular-v0", "--rounds", "20", "--trials", "3", "--agents", "ucb"]
    with pseudo_terminal(monkeypatch, 80) as output:
        assert main([*run, "--quiet"]) == 0
    assert output == [""]
