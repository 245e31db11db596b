import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from agent_files import MINE
from filelock import FileLock
from numpy.testing import assert_array_equal
from waiting import LIMIT, wait_until, waiting_agent

from cmab_gym.cli import main
from cmab_gym.evaluation import Results, Sweep, evaluate, sweep

FILE = """
environments:
  - id: CMAB-Tabular-v0
    preset: [table1-a, three-armed]
  - CMAB-MovieLens-v0
agents:
  - ucb
  - name: c-ts
    beta: [1, 2]
seeds: [0, 7]
rounds: 60
trials: 3
"""
TABULAR = {"id": "CMAB-Tabular-v0", "preset": "three-armed"}
SMALL = {"environments": [TABULAR], "agents": ["ucb", "c-ts"], "rounds": 60, "trials": 3}
SWEEP = [sys.executable, "-m", "cmab_gym", "sweep"]
NUMPY_LOOPS = {**os.environ, "CMAB_GYM_COMPILED": "0"}  # so that no process has to load numba


def play(plan, out, **kwargs):
    return sweep(plan, out, say=lambda message: None, **kwargs)


def regrets(out):
    """Regret of each finished task, by the name of its folder."""
    return {
        path.parent.name: Results.load(path.parent).runs[0].regret
        for path in sorted(Path(out).glob("*/results.parquet"))
    }


def folders(out):
    return [path for path in out.glob("*") if path.is_dir()]


def assert_same(one, other):
    assert list(one) == list(other)
    for name, regret in one.items():
        assert_array_equal(other[name], regret)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(FILE)
    return path


def test_a_file_expands_to_every_combination(file):
    tasks = Sweep.from_file(file).tasks()
    environments = [
        ("CMAB-Tabular-v0", {"preset": "table1-a"}),
        ("CMAB-Tabular-v0", {"preset": "three-armed"}),
        ("CMAB-MovieLens-v0", {}),
    ]
    assert [(task.env_id, task.env_kwargs, task.agent, task.seed) for task in tasks] == [
        (*environment, agent, seed)
        for environment in environments
        for agent in ("ucb", "c-ts(beta=1)", "c-ts(beta=2)")
        for seed in (0, 7)
    ]
    assert {(task.rounds, task.trials, task.checkpoints) for task in tasks} == {(60, 3, 100)}


def test_a_value_that_is_a_list_is_put_into_a_list():
    pmf = [[0.1, 0.2], [0.3, 0.4]]
    plan = Sweep([{"id": "CMAB-Tabular-v0", "pmf": [pmf]}], ["ucb"])
    assert [task.env_kwargs for task in plan.tasks()] == [{"pmf": pmf}]


def test_task_names_are_readable_and_change_with_every_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    plans = [
        Sweep([TABULAR], ["c-ts(beta=2)"]),
        Sweep([TABULAR], ["c-ts(beta=2)"], rounds=4999),
        Sweep([TABULAR], ["c-ts(beta=2)"], trials=99),
        Sweep([TABULAR], ["c-ts(beta=2)"], seeds=[1]),
        Sweep([TABULAR], ["c-ts(beta=2)"], checkpoints="log"),
        Sweep([TABULAR], ["c-ts(beta=2)"], delay=1),
        Sweep([TABULAR], ["c-ts(beta=2)"], rewards_every=2),
        Sweep([{**TABULAR, "preset": "table1-a"}], ["c-ts(beta=2)"]),
        Sweep([{"id": "CMAB-Tabular-v0", "pmf": [np.full((2, 2), 0.25)]}], ["c-ts(beta=2)"]),
        Sweep([TABULAR], ["mine.py:Mine"]),
    ]
    names = [plan.tasks()[0].name for plan in plans]
    assert len(set(names)) == len(plans)
    assert names[0].startswith("CMAB-Tabular-v0_preset=three-armed_c-ts-beta=2_seed=0_")
    assert names[-1].startswith("CMAB-Tabular-v0_preset=three-armed_Mine_seed=0_")
    as_mapping = Sweep([TABULAR], [{"name": "c-ts", "beta": [2]}])
    assert as_mapping.tasks()[0].name == names[0]
    Path("mine.py").write_text(MINE + "\n# changed\n")
    assert plans[-1].tasks()[0].name not in names
    trained = Sweep([TABULAR], ["trained.zip"])
    Path("trained.zip").write_text("one")
    before = trained.tasks()[0].name
    Path("trained.zip").write_text("two, trained for longer")
    assert trained.tasks()[0].name != before
    Path("c-ts").write_text("a file that only has the name of an agent")
    assert plans[0].tasks()[0].name == names[0]


