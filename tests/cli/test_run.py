import json
import shlex
import subprocess
import sys

import pandas as pd
import pytest

from cmab_gym.cli import main, tables

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


def test_options_set_the_environment_and_the_agents(tmp_path, capsys):
    arguments = ["run", "CMAB-MovieLens-v0", "--set", "task=movie", "pad=0.4", "--rounds", "60"]
    arguments += ["--trials", "2", "--seed", "7", "--parameters", "published", "--jobs", "2"]
    assert main([*arguments, "--agents", "c-ucb", "ts(beta=2)", "--out", str(tmp_path)]) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["env_kwargs"] == {"task": "movie", "pad": 0.4}
    assert manifest["agents"] == {"c-ucb": "c-ucb(B=5.0)", "ts(beta=2)": "ts(B=4.0, beta=2)"}
    assert (manifest["seed"], manifest["reward_unit"]) == (7, "stars")
    capsys.readouterr()


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


def test_a_closed_output_loses_no_file(tmp_path):
    command = [sys.executable, "-m", "cmab_gym", *RUN, str(tmp_path / "out"), "--agents", "random"]
    for closed in ("| true", ">/dev/full", ">&-"):
        shell = f"{shlex.join(command)} {closed}"
        subprocess.run(shell, shell=True, check=False, stderr=subprocess.PIPE)  # noqa: S602
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert names == {"manifest.json", "regret.png", "results.parquet"}, closed
        for path in (tmp_path / "out").iterdir():
            path.unlink()


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


def test_an_interrupted_run_keeps_the_agents_that_finished(tmp_path, capsys):
    path = tmp_path / "stops.py"
    path.write_text(BAD.replace("return 0 if self.t < 20 else 2.5", "raise KeyboardInterrupt"))
    assert main([*RUN, str(tmp_path / "out"), "--agents", "ucb", f"{path}:Bad"]) == 130
    out, err = capsys.readouterr()
    assert "ucb" in out
    assert "interrupted, 0 of 4 trials had finished" in err
    frame = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert set(frame["agent"]) == {"ucb"}


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_shows_names_and_regrets(width, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tables, "PIPE_WIDTH", width)
    path = tmp_path / "my_agent_with_a_long_name.py"
    path.write_text(BAD.replace("2.5", "0").replace("Bad", "EpsilonGreedy"))
    agents = ["ucb", "c-ucb", f"{path}:EpsilonGreedy"]
    assert main([*RUN, str(tmp_path / "out"), "--agents", *agents]) == 0
    rows = capsys.readouterr().out.splitlines()[2:5]
    assert [row.split()[0] for row in rows] == ["ucb", "c-ucb", "EpsilonGreedy"]
    assert all(float(row.split()[1]) >= 0 for row in rows)
    assert max(map(len, rows)) <= width
