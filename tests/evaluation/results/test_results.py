import contextlib
import json
import os
import pickle
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from waiting import LIMIT

from cmab_gym.evaluation import (
    AgentRun,
    EvaluationError,
    EvaluationInterrupted,
    Results,
    compare,
    evaluate,
    plot_regret,
)
from cmab_gym.evaluation.plots import plot_pulls
from cmab_gym.evaluation.results import parquet, results_file
from cmab_gym.files import write_csv, write_whole
from cmab_gym.text import display_width


@pytest.fixture(scope="module")
def results():
    return evaluate("CMAB-Tabular-v0", ["ucb", "c-ucb", "random"], 200, 12, seed=1)


def test_the_summary_by_hand():
    runs = (
        AgentRun(
            "a", np.array([[1.0, 2], [2, 4], [2, 6]]), np.array([[1, 2], [1, 3], [2, 4]]), 0.5
        ),
    )
    row = Results((5, 10), runs, {}).summary().iloc[0]
    assert row["regret"] == 4
    assert row["sd"] == 2
    low, high = stats.t.interval(0.95, 2, 4, 2 / np.sqrt(3))
    assert_allclose([row["low"], row["high"]], [low, high])
    assert row["best_arm_share"] == pytest.approx(0.3)
    assert row["rounds_per_second"] == 60


def test_what_is_saved_can_be_read_without_the_package(results, tmp_path):
    folder = results.save(tmp_path / "new" / "folder")
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "results.parquet"]
    frame = pd.read_parquet(folder / "results.parquet")
    assert set(frame["agent"]) == {"ucb", "c-ucb", "random"}
    assert len(frame) == 3 * 12 * 100
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["env_id"] == "CMAB-Tabular-v0"
    assert (manifest["rounds"], manifest["trials"], manifest["seed"]) == (200, 12, 1)
    assert {"cmab-gym", "gymnasium", "numpy", "python"} <= set(manifest["versions"])
    assert set(manifest["agent_seconds"]) == {"ucb", "c-ucb", "random"}


def test_what_is_loaded_is_what_was_saved(results, tmp_path):
    read = Results.load(results.save(tmp_path))
    assert read.checkpoints == results.checkpoints
    for mine, theirs in zip(results.runs, read.runs, strict=True):
        assert mine.label == theirs.label
        assert_array_equal(mine.regret, theirs.regret)
        assert_array_equal(mine.best_arm_pulls, theirs.best_arm_pulls)
    assert read.manifest["seed"] == 1
    with pytest.raises(FileNotFoundError, match=r"has no results.parquet"):
        Results.load(tmp_path / "elsewhere")
    results.to_pandas().to_parquet(tmp_path / "results.parquet")
    with pytest.raises(ValueError, match=r"expected a table of Results\.save"):
        Results.load(tmp_path)


def test_no_damaged_byte_of_a_table_is_read(tmp_path):
    saved = evaluate("CMAB-Tabular-v0", ["ucb"], 30, 2, checkpoints=3).save(tmp_path)
    path = saved / "results.parquet"
    whole, numbers = path.read_bytes(), Results.load(saved).regret("ucb")
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with contextlib.suppress(ValueError):
            # Some bytes say nothing, such as the name of the library that wrote the file.
            assert_array_equal(Results.load(saved).regret("ucb"), numbers)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("first_trial", "x"),
        ("checkpoints", []),
        ("checkpoints", [10, 5]),
        ("checkpoints", ["a", "b"]),
        ("agent_seconds", {"ucb": None}),
        ("agent_seconds", {"other": 1.0}),
        ("agent_seconds", 5),
        ("agent_peak_memory", {"ucb": "much"}),
        ("n_arms", 1),
        ("versions", ["1.0"]),
        ("agents", None),
    ],
)
def test_a_wrong_manifest_with_the_right_checksum_is_refused(key, value, tmp_path, monkeypatch):
    saved = evaluate("CMAB-Tabular-v0", ["ucb"], 10, 2, checkpoints=2).save(tmp_path)
    path = saved / results_file.TABLE
    columns, metadata = parquet.read_table(path)
    manifest = {**json.loads(metadata[results_file._TEXT]), key: value}
    metadata[results_file._TEXT] = json.dumps(manifest)
    parquet.write_table(path, columns, metadata)
    monkeypatch.setattr(results_file, "_digest", lambda *_: metadata[results_file._DIGEST])
    with pytest.raises(ValueError, match=r"results\.parquet cannot be read"):
        Results.load(saved)


def test_an_agent_that_took_no_time_has_no_speed():
    run = AgentRun("a", np.ones((2, 1)), np.ones((2, 1), dtype=np.int64), 0.0)
    assert np.isnan(Results((1,), (run,), {}).summary()["rounds_per_second"].iloc[0])


# Saves the run in `new` over a copy of the one in `old`, again and again, each time in a process
# that is killed (or finds the disk full) one system call later than the time before.
SAVE_AND_DIE = """
import contextlib, errno, os, resource, shutil, signal, sys
from pathlib import Path
from cmab_gym import Results

base = Path(sys.argv[1])
new, target = Results.load(base / "new"), base / "target"


def saved_in_process(how, count):
    child = os.fork()
    if child > 0:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    left = count

    def look(event, arguments):
        nonlocal left
        if event in ("open", "os.rename", "os.remove") and str(target) in str(arguments[0]):
            left -= 1
            if left == 0 and how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")

    if how == "ulimit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (500 * count, 500 * count))
    else:
        sys.addaudithook(look)
    with contextlib.suppress(OSError):
        new.save(target)
        os._exit(0)
    os._exit(1)


for how in ("kill", "full", "ulimit"):
    for count in range(1, 100):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(base / "old", target)
        done = saved_in_process(how, count)
        shape = Results.load(target).regret("ucb").shape
        assert shape in ((2, 3), (4, 5)), shape
        is_new = shape == (2, 3)
        assert not (is_new and (target / "regret.png").exists())
        assert how == "kill" or not list(target.glob(".*"))
        print(how, is_new, done)
        if done:
            break
"""


