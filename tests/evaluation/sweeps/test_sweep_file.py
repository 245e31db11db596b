"""Sweep files: their values, and files that are damaged or hostile."""

import json
import os
from pathlib import Path

import pytest
from agent_files import MINE

from cmab_gym.cli import main
from cmab_gym.cli.parser import parser
from cmab_gym.evaluation import Results, Sweep, sweep
from cmab_gym.evaluation.sweeps.sweep_file import read_sweep_file
from cmab_gym.evaluation.sweeps.sweep_tasks import MOST_TASKS

VALUES = (
    "0.4",
    "1e-3",
    "movie",
    "off",
    "null",
    "true",
    "None",
    "007",
    "12:30",
    "2024-01-02",
    "1_0",
)
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def read(tmp_path, text):
    path = tmp_path / "sweep.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_sweep_file(path)


@pytest.mark.parametrize("text", VALUES)
def test_values_are_read_as_on_the_command_line(tmp_path, text):
    chosen = parser().parse_args(["inspect", "CMAB-Tabular-v0", "--set", f"key={text}"])
    value = chosen.env_kwargs["key"]
    found = read(tmp_path, f"block: {text}\nflow: [{text}]\nquoted: '{text}'\n")
    assert found == {"block": value, "flow": [value], "quoted": text}
    assert type(found["block"]) is type(value)