def test_a_task_whose_rewards_come_at_once_keeps_the_name_that_it_had_before_they_could_be_late():
    names = [task.name for task in Sweep(**SMALL).tasks()]
    assert [name[-10:] for name in names] == ["e1fa467e71", "aa4e6320fc"]


def test_rewards_may_be_late(tmp_path):
    late = {"delay": 3, "rewards_every": 2}
    path = tmp_path / "sweep.yaml"
    lines = "environments: [CMAB-Tabular-v0]\nagents: [ucb]\nrounds: 20\ntrials: 2\n"
    path.write_text(lines + "delay: 3\nrewards_every: 2\n")
    play(path, tmp_path / "out")
    (folder,) = folders(tmp_path / "out")
    expected = evaluate("CMAB-Tabular-v0", ["ucb"], 20, 2, **late)
    assert_array_equal(Results.load(folder).regret("ucb"), expected.regret("ucb"))
    manifest = Results.load(folder).manifest
    assert {name: manifest[name] for name in late} == late
    path.write_text(lines + "delay: soon\n")
    with pytest.raises(ValueError, match=r"sweep.yaml: delay='soon': expected an integer of"):
        play(path, tmp_path / "out")


def test_each_task_equals_evaluate(file, tmp_path):
    table = play(file, tmp_path / "out")
    assert len(table) == 18
    assert set(table["status"]) == {"finished"}
    read = pd.read_csv(tmp_path / "out" / "summary.csv")
    assert list(read.columns) == list(table.columns)
    assert set(read["agent.beta"].dropna()) == {1, 2}
    row = table.iloc[9]
    assert (row["env.preset"], row["agent"], row["seed"]) == ("three-armed", "c-ts(beta=1)", 7)
    results = evaluate(
        "CMAB-Tabular-v0", ["c-ts(beta=1)"], 60, 3, 7, env_kwargs={"preset": "three-armed"}
    )
    saved = Results.load(tmp_path / "out" / row["folder"])
    assert_array_equal(saved.regret("c-ts(beta=1)"), results.regret("c-ts(beta=1)"))
    assert set(results.manifest) - {"agent_checksums"} < set(saved.manifest)
    assert row["regret"] == results.summary()["regret"][0]


@pytest.mark.usefixtures("numpy_loops")
@pytest.mark.parametrize("trials", [3, 300])
def test_worker_processes_change_no_number(tmp_path, trials):
    plan = Sweep(**{**SMALL, "trials": trials})  # 300 trials are two batches
    counted = []
    play(plan, tmp_path / "serial")
    play(plan, tmp_path / "parallel", n_jobs=2, progress=counted.append)
    assert_same(regrets(tmp_path / "serial"), regrets(tmp_path / "parallel"))
    assert sum(counted) == 2 * 60 * trials


def test_finished_tasks_are_not_run_again(file, tmp_path, capsys):
    out, run = tmp_path / "out", ["sweep", str(file), "--out", str(tmp_path / "out")]
    assert main(run) == 0
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*")}
    assert len(before) == 36
    assert "18 tasks: 0 finished before, 18 to run" in capsys.readouterr().err
    assert main(run) == 0
    printed = capsys.readouterr()
    assert "18 tasks: 18 finished before, 0 to run" in printed.err
    assert "18 finished" in printed.out
    assert {path: path.stat().st_mtime_ns for path in out.glob("*/*")} == before