def test_at_every_moment_a_run_can_be_loaded_whole(tmp_path):
    for name, trials, checkpoints in (("old", 4, 5), ("new", 2, 3)):
        run = evaluate("CMAB-Tabular-v0", ["ucb"], 30, trials, checkpoints=checkpoints)
        run.save(tmp_path / name)
    (tmp_path / "old" / "regret.png").touch()
    command = [sys.executable, "-W", "ignore", "-c", SAVE_AND_DIE, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    outcomes = [line.split() for line in done.stdout.splitlines()]
    for how in ("kill", "full", "ulimit"):
        own = [outcome for name, *outcome in outcomes if name == how]
        assert own[0] == ["False", "False"]  # the old run is there, and an error was raised
        assert own[-1] == ["True", "True"]


def test_pictures_of_an_earlier_run_are_deleted(results, tmp_path):
    for name in ("regret.png", "regret.svg", "mine.png"):
        (tmp_path / name).touch()
    results.save(tmp_path)
    results.save(tmp_path)  # the same run
    assert (tmp_path / "regret.png").exists()
    evaluate("CMAB-Tabular-v0", ["ucb"], 30, 2).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "manifest.json",
        "mine.png",
        "results.parquet",
    ]


def test_failures_survive_saving(tmp_path):
    nothing = np.empty((0, 0))
    runs = (
        AgentRun("bad", nothing, nothing.astype(int), 0.1, "agent 'bad', trial 3, round 9: no"),
    )
    read = Results.load(Results((10,), runs, {"env_id": "x"}).save(tmp_path))
    assert read.failures == {"bad": "agent 'bad', trial 3, round 9: no"}
    assert read.to_pandas().empty


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    target = tmp_path / "file"
    target.write_text("old")

    def fails(part):
        part.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match=rf"{target} could not be written \(disk full\)"):
        write_whole(target, fails)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(FileNotFoundError, match="none/file could not be written"):
        write_whole(tmp_path / "none" / "file", fails_to_open)


def fails_to_open(part):
    part.write_text("")


def test_temporary_files_of_killed_processes_are_deleted_later(tmp_path):
    target, left = tmp_path / "file", tmp_path / ".file.1-ab.partial"
    for age, stays in ((60, True), (7200, False)):
        left.touch()
        os.utime(left, (time.time() - age,) * 2)
        write_whole(target, fails_to_open)
        assert left.exists() == stays


def test_text_that_looks_like_a_formula_gets_an_apostrophe(tmp_path):
    frame = pd.DataFrame({"agent": ["=1+1", "@x", "-x", "c-ucb"], "regret": [-1.5, 0, 1, 2]})
    write_csv(tmp_path / "x.csv", frame)
    lines = (tmp_path / "x.csv").read_text().split()
    assert lines == ["agent,regret", "'=1+1,-1.5", "'@x,0.0", "'-x,1.0", "c-ucb,2.0"]


def test_hostile_names_are_text_in_the_printed_table(hostile_results):
    lines = str(hostile_results).splitlines()
    assert len(lines) == 2 + len(hostile_results.runs)
    assert max(map(display_width, lines[1:])) < 140  # a name of 500 characters is shortened


def test_results_print_as_a_table(results):
    lines = str(results).splitlines()
    assert lines[1].split() == [
        *["agent", "regret", "sd", "low", "high", "best_arm_share"],
        "rounds_per_second",
    ]
    assert [line.split()[0] for line in lines[2:]] == ["ucb", "c-ucb", "random"]
    empty = Results((1,), (), {}).summary()
    assert empty.empty
    assert "best_arm_share" in empty.columns


def test_a_manifest_holds_arrays_in_full(tmp_path):
    pmf = np.full((3, 3, 3, 3), 1 / 81)
    results = evaluate("CMAB-Tabular-v0", ["ucb"], 20, 2, env_kwargs={"pmf": pmf})
    manifest = json.loads((results.save(tmp_path) / "manifest.json").read_text())
    assert_array_equal(manifest["env_kwargs"]["pmf"], pmf)
    assert manifest["all_env_kwargs"]["allow_invalid"] is False


@pytest.mark.parametrize("kind", [EvaluationError, EvaluationInterrupted])
def test_an_error_with_results_can_be_sent_to_another_process(results, kind):
    failed = AgentRun.failed("mine", "agent 'mine', trial 0, round 1: no")
    error = kind(replace(results, runs=(*results.runs, failed)))
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(sent) == str(error) == failed.failure
    assert_array_equal(sent.results.regret("ucb"), results.regret("ucb"))


@pytest.mark.parametrize("function", [compare, plot_regret, plot_pulls])
def test_a_folder_is_not_results(function, tmp_path):
    with pytest.raises(TypeError, match=r"expected Results; read a folder by Results\.load"):
        function(str(tmp_path), *([tmp_path / "x.png"] if function is not compare else []))
    with pytest.raises(TypeError, match=r"^None: expected Results"):
        function(None)
