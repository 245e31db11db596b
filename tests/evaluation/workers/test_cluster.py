"""Evaluate on a real cluster: a scheduler and worker processes on this machine."""

import gc
import json
import logging
import os
import re
import signal
import socket
import sys
import threading

import dask
import pytest
from distributed import LocalCluster
from numpy.testing import assert_array_equal
from waiting import LIMIT, wait_until, waiting_agent

from cmab_gym.agents.make import agent_factory, without_file
from cmab_gym.cli import main
from cmab_gym.evaluation import Results, Sweep, evaluate, sweep
from cmab_gym.evaluation.playing.batch import Batch, find_environment
from cmab_gym.evaluation.workers import cluster

TABULAR = "CMAB-Tabular-v0"
SETTINGS = {"env_kwargs": {"preset": "three-armed"}, "rounds": 200, "trials": 6, "seed": 3}
MINE = """
import shift

class Mine:
    def __init__(self, step=1):
        self.step = step

    def reset(self, problem, rng):
        self.n_arms, self.arm = problem.n_arms, int(rng.integers(problem.n_arms))

    def act(self):
        return self.arm

    def update(self, arm, reward):
        self.arm = shift.shifted(arm, self.step) % self.n_arms
"""
SHIFT = "def shifted(arm, step):\n    return arm + step\n"
WORKERS = {
    "threads_per_worker": 1,
    "env": {"CMAB_GYM_COMPILED": "0"},  # so that no worker has to load numba
    "dashboard_address": ":0",
    "silence_logs": logging.CRITICAL,
}
KILLS = """
import os, signal

class Kills:
    def reset(self, problem, rng): pass
    def act(self): os.kill(os.getpid(), signal.SIGKILL)
    def update(self, arm, reward): pass
"""


@pytest.fixture(scope="module")
def two_workers():
    # `LocalCluster` gives up a worker that takes longer than 15 seconds to restart, and then waits
    # forever; on a busy machine a restart takes longer.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": f"{LIMIT} s"}),
        LocalCluster(n_workers=2, **WORKERS) as local,
    ):
        yield local


@pytest.fixture
def address(two_workers):
    wait_until(lambda: len(two_workers.scheduler.workers) == 2)  # a test before may have killed one
    return two_workers.scheduler_address


def pids(two_workers):
    return {nanny.pid for nanny in two_workers.workers.values()}


def assert_same(one, other):
    assert list(one.failures) == list(other.failures) == []
    for run, same in zip(one.runs, other.runs, strict=True):
        assert run.label == same.label
        assert_array_equal(run.regret, same.regret)
        assert_array_equal(run.best_arm_pulls, same.best_arm_pulls)


@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_cluster_changes_no_number(address, batch_size):
    counted = []
    serial = evaluate(TABULAR, ["c-ucb", "c-ts"], **SETTINGS)
    there = evaluate(
        TABULAR,
        ["c-ucb", "c-ts"],
        **SETTINGS,
        scheduler=address,
        batch_size=batch_size,
        progress=counted.append,
    )
    assert_same(there, serial)
    assert sum(counted) == 2 * 6 * 200
    assert there.manifest["n_jobs"] == 2


def test_an_agents_file_and_its_imports_travel_to_the_workers(address, tmp_path):
    (tmp_path / "shift.py").write_text(SHIFT)
    (tmp_path / "mine.py").write_text(MINE)
    agents = {"by file": f"{tmp_path}/mine.py:Mine(step=2)"}
    try:
        serial = evaluate(TABULAR, agents, **SETTINGS)
        assert_same(evaluate(TABULAR, agents, **SETTINGS, scheduler=address), serial)
    finally:
        del sys.modules["shift"]


