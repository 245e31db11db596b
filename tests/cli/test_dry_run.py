"""`--dry-run`."""

import json
from pathlib import Path

import pytest

from cmab_gym.cli import main

pytestmark = pytest.mark.usefixtures("numpy_loops")

FAILING = """
class Bad:
    def reset(self, problem, rng):
        raise KeyError("x")
    def act(self): ...
    def update(self, arm, reward): ...
"""


def test_a_dry_run_says_what_would_run_and_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = ["run", "CMAB-Tabular-v0", "--agents", "ucb", "random", "--trials", "300"]
    assert main([*run, "--rounds", "20", "--dry-run"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "would run 2 agents on CMAB-Tabular-v0: 300 trials of 20 rounds" in out
    assert "about " in out
    assert "start-up) with 1 process and " in out
    assert main([*run, "--rounds", "20", "--dry-run", "--json", "--jobs", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["workers"], found["batch_size"], found["dry_run"]) == (2, 150, True)
    assert [each["agent"] for each in found["agents"]] == ["ucb", "random"]
    assert all(each["seconds"] > 0 for each in found["agents"])
    assert found["seconds"] > found["start_up"] >= 0
    assert found["memory"] > 3 * 20e6  # of three processes with Python and NumPy
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_finds_what_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FAILING)
    run = ["run", "CMAB-Tabular-v0", "--rounds", "20", "--dry-run", "--agents", "mine.py:Bad"]
    assert main(run) == 1
    assert "KeyError: 'x'" in capsys.readouterr().err
    assert main([*run[:-1], "ucbb"]) == 2
    assert main([*run[:-1], "ucb", "--set", "preset=none"]) == 2


def test_a_dry_run_of_a_sweep_counts_the_tasks_that_are_left(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plan = "environments: [CMAB-Tabular-v0]\nagents: [{}]\nrounds: 5\ntrials: 2\nseeds: [0, 1]\n"
    Path("sweep.yaml").write_text(plan.format("random"))
    assert main(["sweep", "sweep.yaml", "--quiet"]) == 0
    before = sorted(tmp_path.rglob("*"))
    Path("sweep.yaml").write_text(plan.format("random, ucb"))
    assert main(["sweep", "sweep.yaml", "--dry-run"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "CMAB-Tabular-v0 ucb 2 " in out
    assert "4 tasks: 2 finished before, 2 to run; writes to sweep" in out
    assert main(["sweep", "sweep.yaml", "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], found["finished"], len(found["agents"])) == (4, 2, 1)
    Path("mine.py").write_text(FAILING)
    Path("sweep.yaml").write_text(plan.format("'mine.py:Bad'"))
    assert main(["sweep", "sweep.yaml", "--dry-run"]) == 1
    assert "KeyError: 'x'" in capsys.readouterr().err
    assert [path for path in sorted(tmp_path.rglob("*.parquet")) if path not in before] == []
