import json
import shlex
import subprocess
import sys

import pandas as pd
import pytest

import cmab_gym
from cmab_gym.cli import main
from cmab_gym.cli import tables as printing

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


def test_settings_of_environment_and_agents(tmp_path, capsys):
    arguments = ["run", "CMAB-MovieLens-v0", "--set", "task=movie", "pad=0.4", "--rounds", "60"]
    arguments += ["--trials", "2", "--seed", "7", "--settings", "published", "--jobs", "2"]
    assert main([*arguments, "--agents", "c-ucb", "ts(beta=2)", "--out", str(tmp_path)]) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["env_kwargs"] == {"task": "movie", "pad": 0.4}
    assert manifest["agents"] == {"c-ucb": "c-ucb(B=5.0)", "ts(beta=2)": "ts(B=4.0, beta=2)"}
    assert (manifest["seed"], manifest["reward_unit"]) == (7, "stars")
    capsys.readouterr()


def test_checkpoints(tmp_path, capsys):
    for given, rounds in (("log", [*range(1, 10), 10, 20, 30, 40, 50]), ("2", [25, 50])):
        assert main([*RUN, str(tmp_path), "--agents", "ucb", "--checkpoints", given]) == 0
        frame = pd.read_parquet(tmp_path / "results.parquet")
        assert sorted(set(frame["round"])) == rounds
    with pytest.raises(SystemExit):
        main([*RUN, str(tmp_path), "--agents", "ucb", "--checkpoints", "some"])
    assert "argument --checkpoints: invalid" in capsys.readouterr().err