def test_modules_that_only_this_process_can_import_travel_to_the_workers(
    address, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shift.py").write_text(SHIFT)
    (tmp_path / "mine_here.py").write_text(MINE)
    try:
        from mine_here import Mine

        for agents in ([Mine], {"instance": Mine(2)}, ["mine_here:Mine"]):
            serial = evaluate(TABULAR, agents, **SETTINGS)
            assert_same(evaluate(TABULAR, agents, **SETTINGS, scheduler=address), serial)
    finally:
        del sys.modules["shift"], sys.modules["mine_here"]


def test_a_class_loaded_from_a_file_no_longer_needs_the_file(tmp_path):
    (tmp_path / "kills.py").write_text(KILLS)
    make = without_file(agent_factory(f"{tmp_path}/kills.py:Kills"))
    (tmp_path / "kills.py").unlink()
    make()


def test_a_module_that_a_worker_lacks_is_named(address, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "only_here.py").write_text("")
    path = tmp_path / "late.py"
    path.write_text(KILLS.replace("os.kill(os.getpid(), signal.SIGKILL)", "import only_here"))
    results = evaluate(TABULAR, [f"{path}:Kills"], **SETTINGS, scheduler=address, on_error="keep")
    assert "ModuleNotFoundError: No module named 'only_here'" in next(
        iter(results.failures.values())
    )


def test_the_command_runs_on_a_cluster(address, tmp_path, capsys):
    run = ["run", TABULAR, "--agents", "ucb", "c-ts", "--rounds", "50", "--trials", "4", "--out"]
    assert main([*run, str(tmp_path / "serial")]) == 0
    assert main([*run, str(tmp_path / "cluster"), "--scheduler", address]) == 0
    assert_same(Results.load(tmp_path / "cluster"), Results.load(tmp_path / "serial"))
    manifest = json.loads((tmp_path / "cluster" / "manifest.json").read_text())
    assert manifest["n_jobs"] == 2
    assert "400/400 rounds" in capsys.readouterr().err


def test_processes_and_a_cluster_exclude_each_other(address):
    with pytest.raises(ValueError, match=r"n_jobs=2 and scheduler='tcp.*expected one of them"):
        evaluate(TABULAR, ["ucb"], **SETTINGS, n_jobs=2, scheduler=address)


def test_other_versions_on_the_workers_are_refused(address, monkeypatch):
    monkeypatch.setattr(cluster, "version_of", lambda package: "0.1")  # in this process only
    with pytest.raises(ValueError, match=r"worker tcp.* has .*, and this process 0.1: expected"):
        evaluate(TABULAR, ["ucb"], **SETTINGS, scheduler=address)


def test_a_worker_that_is_killed_loses_no_result(two_workers, address, tmp_path):
    kwargs = {**SETTINGS, "batch_size": 1}
    agents = {"ucb": "ucb", "waits": waiting_agent(tmp_path), "c-ts": "c-ts"}
    victim, counted = min(pids(two_workers)), []

    def kill_after_the_first_batch(rounds):
        if not counted:
            wait_until((tmp_path / "waiting").exists)  # so that it dies at work
            os.kill(victim, signal.SIGKILL)
            (tmp_path / "go").touch()
        counted.append(rounds)

    there = evaluate(
        TABULAR, agents, **kwargs, scheduler=address, progress=kill_after_the_first_batch
    )
    assert counted == [200] * 18
    assert_same(there, evaluate(TABULAR, agents, **kwargs))
    wait_until(lambda: victim not in pids(two_workers))


def test_a_sweep_on_a_cluster_changes_no_number(address, tmp_path):
    plan = Sweep(
        [{"id": TABULAR, "preset": ["table1-a", "three-armed"]}, "CMAB-MovieLens-v0"],
        ["c-ucb", "c-ts"],
        rounds=200,
        trials=3,
    )
    counted = []
    sweep(plan, tmp_path / "cluster", scheduler=address, progress=counted.append)
    table = sweep(plan, tmp_path / "serial")
    assert len(table) == len(counted) == 6
    for folder in table["folder"]:
        there, here = (Results.load(tmp_path / each / folder) for each in ("cluster", "serial"))
        assert_same(there, here)


def test_an_agent_that_kills_its_workers_fails_alone(two_workers, address, tmp_path, monkeypatch):
    monkeypatch.setattr(two_workers.scheduler, "allowed_failures", 0)  # 3 take long
    path = tmp_path / "kills.py"
    path.write_text(KILLS)
    kwargs = {**SETTINGS, "trials": 2}
    results = evaluate(
        TABULAR, [f"{path}:Kills", "ts"], **kwargs, scheduler=address, on_error="keep"
    )
    assert list(results.failures) == [f"{path}:Kills"], results.failures
    assert "not finished on the cluster: KilledWorker" in results.failures[f"{path}:Kills"]
    assert_array_equal(results.regret("ts"), evaluate(TABULAR, ["ts"], **kwargs).regret("ts"))


def test_without_any_worker_the_unfinished_agents_fail_after_a_while(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(cluster, "WARN_SECONDS", 0)
    (tmp_path / "kills.py").write_text(KILLS)
    # The only worker dies right after it has finished the first agent.
    agents = {"ucb": "ucb", "kills": f"{tmp_path}/kills.py:Kills", "ts": "ts"}
    kwargs = {**SETTINGS, "trials": 1}
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 ms"}),  # it does not return
        LocalCluster(n_workers=1, **WORKERS) as local,
    ):
        results = evaluate(
            TABULAR,
            agents,
            **kwargs,
            scheduler=local.scheduler_address,
            on_error="keep",
            wait_for_workers=1,
        )
    assert list(results.failures) == ["kills", "ts"]
    for label, failure in results.failures.items():
        assert failure.startswith(f"agent {label!r}: not finished on the cluster: TimeoutError: ")
        assert "no worker for 1 s: start some with `dask worker tcp://127.0.0.1" in failure
    assert_array_equal(results.regret("ucb"), evaluate(TABULAR, ["ucb"], **kwargs).regret("ucb"))
    (message,) = [each.message for each in caplog.records if "no worker is left" in each.message]
    assert "waiting 1 s for one; batches left: " in message


def test_a_scheduler_that_ends_loses_no_result(tmp_path, monkeypatch):
    """Its last batch is one that killed its worker, and waits to run alone."""
    (tmp_path / "kills.py").write_text(KILLS)
    agents = {"kills": f"{tmp_path}/kills.py:Kills", "waits": waiting_agent(tmp_path)}
    spec = find_environment(TABULAR, {})
    batches = [
        Batch(label, agent_factory(agent), range(1), spec, {}, (20,), 0)
        for label, agent in agents.items()
    ]
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 4)  # also tried after the scheduler has ended
    with LocalCluster(n_workers=2, **WORKERS) as local:
        local.scheduler.allowed_failures = 0
        with cluster.connected(local.scheduler_address, LIMIT) as (client, _):
            runs = cluster.run_on_cluster(client, LIMIT, batches)
            thread = threading.Thread(target=_go_on_after_an_error, args=(local, tmp_path))
            thread.start()
            assert next(runs).label == "waits"
            thread.join()
            local.close()
            (killed,) = runs
    assert "agent 'kills': not finished on the cluster: " in killed.failure


