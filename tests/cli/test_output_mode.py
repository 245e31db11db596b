"""`--quiet` and `--json`."""

import json

import numpy as np
import pytest

from cmab_gym import Results
from cmab_gym.cli import main
from cmab_gym.cli.documents import print_document
from cmab_gym.cli.output_mode import OutputMode, output_mode

SMALL = ["CMAB-Tabular-v0", "--trials", "2"]
FAILING = """
class Bad:
    def reset(self, problem, rng):
        raise KeyError("x")
    def act(self): ...
    def update(self, arm, reward): ...
"""


def refuse(name):
    raise AssertionError(f"{name} is not JSON")


def document(arguments, capsys):
    """Return the document that a command prints, and its standard error."""
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    return json.loads(out, parse_constant=refuse), err


def without_speed(rows):
    """Leave out what saved results round."""
    return [{key: row[key] for key in row if key != "rounds_per_second"} for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of two agents."""
    path = tmp_path_factory.mktemp("results")
    agents = ["--agents", "random", "greedy"]
    assert main(["run", *SMALL, "--rounds", "30", "--out", str(path), *agents, "--quiet"]) == 0
    return path


def test_quiet_prints_nothing_but_errors(folder, tmp_path, capsys):
    assert main(["plot", str(folder), "--kinds", "pulls", "--quiet"]) == 0
    identify = ["identify", *SMALL, "--agents", "lucb", "--max-rounds", "20", "--quiet"]
    assert main(identify) == 0
    assert capsys.readouterr() == ("", "")
    (tmp_path / "mine.py").write_text(FAILING)
    run = ["run", *SMALL, "--rounds", "5", "--agents", f"{tmp_path}/mine.py:Bad", "--quiet"]
    assert main([*run, "--out", str(tmp_path / "out")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("cmab-gym: error: agent ")
    assert main(["run", *SMALL, "--agents", "ucbb", "--quiet"]) == 2
    assert "ucbb" in capsys.readouterr().err


@pytest.mark.usefixtures("numpy_loops")
def test_the_document_of_a_run_has_the_numbers_of_its_results(tmp_path, capsys):
    run = ["run", *SMALL, "--rounds", "30", "--out", str(tmp_path), "--agents", "ucb", "random"]
    found, err = document(run, capsys)
    results = Results.load(tmp_path)
    assert without_speed(found["agents"]) == without_speed(results.summary().to_dict("records"))
    for key in ("env_id", "env_kwargs", "rounds", "trials", "first_trial", "seed", "seconds"):
        assert found[key] == results.manifest[key]
    assert (found["command"], found["out"]) == ("run", str(tmp_path))
    assert (found["failures"], found["interrupted"]) == ({}, False)
    assert "120/120 rounds" in err  # progress is never on standard output


@pytest.mark.usefixtures("numpy_loops")
def test_one_trial_has_no_interval_in_the_document(tmp_path, capsys):
    run = ["run", "CMAB-Tabular-v0", "--trials", "1", "--rounds", "5", "--agents", "ucb", "--quiet"]
    found, err = document([*run, "--out", str(tmp_path)], capsys)
    assert (found["agents"][0]["sd"], found["agents"][0]["low"]) == (None, None)
    assert err == ""


def test_failures_are_in_the_document(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(FAILING)
    bad = f"{tmp_path}/mine.py:Bad"
    run = ["run", *SMALL, "--rounds", "5", "--out", str(tmp_path / "out"), "--json"]
    assert main([*run, "--agents", bad]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["agents"], found["out"]) == ([], None)
    assert "KeyError: 'x'" in found["failures"][bad]


def test_every_other_table_is_a_document(folder, tmp_path, capsys):
    pair = document(["compare", str(folder)], capsys)[0]["comparisons"][0]["pairs"][0]
    assert (pair["first"], pair["second"]) == ("random", "greedy")
    identify = ["identify", *SMALL, "--agents", "lucb", "--max-rounds", "20"]
    agent = document(identify, capsys)[0]["agents"][0]
    assert (agent["agent"], agent["pulls"], agent["undecided"]) == ("lucb", 20.0, 2)
    found = document(["inspect", "CMAB-Tabular-v0"], capsys)[0]
    assert [arm["gap"] for arm in found["arms"]] == pytest.approx([0, 0.2])
    assert found["arms"][0]["t0"] is None  # NaN for the best arm
    assert np.shape(found["phi"]) == (2, 2)
    assert {each["bound"][:5] for each in found["bounds"]} == {"c-ucb", "any a", "witho"}
    presets = document(["envs"], capsys)[0]["presets"]
    assert {"id", "preset", "source"} == set(presets[0])
    by_name = {each["agent"]: each for each in document(["agents"], capsys)[0]["agents"]}
    assert by_name["ts"]["parameters"] == "B=None beta=1.0"
    assert by_name["ppo"]["extra"] == "rl"
    names = [each["name"] for each in document(["data", "list"], capsys)[0]["data_sets"]]
    assert "ml-1m" in names
    plan = tmp_path / "sweep.yaml"
    plan.write_text(
        "environments: [CMAB-Tabular-v0]\nagents: [random]\nrounds: 5\ntrials: 2\nseeds: [0, 1]\n"
    )
    sweep = ["sweep", str(plan), "--out", str(tmp_path / "sweep")]
    tasks = document(sweep, capsys)[0]["tasks"]
    assert [(task["seed"], task["status"], task["failure"]) for task in tasks] == [
        (0, "finished", None),
        (1, "finished", None),
    ]
    again = document([*sweep, "--summary"], capsys)[0]["tasks"]
    assert without_speed(again) == without_speed(tasks)


def test_any_text_is_safe_in_a_document(capsys):
    values = {"text": "\x1b[2J \u202e \ud800 日本語", "nan": np.float64("nan"), "inf": -np.inf}
    with output_mode(OutputMode(json=True)):
        print_document("x", {**values, "array": np.array([[1.5, np.nan]])})
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    expected = {"command": "x", "text": values["text"], "nan": None, "inf": None}
    assert json.loads(out) == {**expected, "array": [[1.5, None]]}
    print_document("x", values)
    assert capsys.readouterr().out == ""