def test_a_failing_agent_of_ones_own_keeps_the_others_results(tmp_path, capsys):
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
    assert "is left as it was" in capsys.readouterr().out
    assert not list((tmp_path / "none").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "CMAB-Tabular-v0", "--agents", "ubc"], "unknown agent 'ubc': did you mean 'ucb'"),
        (["run", "CMAB-Tabluar-v0", "--agents", "ucb"], "did you mean 'CMAB-Tabular-v0'"),
        (["run", "CMAB-Tabular-v0", "--agents", "ucb", "ucb"], "called 'ucb'"),
        (["run", "CMAB-Tabular-v0", "--agents", "x.py:A"], "expected path/to/file.py:Class"),
        (["run", "CMAB-Tabular-v0", "--agents", "ucb", "--rounds", "0"], "rounds=0: expected"),
        (["run", "CMAB-Tabular-v0", "--agents", "ucb", "--set", "preset"], "expected KEY=VALUE"),
        (["run", "CMAB-Tabular-v0", "--agents", "ucb", "--set", "preset=x"], "unknown preset 'x'"),
        (["run", "CMAB-MovieLens-v0", "--agents", "ucb", "--set", "mask=-1"], "mask=-1: expected"),
        (["run", "CMAB-MovieLens-v0", "--agents", "ucb", "--set", "data=x"], "x does not exist"),
        (
            ["run", "CMAB-MovieLens-v0", "--agents", "ucb", "--set", "data=ml-1m"],
            "data fetch ml-1m",
        ),
        (["run", "CMAB-Tabular-v0", "--agents", "ucb", "--set", "a=1", "a=2"], "a= is given twice"),
        (["run", "CMAB-Tabular-v0", "--agents", "ucb", "--out", ""], "--out '': expected a folder"),
        (["inspect", "CMAB-Tabular-v0", "--seed", "-1"], "seed=-1: expected an integer"),
        (["inspect", "CMAB-Tabular-v0", "--rounds", "0"], "rounds=0: expected an integer"),
        (
            ["run", "CMAB-MovieLens-v0", "--agents", "ucb", "--lower-bound"],
            "--lower-bound: 18 arms of 5 rewards",
        ),
        (["data", "fetch", "ml-1n"], "unknown data set 'ml-1n': did you mean 'ml-1m'"),
        (["inspect", "CartPole-v9"], "unknown environment 'CartPole-v9'"),
        (["inspect", "CartPole-v1"], "CartPole-v1 is no bandit"),
        (["data", "build", "nowhere"], "put the archive there"),
    ],
)
def test_wrong_arguments_end_with_code_2_and_one_line(
    arguments, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path / "results"))
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_inspect_tells_what_theory_says(capsys):
    assert main(["inspect", "CMAB-Tabular-v0", "--set", "preset=table1-a"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 arm 1 0.4000 0.2000 0.5200 +0.0800 no" in out
    assert "arm 0 0.6000 0.6800" in out  # phi
    assert "C = 1 of 2 arms are competitive" in out
    assert main(["inspect", "CMAB-MovieLens-v0"]) == 0
    assert "Film-Noir" in capsys.readouterr().out


def test_inspect_prints_the_bounds_or_why_there_is_none(capsys):
    def inspected(*arguments):
        assert main(["inspect", *arguments]) == 0
        return " ".join(capsys.readouterr().out.split())

    known = inspected("CMAB-Tabular-v0", "--set", "preset=table1-a")
    assert "no 116,672 233,348" in known  # t0, and pulls by c-ucb
    assert "c-ucb, at most (Corollary 1) bounded 46,669.5" in known
    assert "any agent, at least (Graves and Lai) 0 0.0" in known
    assert "(Lai and Robbins) 2.466 ln T 21.0" in known
    assert "the worst arm only 0.2 T 1,000.0" in known
    later = inspected("CMAB-Tabular-v0", "--set", "preset=table1-b", "--rounds", "100000")
    assert "c-ucb, at most (Corollary 1) 80 ln T 64,921.4" in later
    assert "(Graves and Lai) 4.966 ln T 57.2" in later
    for preset, growth in (("three-arm-a", "0"), ("three-arm-b", "some c ln T")):
        latent = inspected("CMAB-Latent-v0", "--set", f"preset={preset}")
        assert f"any agent, at least (Theorem 3) {growth} " in latent
    genres = inspected("CMAB-MovieLens-v0")
    assert "(Corollary 1): not available: the pseudo-rewards of arm 9, the best" in genres
    assert "(Graves and Lai): not available: 18 arms of 5 rewards" in genres
    assert "t0" not in genres


def test_run_draws_the_lower_bound(tmp_path, capsys):
    pictures = []
    for extra in ([], ["--lower-bound"]):
        assert main([*RUN, str(tmp_path), "--agents", "ucb", *extra]) == 0
        pictures.append((tmp_path / "regret.png").read_bytes())
    capsys.readouterr()
    assert pictures[0] != pictures[1]


def test_where_to_put_env_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--agents", "ucb", "CMAB-Tabular-v0"])
    assert "put ENV first" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_found_before_playing(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    for out in ("file", "file/below"):
        assert main([*RUN, str(tmp_path / out), "--agents", "ucb"]) == 2
        out, err = capsys.readouterr()
        assert "--out" in err
        assert "rounds" not in err
    assert (tmp_path / "file").read_text() == "mine"


def test_an_output_that_nobody_reads_costs_no_results(tmp_path):
    command = [sys.executable, "-m", "cmab_gym", *RUN, str(tmp_path / "out"), "--agents", "ucb"]
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
    settings = ["--set", f"data={path}", "on_error=skip"]
    assert main(["inspect", "CMAB-Ratings-v0", *settings]) == 0
    assert ": 1 damaged, 1 duplicates" in capsys.readouterr().err
    arguments = ["run", "CMAB-Ratings-v0", *settings, "--agents", "ucb", "--rounds", "9"]
    assert main([*arguments, "--trials", "2", "--out", str(tmp_path / "out")]) == 0
    assert ": 1 damaged, 1 duplicates" in capsys.readouterr().err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["provenance"]["left_out"] == {"damaged": 1, "unrated": 0, "duplicates": 1}


def test_repeated_options_add_up(tmp_path, capsys):
    arguments = ["run", "CMAB-MovieLens-v0", "--set", "task=movie", "--set", "pad=0.4"]
    arguments += ["--agents", "ucb", "--agents", "ts", "--rounds", "60", "--trials", "1"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["env_kwargs"] == {"task": "movie", "pad": 0.4}
    assert list(manifest["agents"]) == ["ucb", "ts"]
    assert "nan" not in capsys.readouterr().out


def test_a_failed_run_keeps_the_results_of_the_one_before(tmp_path, capsys):
    path = tmp_path / "my_file.py"
    path.write_text(BAD)
    assert main([*RUN, str(tmp_path / "out"), "--agents", "ucb"]) == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert main([*RUN, str(tmp_path / "out"), "--agents", f"{path}:Bad"]) == 1
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    capsys.readouterr()


def test_an_interrupted_run_keeps_what_was_finished(tmp_path, capsys):
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
    monkeypatch.setattr(printing, "_PIPE_WIDTH", width)
    path = tmp_path / "my_agent_with_a_long_name.py"
    path.write_text(BAD.replace("2.5", "0").replace("Bad", "EpsilonGreedy"))
    agents = ["ucb", "c-ucb", f"{path}:EpsilonGreedy"]
    assert main([*RUN, str(tmp_path / "out"), "--agents", *agents]) == 0
    rows = capsys.readouterr().out.splitlines()[2:5]
    assert [row.split()[0] for row in rows] == ["ucb", "c-ucb", "EpsilonGreedy"]
    assert all(float(row.split()[1]) >= 0 for row in rows)
    assert max(map(len, rows)) <= width


def test_the_data_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path))
    assert main(["data", "list"]) == 0
    assert "ml-1m" in capsys.readouterr().out
    assert main(["data", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path)
    assert main(["data", "path", "ml-1m"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "ml-1m.zip")
    assert main(["data", "verify"]) == 0
    assert "nothing is cached" in capsys.readouterr().out
    (tmp_path / "ml-1m.zip").write_bytes(b"not it")
    assert main(["data", "verify", "ml-1m"]) == 2
    assert "expected" in capsys.readouterr().err


def test_lists(capsys):
    assert main(["envs"]) == 0
    out = capsys.readouterr().out
    for word in ("CMAB-Tabular-v0", "CMAB-Latent-v0", "CMAB-MovieLens-v0", "CMAB-Goodreads-v0"):
        assert word in out
    assert main(["agents"]) == 0
    out = capsys.readouterr().out
    for name in cmab_gym.agents.agent_names():
        assert name in out


def test_data_build(raw_data, tmp_path, capsys):
    assert main(["data", "build", str(raw_data), "--out", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 14 == len(list(tmp_path.iterdir()))


def test_version_and_help(capsys):
    for option in ("--version", "--help"):
        with pytest.raises(SystemExit) as ended:
            main([option])
        assert ended.value.code == 0
    assert cmab_gym.__version__ in capsys.readouterr().out