def _go_on_after_an_error(local, folder):
    states = local.scheduler.tasks
    wait_until(lambda: any(task.state == "erred" for task in list(states.values())))
    (folder / "go").touch()


def test_the_time_limit_of_an_agent_is_kept_by_a_cluster(address, tmp_path):
    path = tmp_path / "stops.py"
    path.write_text(
        "import time\n" + KILLS.replace("os.kill(os.getpid(), signal.SIGKILL)", "time.sleep(1e6)")
    )
    agents = {"stops": f"{path}:Kills", "random": "random"}
    results = evaluate(
        TABULAR, agents, **{**SETTINGS, "trials": 1}, scheduler=address, timeout=1, on_error="keep"
    )
    assert "more than timeout=1 seconds for a round" in results.failures["stops"]
    assert [run.label for run in results.finished] == ["random"]


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(cluster, "LISTEN_SECONDS", 0.2)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense:?", "localhost"):
        with pytest.raises(ValueError, match=rf"scheduler='{re.escape(address)}' does not answer"):
            evaluate(TABULAR, ["ucb"], **SETTINGS, scheduler=address)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # such as a scheduler that is stopped
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ValueError, match=r"does not answer \(it accepts .* for 0.5 seconds\)"):
            evaluate(TABULAR, ["ucb"], **SETTINGS, scheduler=address)


def test_a_client_of_something_else_than_a_scheduler_is_closed():
    def answer():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connections.append(connection)
            connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n" * 9)

    connections = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ValueError, match=r"does not answer .*expected the address"):
            evaluate(TABULAR, ["ucb"], **SETTINGS, scheduler=address)
        server.shutdown(socket.SHUT_RDWR)
    for connection in connections:
        connection.close()
    gc.collect()  # pytest would report an error in `Client.__del__`


def test_a_cluster_without_workers():
    with (
        LocalCluster(n_workers=0, **WORKERS) as empty,
        pytest.raises(ValueError, match="has no workers: start some with `dask worker tcp:"),
    ):
        evaluate(
            TABULAR,
            ["ucb"],
            **SETTINGS,
            scheduler=empty.scheduler_address,
            wait_for_workers=0.1,
        )


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"needs Dask .*pip install 'cmab-gym\[distributed\]'"):
        evaluate(TABULAR, ["ucb"], **SETTINGS, scheduler="tcp://127.0.0.1:9")
