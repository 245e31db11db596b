import json

import pandas as pd
import pytest

import cmab_gym
from cmab_gym.cli import main

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
    assert "no agent finished" in capsys.readouterr().out


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
        (["run", "CMAB-MovieLens-v0", "--agents", "ucb", "--set", "data=x"], "x is not a file"),
        (["inspect", "CartPole-v9"], "unknown environment 'CartPole-v9'"),
        (["inspect", "CartPole-v1"], "CartPole-v1 is no bandit"),
        (["data", "build", "nowhere"], "put the archive there"),
    ],
)
def test_wrong_arguments_end_with_code_2_and_one_line(
    arguments, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_inspect_tells_what_theory_says(capsys):
    assert main(["inspect", "CMAB-Tabular-v0", "--set", "preset=table1-a"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 arm 1 0.4000 0.2000 0.5200 +0.0800 no" in out
    assert "arm 0 0.6000 0.6800" in out  # phi
    assert "C = 1 of 2 arms are competitive" in out
    assert main(["inspect", "CMAB-MovieLens-v0"]) == 0
    assert "Film-Noir" in capsys.readouterr().out


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