def test_a_new_value_adds_tasks_and_leaves_the_others(tmp_path):
    messages, counted = [], []
    sweep(Sweep(**SMALL), tmp_path, say=messages.append)
    more = Sweep(**{**SMALL, "agents": ["ucb", "c-ts", "ts"]})
    table = sweep(more, tmp_path, say=messages.append, progress=counted.append)
    assert messages == [
        "2 tasks: 0 finished before, 2 to run",
        "3 tasks: 2 finished before, 1 to run",
    ]
    assert counted[0] == 2 * 180
    assert sum(counted) == 3 * 180
    assert set(table["status"]) == {"finished"}


def waiting_sweep(folder):
    """A sweep of 6 tasks whose third waits for the file `go`, as does the sixth."""
    path = folder / "sweep.yaml"
    path.write_text(
        "environments: [{id: CMAB-Tabular-v0, preset: [table1-a, three-armed]}]\n"
        f"agents: [ucb, c-ts, '{waiting_agent(folder)}']\nrounds: 60\ntrials: 3\n"
    )
    return path


@contextlib.contextmanager
def sweep_that_waits(folder, out, *options):
    """Start a sweep as a process, and wait until two of its tasks are saved and one is running."""
    command = [*SWEEP, waiting_sweep(folder), "--out", out, *options]
    kwargs = {"stderr": subprocess.PIPE, "text": True, "env": NUMPY_LOOPS}
    with subprocess.Popen(command, **kwargs, start_new_session=True) as process:
        try:
            wait_until(
                lambda: (
                    process.poll() is not None
                    or ((folder / "waiting").exists() and len(regrets(out)) >= 2)
                )
            )
            assert process.poll() is None, process.stderr.read()
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):  # the process and its workers
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_kill_9_loses_only_unfinished_tasks(tmp_path, n_jobs):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    with sweep_that_waits(tmp_path, torn, "--jobs", str(n_jobs)) as process:
        process.kill()
        process.wait(LIMIT)
    assert process.returncode == -signal.SIGKILL
    kept = {each: each.stat().st_mtime_ns for each in torn.glob("*/[!.]*") if finished(each)}
    assert 4 <= len(kept) < 12
    plan = tmp_path / "sweep.yaml"
    names = {task.name for task in Sweep.from_file(plan).tasks()}
    torn_folder = torn / min(names - {each.parent.name for each in kept})
    torn_folder.mkdir(exist_ok=True)
    (torn_folder / ".results.parquet.partial").write_text("half a table")  # killed while writing
    (tmp_path / "go").touch()
    messages = []
    sweep(plan, torn, n_jobs, say=messages.append)
    assert f"6 tasks: {len(kept) // 2} finished before" in messages[-1]
    assert {each: each.stat().st_mtime_ns for each in kept} == kept
    assert not list(torn.glob("*/.*"))
    play(plan, whole)
    assert len(regrets(whole)) == 6
    assert_same(regrets(torn), regrets(whole))


def finished(path):
    try:
        Results.load(path.parent)
    except (ValueError, FileNotFoundError):
        return False
    return True