def test_lists_mappings_and_aliases_are_read(tmp_path):
    text = "a: &x {id: one, pad: [0.1, -2]}\nb: [*x, 'two', \"three\\n\"]\nc:\nd: (0, 6)\n"
    one = {"id": "one", "pad": [0.1, -2]}
    assert read(tmp_path, text) == {"a": one, "b": [one, "two", "three\n"], "c": None, "d": (0, 6)}
    assert read(tmp_path, "") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rounds: 1\nrounds: 2", "line 2: 'rounds' is given twice: expected each key once"),
        ("agents:\n- {name: ts, B: 1, B: 2}", "line 2: 'B' is given twice"),
        ("a: !!python/object:os.system x", "line 1: the tag 'tag:yaml.org,2002:python/object"),
        ("a: 1\n---\nb: 2", "line 2: a second document: expected one"),
        ("? [1, 2]\n: 3", "line 1: a list, mapping or alias as a key"),
        ("a: &a [*a]", "line 1: \\*a has no &a before it"),
        ("[" * 5000 + "]" * 5000, "line 1: nested more than 50 levels deep"),
        ("{a: " * 5000 + "}" * 5000, "line 1: nested more than 50 levels deep"),
        ("- " * 5000, "line 1: nested more than 50 levels deep"),
        (BOMB, "more than 100,000 values, including those of aliases"),
        ("a: [1", "is not YAML"),
        ('a: "\\UFFFFFFFF"', "is not YAML"),
        ("%YAML 9.9\n---\na: 1", "is not YAML"),
        (b"a: caf\xe9", "is not YAML"),
        (b"a: \x00", "is not YAML"),
        (b"PK\x03\x04", "is not YAML"),
    ],
)
def test_a_damaged_or_hostile_file_is_one_error(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("value", ["-" * 100_000 + "1", "9" * 10_000, "[" * 40 + "1" + "]" * 40])
def test_a_hostile_value_is_one_short_error_of_the_command(tmp_path, capsys, value):
    text = f"environments: [CMAB-Tabular-v0]\nagents: [ucb]\nrounds: {value}\n"
    (tmp_path / "sweep.yaml").write_text(text)
    assert main(["sweep", str(tmp_path / "sweep.yaml"), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert len(err) < 2100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": [3, 0, 0]}, r"seeds: 0 is given twice: expected each value once"),
        (
            {"environments": [{"id": "CMAB-MovieLens-v0", "pad": [0.1, 0.1]}]},
            r"environments\[0\].pad: 0.1 is given twice",
        ),
        ({"agents": [{"name": "ts", "beta": [1, 1]}]}, r"agents\[0\].beta: 1 is given twice"),
        ({"agents": ["ucb", "ucb()"]}, r"^agents: 'ucb' and 'ucb\(\)' are one agent"),
        (
            {"agents": ["ts(beta=2)", {"name": "ts", "beta": [1.0, 2.0]}]},
            r"^agents: 'ts\(beta=2\)' and 'ts\(beta=2.0\)' are one agent: expected it once",
        ),
        ({"agents": ["ucb", "ucb"]}, r"is given twice \(agents\[0\] and agents\[1\]\)"),
        (
            {"environments": ["CMAB-Tabular-v0", "CMAB-Tabular-v0"]},
            r"is given twice \(environments\[0\] and environments\[1\]\)",
        ),
        ({"seeds": range(MOST_TASKS + 1)}, "100,001 tasks: expected at most 100,000"),
        (
            {"agents": [{"name": "ts", **{f"p{i}": list(range(10)) for i in range(99)}}]},
            r"agents\[0\] has .* combinations: expected at most 100,000",
        ),
    ],
)
def test_errors_name_values_that_are_given_twice_or_too_often(changes, message):
    plan = {"environments": ["CMAB-Tabular-v0"], "agents": ["ucb"], **changes}
    with pytest.raises(ValueError, match=message):
        Sweep(**plan).tasks()


@pytest.mark.parametrize("agent", ["ucb(B=", "mine.py:Mine(B="])
def test_an_agent_that_cannot_be_read_is_named_with_its_key(agent):
    with pytest.raises(ValueError, match=r"^agents\[1\]: agent '.*\(B=': expected name\("):
        Sweep(["CMAB-Tabular-v0"], ["ts", agent]).tasks()


@pytest.mark.parametrize("key", ["data", "preset", "agent"])
def test_a_path_longer_than_any_file_name_is_not_found(tmp_path, capsys, key):
    long = "9" * 5000
    kwargs = {} if key == "agent" else {key: long}
    env_id = "CMAB-Ratings-v0" if key == "data" else "CMAB-Tabular-v0"
    agent = f"{long}.py:Mine" if key == "agent" else "ucb"
    plan = {"environments": [{"id": env_id, **kwargs}], "agents": [agent], "rounds": 5}
    (tmp_path / "sweep.yaml").write_text(json.dumps(plan))
    assert main(["sweep", str(tmp_path / "sweep.yaml"), "--out", str(tmp_path / "out")]) in (1, 2)
    said = {"data": "does not exist", "preset": "expected one of", "agent": "is not a file"}[key]
    assert said in capsys.readouterr().err


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    rows = [f"{user},{item},{1 + (user + item) % 5}" for user in range(9) for item in range(3)]
    (folder / "r.csv").write_text("\n".join(["user_id,book_id,rating", *rows]))
    (folder / "mine.py").write_text(MINE)
    (folder / "sweep.yaml").write_text(
        "environments: [{id: CMAB-Ratings-v0, data: r.csv}]\nagents: ['mine.py:Mine']\n"
        "rounds: 5\ntrials: 1\n"
    )
    names = []
    for place in (folder, tmp_path):
        monkeypatch.chdir(place)
        file = os.path.relpath(folder / "sweep.yaml")
        names += [task.name for task in Sweep.from_file(file).tasks()]
    assert len(set(names)) == 1  # the same task, wherever the sweep is started
    table = sweep("here/sweep.yaml", "out", say=lambda text: None)
    assert list(table["status"]) == ["finished"]
    kept = Results.load(Path("out", names[0])).manifest["env_kwargs"]["data"]
    assert Path(kept) == folder / "r.csv"
    (folder / "r.csv").write_text("\n".join(["user_id,book_id,rating", *rows[:-1]]))
    assert Sweep.from_file("here/sweep.yaml").tasks()[0].name != names[0]


def test_the_name_of_a_data_set_is_not_a_path(tmp_path):
    (tmp_path / "sweep.yaml").write_text(
        "environments: [{id: CMAB-MovieLens-v0, data: [ml-1m, ml.zip]}]\nagents: [ucb]\n"
    )
    found = [
        task.located_kwargs["data"] for task in Sweep.from_file(tmp_path / "sweep.yaml").tasks()
    ]
    assert found == ["ml-1m", str(tmp_path / "ml.zip")]
