import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pandas as pd
import pytest
from waiting import LIMIT, wait_until, waiting_agent

from cmab_gym import Results
from cmab_gym.cli import main
from cmab_gym.cli.commands import run as commands
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.signals import as_keyboard_interrupt

RUN = ["run", "CMAB-Tabular-v0", "--rounds", "50", "--trials", "4", "--out"]
BAD = """
class Bad:
    def reset(self, problem, rng):
        self.t = 0
    def act(self):
        self.t += 1
        return 0 if self.t < 20 else 2.5
    def update(self, arm, reward):
        pass
"""


def test_run_writes_everything_and_prints_a_table(tmp_path, capsys):
    assert main([*RUN, str(tmp_path / "out"), "--agents", "ucb", "c-ts", "random"]) == 0
    out, err = capsys.readouterr()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json",
        "regret.png",
        "results.parquet",
    ]
    for word in ("final regret", "sd", "95 % interval", "best arm", "rounds/s", "c-ts", "random"):
        assert word in out
    assert "600/600 rounds" in err
    frame = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert frame["round"].max() == 50


@pytest.mark.usefixtures("numpy_loops")
def test_an_agent_that_is_told_more_is_named_below_the_table(tmp_path, capsys):
    small = ["--rounds", "5", "--trials", "2", "--out", str(tmp_path)]
    assert main(["run", "CMAB-Tabular-v0", "--agents", "ts", "c-oracle", *small]) == 0
    out = capsys.readouterr().out
    assert "c-oracle was told more than other agents: the mean reward of each arm" in out
    assert "ts was told" not in out


@pytest.mark.usefixtures("numpy_loops")
def test_options_set_the_environment_and_the_agents(tmp_path, capsys, monkeypatch):
    titles = []
    monkeypatch.setattr(
        "cmab_gym.cli.commands.run.plot_regret", lambda *given, **_: titles.append(given[2])
    )
    arguments = ["run", "CMAB-MovieLens-v0", "--set", "task=movie", "pad=0.4", "--rounds", "60"]
    arguments += ["--trials", "2", "--seed", "7", "--parameters", "published", "--jobs", "2"]
    assert main([*arguments, "--agents", "c-ucb", "ts(beta=2)", "--out", str(tmp_path)]) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["env_kwargs"] == {"task": "movie", "pad": 0.4}
    names = ["c-ucb(B=5.0)", "ts(B=4.0, beta=2)"]
    assert list(manifest["agents"].values()) == names
    assert (manifest["seed"], manifest["reward_unit"]) == (7, "stars")
    # The table, the legend (the labels of the results) and the title show the parameters.
    assert list(manifest["agents"]) == names
    out = capsys.readouterr().out
    assert all(name in out for name in names)
    assert titles == ["CMAB-MovieLens-v0 (task=movie, pad=0.4)\npublished parameters of the agents"]


def test_checkpoints_are_a_count_or_logarithmic(tmp_path):
    for given, rounds in (("log", [*range(1, 10), 10, 20, 30, 40, 50]), ("2", [25, 50])):
        assert main([*RUN, str(tmp_path), "--agents", "ucb", "--checkpoints", given]) == 0
        frame = pd.read_parquet(tmp_path / "results.parquet")
        assert sorted(set(frame["round"])) == rounds