def test_a_full_disk_loses_only_unfinished_tasks(tmp_path):
    room = 14_000  # bytes of a file: more than the tabular tasks need, less than the others
    plan = (
        "environments: [{id: CMAB-Tabular-v0, preset: table1-a}, {id: CMAB-MovieLens-v0, "
        "task: movie}]\nagents: [ucb, c-ts]\nrounds: 60\ntrials: 60\ncheckpoints: 20\n"
    )
    path = tmp_path / "sweep.yaml"
    path.write_text(plan)
    full, whole = tmp_path / "full", tmp_path / "whole"
    done = subprocess.run(
        [*SWEEP, path, "--out", full],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
        env=NUMPY_LOOPS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )
    assert done.returncode == 2, done.stderr
    assert "could not be written" in done.stderr
    assert "the tasks finished before it are kept" in done.stderr
    kept = regrets(full)
    assert len(kept) == 2
    assert not list(full.glob("*/.*"))
    messages = []
    sweep(path, full, say=messages.append)
    assert messages[-1] == "4 tasks: 2 finished before, 2 to run"
    play(path, whole)
    assert_same(regrets(full), regrets(whole))
    assert set(kept) < set(regrets(whole))


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("results.parquet", cut, "expected a table of Results.save"),
        ("results.parquet", Path.unlink, "has no results.parquet"),
    ],
)
def test_damaged_tasks_are_reported_and_run_again(tmp_path, name, damage, message):
    play(Sweep(**SMALL), tmp_path)
    before = regrets(tmp_path)
    folder = next(tmp_path.glob("*ucb*"))
    damage(folder / name)
    messages = []
    sweep(Sweep(**SMALL), tmp_path, say=messages.append)
    assert f"task {folder.name} is incomplete and has to run again" in messages[0]
    assert message in messages[0]
    assert messages[1] == "2 tasks: 1 finished before, 1 to run"
    assert_same(regrets(tmp_path), before)


def test_an_agent_that_fails_fails_only_its_own_tasks(tmp_path, capsys):
    path, agent = tmp_path / "sweep.yaml", tmp_path / "bad.py"
    agent.write_text(MINE.replace("return 0", "return 99"))
    path.write_text(f"{FILE}".replace("- ucb", f"- '{agent}:Mine'"))
    run = ["sweep", str(path), "--out", str(tmp_path / "out")]
    assert main(run) == 1
    printed = capsys.readouterr()
    assert "12 finished, 6 failed" in printed.out
    assert printed.err.count("returned 99 of type int: expected an integer arm") == 6
    assert "--debug" not in printed.err  # the agent raised no error
    table = pd.read_csv(tmp_path / "out" / "summary.csv")
    failed = table[table["status"] == "failed"]
    for _, row in failed.iterrows():
        assert row["failure"].startswith(f"task {row['folder']}, agent '{agent}:Mine', trial 0, ")
    assert failed["failure"].str.contains("trial 0, round 1: act").all()
    assert failed["regret"].isna().all()
    assert main(run) == 1  # run again: a module that the agent imports may be fixed
    assert "18 tasks: 12 finished before, 6 to run" in capsys.readouterr().err


def test_an_agent_that_fails_in_one_of_two_batches_has_failed(tmp_path):
    agent = tmp_path / "bad.py"
    agent.write_text(
        MINE.replace("rng): pass", "rng): self.n = rng.integers(50)").replace(
            "return 0", "return 99 if self.n == 7 else 0"
        )
    )
    plan = Sweep([TABULAR], [f"{agent}:Mine"], rounds=5, trials=260)  # batches of 256 and 4
    for jobs in (1, 2):
        table = play(plan, tmp_path / "out", n_jobs=jobs)
        assert list(table["status"]) == ["failed"]
        assert "returned 99 of type int: expected an integer arm from 0 to 2" in table["failure"][0]
        assert not folders(tmp_path / "out")


def test_a_signal_that_ends_a_sweep_keeps_finished_tasks(tmp_path):
    out = tmp_path / "out"
    with sweep_that_waits(tmp_path, out) as process:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.endswith("cmab-gym: interrupted\n")
    table = pd.read_csv(out / "summary.csv")
    assert list(table["status"]) == ["finished"] * 2 + ["missing"] * 4
    assert list(regrets(out)) == sorted(table["folder"][:2])


def test_the_summary_alone_runs_nothing(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["sweep", str(file), "--out", str(out), "--summary"]) == 0
    assert "18 missing" in capsys.readouterr().out
    assert not folders(out)
    assert len(pd.read_csv(out / "summary.csv")) == 18