def test_a_failing_agent_does_not_lose_the_results_of_the_others(tmp_path, capsys):
    path = tmp_path / "my_file.py"
    path.write_text(BAD)
    code = main([*RUN, str(tmp_path / "out"), "--agents", "c-ucb", f"{path}:Bad", "ts"])
    out, err = capsys.readouterr()
    assert code == 1
    assert "c-ucb" in out
    assert re.search(r"^Bad +not finished", out, re.MULTILINE)
    assert f"agent '{path}:Bad', trial 0, round 20: act() returned 2.5 of type float" in err
    frame = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert set(frame["agent"]) == {"c-ucb", "ts"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert list(manifest["failures"]) == [f"{path}:Bad"]
    assert main([*RUN, str(tmp_path / "none"), "--agents", f"{path}:Bad"]) == 1
    assert "is unchanged" in capsys.readouterr().out
    assert not list((tmp_path / "none").iterdir())


def test_the_lower_bound_is_added_to_the_plot(tmp_path, capsys):
    pictures = []
    for extra in ([], ["--lower-bound"]):
        assert main([*RUN, str(tmp_path), "--agents", "ucb", *extra]) == 0
        pictures.append((tmp_path / "regret.png").read_bytes())
    capsys.readouterr()
    assert pictures[0] != pictures[1]


def test_an_unwritable_folder_is_reported_before_the_run(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    for out in ("file", "file/below"):
        assert main([*RUN, str(tmp_path / out), "--agents", "ucb"]) == 2
        out, err = capsys.readouterr()
        assert "--out" in err
        assert "rounds" not in err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_on_a_drive_that_does_not_exist_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda path: False)  # as Windows says of all its parents
    with pytest.raises(ValueError, match=r"--out .* cannot be written to \(.*No such file"):
        output_folder(str(tmp_path / "new" / "results"))


def test_a_closed_output_loses_no_file(tmp_path):
    processes = {}
    full = [">/dev/full"] if os.path.exists("/dev/full") else []  # not on macOS
    for number, closed in enumerate(("| true", ">&-", *full)):
        out = tmp_path / str(number)
        command = [sys.executable, "-m", "cmab_gym", *RUN, str(out), "--agents", "random"]
        shell = f"{shlex.join(command)} {closed}"
        processes[closed, out] = subprocess.Popen(shell, shell=True, stderr=subprocess.PIPE)  # noqa: S602
    for (closed, out), process in processes.items():
        process.communicate(timeout=LIMIT)
        names = {path.name for path in out.iterdir()}
        assert names == {"manifest.json", "regret.png", "results.parquet"}, closed


def test_ratings_that_are_left_out_are_counted(tmp_path, capsys):
    path = tmp_path / "r.csv"
    rows = [f"{user},{item},{1 + (user + item) % 5}" for user in range(9) for item in range(3)]
    path.write_text("\n".join(["user_id,book_id,rating", *rows, "0,0,3", "x,1,2"]) + "\n")
    env_kwargs = ["--set", f"data={path}", "on_error=skip"]
    assert main(["inspect", "CMAB-Ratings-v0", *env_kwargs]) == 0
    assert ": 1 damaged, 1 duplicates" in capsys.readouterr().err
    arguments = ["run", "CMAB-Ratings-v0", *env_kwargs, "--agents", "ucb", "--rounds", "9"]
    assert main([*arguments, "--trials", "2", "--out", str(tmp_path / "out")]) == 0
    assert ": 1 damaged, 1 duplicates" in capsys.readouterr().err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["provenance"]["left_out"] == {"damaged": 1, "unrated": 0, "duplicates": 1}


def test_a_repeated_option_adds_to_its_earlier_values(tmp_path, capsys):
    arguments = ["run", "CMAB-MovieLens-v0", "--set", "task=movie", "--set", "pad=0.4"]
    arguments += ["--agents", "ucb", "--agents", "ts", "--rounds", "60", "--trials", "1"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["env_kwargs"] == {"task": "movie", "pad": 0.4}
    assert list(manifest["agents"]) == ["ucb", "ts"]
    assert "nan" not in capsys.readouterr().out


def test_a_failed_run_keeps_the_results_of_an_earlier_run(tmp_path, capsys):
    path = tmp_path / "my_file.py"
    path.write_text(BAD)
    assert main([*RUN, str(tmp_path / "out"), "--agents", "ucb"]) == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert main([*RUN, str(tmp_path / "out"), "--agents", f"{path}:Bad"]) == 1
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    capsys.readouterr()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_a_run_keeps_the_agents_that_finished(tmp_path, capsys, number):
    path, handlers = tmp_path / "stops.py", signal.getsignal(number)
    path.write_text(BAD.replace("self.t += 1", f"signal.raise_signal({int(number)})"))
    path.write_text(f"import signal\n{path.read_text()}")
    agents = ["ucb", f"{path}:Bad", "ts"]
    assert main([*RUN, str(tmp_path / "out"), "--agents", *agents]) == 128 + number
    out, err = capsys.readouterr()
    assert "ucb" in out
    assert "interrupted, 0 of 4 trials had finished" in err
    assert err.endswith("cmab-gym: interrupted\n")
    assert list(Results.load(tmp_path / "out").failures) == agents[1:]
    assert (tmp_path / "out" / "regret.png").exists()
    assert signal.getsignal(number) is handlers


def test_nohup_still_ignores_the_end_of_the_terminal():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with as_keyboard_interrupt() as received:
            signal.raise_signal(signal.SIGHUP)
        assert not received
    finally:
        signal.signal(signal.SIGHUP, before)


def test_only_a_second_ctrl_c_interrupts_again():
    with as_keyboard_interrupt():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_closing_the_terminal_loses_no_result(tmp_path):
    """One agent has finished and another one waits when the kernel sends SIGHUP."""
    ours, its = os.openpty()
    command = [sys.executable, "-m", "cmab_gym", *RUN, tmp_path / "out", "--agents", "random"]
    with subprocess.Popen(
        [*command, waiting_agent(tmp_path)],
        **dict.fromkeys(("stdin", "stdout", "stderr"), its),
        env={**os.environ, "CMAB_GYM_COMPILED": "0"},
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(its, termios.TIOCSCTTY, 0),
    ) as process:
        try:
            wait_until(lambda: process.poll() is not None or (tmp_path / "waiting").exists())
            os.close(its)
            os.close(ours)
            assert process.wait(LIMIT) == 128 + signal.SIGHUP
        finally:
            process.kill()
    assert [run.label for run in Results.load(tmp_path / "out").finished] == ["random"]


def test_debug_prints_the_users_traceback(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(BAD.replace("self.t = 0", "raise KeyError('x')"))
    run = [*RUN, str(tmp_path / "out"), "--agents", f"{path}:Bad", "ucb"]
    assert main(run) == 1
    error, hint = capsys.readouterr().err.splitlines()[-2:]
    assert error.endswith("trial 0, round 0: KeyError: 'x' (mine.py line 4)")
    assert hint == "cmab-gym: add --debug to see the whole traceback"
    assert main([*run, "--debug"]) == 1
    err = capsys.readouterr().err
    assert f'File "{path}", line 4, in reset' in err
    assert "--debug" not in err
    path.write_text("import json\njson.loads('{bad')\n")
    assert main([*run, "--debug"]) == 2
    err = capsys.readouterr().err
    assert f'File "{path}", line 2, in <module>' in err
    assert re.search(r"cannot be imported: JSONDecodeError: .*\(mine.py line 2\)\n", err)


def test_numbers_are_printed_even_if_the_picture_cannot_be_written(tmp_path, capsys, monkeypatch):
    def full(results, path, *_):
        raise OSError(f"{path} could not be written (No space left on device)")

    monkeypatch.setattr(commands, "plot_regret", full)
    (tmp_path / ".writable").write_text("mine")
    assert main([*RUN, str(tmp_path), "--agents", "ucb"]) == 2
    out, err = capsys.readouterr()
    assert "ucb" in out
    assert "regret.png could not be written (No space left on device)" in err
    assert Results.load(tmp_path).manifest["rounds"] == 50
    assert (tmp_path / ".writable").read_text() == "mine"