def test_two_sweeps_do_not_write_to_one_folder(tmp_path):
    with (
        FileLock(tmp_path / ".lock"),
        pytest.raises(ValueError, match="another sweep is writing to"),
    ):
        play(Sweep(**SMALL), tmp_path)


def test_the_manifest_has_the_tasks_settings(tmp_path):
    play(Sweep(**{**SMALL, "agents": ["ucb"]}), tmp_path)
    manifest = json.loads(next(tmp_path.glob("*/manifest.json")).read_text())
    assert manifest["task"]["env_kwargs"] == {"preset": "three-armed"}
    assert (manifest["task"]["agent"], manifest["task"]["rounds"]) == ("ucb", 60)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds: 60", "rounds: many", r"sweep.yaml: rounds='many': expected an integer"),
        ("trials: 3", "trials: 0", r"sweep.yaml: trials=0: expected an integer of at least 1"),
        ("[0, 7]", "7", r"sweep.yaml: seeds=7: expected a list of at least one, such as \[7\]"),
        ("[0, 7]", "[0, -7]", r"seeds\[1\]=-7: expected an integer of at least 0"),
        ("[1, 2]", "[]", r"agents\[1\].beta=\[\]: expected a list of at least one"),
        ("rounds: 60", "runds: 60", r"unknown key 'runds': did you mean 'rounds'"),
        ("trials: 3", "checkpoints: lin", r"sweep.yaml: unknown checkpoints 'lin'"),
        ("- ucb", "- ubc", r"sweep.yaml: agents\[0\]: unknown agent 'ubc': did you mean 'ucb'"),
        ("- ucb", "- ts: 3", r"agents\[0\]={'ts': 3}: expected a name, or a mapping with name:"),
        ("- ucb", "- mine.py:Mine", r"agents\[0\]: .*mine.py is not a file"),
        ("beta: [1", "gamma: [1", r"agents\[1\]: TS: got an unexpected keyword argument 'gamma'"),
        ("beta: [1", "beta: [x", r"agents\[1\]: beta='x': expected a number above 0"),
        ("name: c-ts", "name: c-ts(B=1)", r"agents\[1\]: .*expected parameters only once"),
        ("- ucb", "- c-ts(beta=1)", r"is given twice .*agents\[0\].*agents\[1\].*each once"),
        ("CMAB-M", "CMAB-m", r"environments\[1\]: unknown environment .*did you mean 'CMAB-Mov"),
        ("three-armed", "four", r"environments\[0\]: unknown preset 'four'"),
        ("preset", "prest", r"environments\[0\]: unknown keyword argument 'prest' of Tabular"),
        ("preset: [table1-a", "horizon: [3", r"environments\[0\]: horizon=3 is not accepted here"),
        (FILE, "environments: [1", r"sweep.yaml is not YAML \(while parsing"),
        (FILE, "- ucb", r"sweep.yaml has no keys: expected environments, agents, rounds"),
        (FILE, "agents: [ucb]", r"sweep.yaml: no environments given: expected a list"),
        (FILE, "environments: [a]\nagents: ucb", r"agents='ucb': expected a list .*\['ucb'\]"),
    ],
)
def test_mistakes_are_reported_before_any_task_runs(file, tmp_path, old, new, message):
    assert old in FILE
    file.write_text(FILE.replace(old, new))
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        play(file, tmp_path / "out")
    assert not folders(tmp_path / "out")
    assert main(["sweep", str(file), "--out", str(tmp_path / "out")]) == 2


def test_other_mistakes(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.yaml is not a file: expected a sweep"):
        play(tmp_path / "none.yaml", tmp_path)
    not_json = Sweep([{"id": "CMAB-Latent-v0", "latent": os}], ["ucb"])
    with pytest.raises(ValueError, match=r"environments\[0\]: .*cannot be written as JSON"):
        play(not_json, tmp_path)
