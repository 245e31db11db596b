import pytest

from cmab_gym.cli import main
from cmab_gym.cli.errors import print_error

TABULAR = ["run", "CMAB-Tabular-v0", "--agents", "ucb"]
MOVIELENS = ["run", "CMAB-MovieLens-v0", "--agents", "ucb"]


def only_line(arguments, capsys):
    """Run a command that must end with code 2 and one line on standard error."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("cmab-gym: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("cmab-gym: error: ").strip()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*TABULAR, "--rounds", "0"], "--rounds 0: expected an integer of at least 1"),
        ([*TABULAR, "--trials", "x"], "--trials x: expected an integer of at least 1"),
        ([*TABULAR, "--trials", "1.5"], "--trials 1.5: expected an integer of at least 1"),
        ([*TABULAR, "--seed", "-1"], "--seed -1: expected an integer of at least 0"),
        (
            [*TABULAR, "--jobs", "0"],
            "--jobs 0: expected an integer of at least 1, or -1 for one per core",
        ),
        (
            [*TABULAR, "--jobs", ""],
            "--jobs '': expected an integer of at least 1, or -1 for one per core",
        ),
        (
            [*TABULAR, "--checkpoints", "linear"],
            "--checkpoints linear: expected a count of at least 1, or log",
        ),
        (
            [*TABULAR, "--checkpoints", "0"],
            "--checkpoints 0: expected a count of at least 1, or log",
        ),
        ([*TABULAR, "--set", "preset"], "--set preset: expected KEY=VALUE, such as task=movie"),
        (
            [*TABULAR, "--set", "a=1", "--set", "a=2"],
            "--set: a= is given twice: expected each keyword argument once",
        ),
        (
            [*TABULAR, "ucb"],
            "--agents: ucb is given twice: expected each agent once; to compare parameters, give "
            "them in parentheses, such as 'ucb(B=2)'",
        ),
        (
            [*TABULAR, "--out", ""],
            "--out '': expected an existing folder or the name of a new one",
        ),
        (
            ["inspect", "CMAB-Tabular-v0", "--seed", "-1"],
            "--seed -1: expected an integer of at least 0",
        ),
        (
            ["inspect", "CMAB-Tabular-v0", "--rounds", "0"],
            "--rounds 0: expected an integer of at least 1",
        ),
        (["reproduce", "--trials", "0"], "--trials 0: expected an integer of at least 1"),
        (
            ["sweep", "sweep.yaml", "--jobs", "-2"],
            "--jobs -2: expected an integer of at least 1, or -1 for one per core",
        ),
        (
            ["train", "ppo", "--on", "bernoulli", "--out", "m.zip", "--arms", "1"],
            "--arms 1: expected an integer of at least 2",
        ),
        (
            ["train", "ppo", "--on", "bernoulli", "--out", "m.zip", "--steps", "0"],
            "--steps 0: expected an integer of at least 1",
        ),
        (
            [*TABULAR, "--trails", "5"],
            "unknown argument --trails: did you mean --trials; see `cmab-gym run --help`",
        ),
        (
            ["data", "list", "everything"],
            "unknown argument everything; see `cmab-gym data list --help`",
        ),
        ([*TABULAR, "--rounds"], "--rounds: expected one argument; see `cmab-gym run --help`"),
    ],
)
def test_an_error_names_the_option_its_value_and_what_is_expected(
    arguments, message, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert only_line(arguments, capsys) == message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (
            [*TABULAR[:3], "ubc"],
            ["unknown agent 'ubc': did you mean 'ucb'? Expected one of: random, greedy, "],
        ),
        ([*TABULAR[:3], "x.py:A"], ["expected path/to/file.py:Class"]),
        ([*TABULAR[:3], "ucb(B=x)"], ["B='x': expected a number above 0"]),
        ([*TABULAR[:3], "ucb(B=1, B=2)"], ["'ucb(B=1, B=2)': B= is given twice"]),
        ([*TABULAR[:3], "ucb(B=1/0)"], ["the value of B= is neither a number nor a word"]),
        ([*TABULAR[:3], f"ucb({'-' * 100_000}1)"], ["expected name("]),
        ([*TABULAR[:3], f"ucb(B={'-' * 100_000}1)"], ["expected name("]),
        ([*TABULAR[:3], "-" * 100_000], ["--agents", "expected"]),
        ([*TABULAR[:3], "ucb(B=2"], ["'ucb(B=2': expected name("]),
        ([*TABULAR[:3], "ucb(B=0)"], ["B=0: expected a number above 0"]),
        ([*TABULAR[:3], "ucb(c=2)"], ["'c'", "['B']"]),
        (["run", "CMAB-Tabluar-v0", "--agents", "ucb"], ["did you mean 'CMAB-Tabular-v0'"]),
        (
            [*TABULAR, "--set", "shape=2"],
            ["unknown keyword argument 'shape' of Tabular: expected one of: preset, pmf"],
        ),
        ([*TABULAR, "--set", "preset=x"], ["unknown preset 'x'"]),
        ([*MOVIELENS, "--set", "mask=-1"], ["mask=-1: expected"]),
        ([*MOVIELENS, "--set", "data=x"], ["x does not exist"]),
        ([*MOVIELENS, "--set", "data=ml-1m"], ["data fetch ml-1m"]),
        ([*MOVIELENS, "--lower-bound"], ["--lower-bound: 18 arms of 5 rewards"]),
        (
            [*TABULAR, "--jobs", "2", "--scheduler", "tcp://x:1"],
            ["--jobs 2 ", "--scheduler 'tcp://x:1'"],
        ),
        ([*TABULAR, "--parameters", "x"], ["--parameters", "'x'", "published"]),
        (
            ["identify", "CMAB-Tabular-v0", "--agents", "lucb", "lucb()"],
            ["'lucb' and 'lucb()' are one agent: expected it once"],
        ),
        (["inspect", "CartPole-v9"], ["unknown environment 'CartPole-v9'"]),
        (["inspect", "CartPole-v1"], ["CartPole-v1 is not a bandit of this package"]),
        (["reproduce", "99"], ["no panel '99': expected figures (5, 7, ", "panels (5a, 5b, "]),
        (["reproduce", "10d"], ["no panel '10d'"]),
        (["data", "fetch", "ml-1n"], ["unknown data set 'ml-1n': did you mean 'ml-1m'"]),
        (
            ["data", "fetch", "ml-1m", "--url", "file:///x"],
            ["--url 'file:///x': expected an address that starts with https:// or http://"],
        ),
        (["data", "build", "nowhere"], ["put the archive there"]),
        (["rnu"], ["'rnu'", "run", "see `cmab-gym --help`"]),
        (
            ["run", "--agents", "ucb", "CMAB-Tabular-v0"],
            ["ENV", "put ENV first", "see `cmab-gym run --help`"],
        ),
    ],
)
def test_a_wrong_argument_ends_with_code_2_and_one_line(
    arguments, messages, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMAB_GYM_DATA", str(tmp_path / "results"))
    line = only_line(arguments, capsys)
    for message in messages:
        assert message in line
    for parameter in ("n_jobs=", "scheduler=", "env_kwargs", "mapping"):
        assert parameter not in line
    assert not list(tmp_path.iterdir())


def test_errors_name_options_in_place_of_python_parameters(capsys):
    options = {"n_jobs": "--jobs", "scheduler": "--scheduler"}
    print_error("n_jobs=2 and scheduler='tcp://x:1': expected one of them", options)
    print_error("agent 'mine(jobs=3, my_n_jobs=4)': use n_jobs=1", options)
    assert capsys.readouterr().err.splitlines() == [
        "cmab-gym: error: --jobs 2 and --scheduler 'tcp://x:1': expected one of them",
        "cmab-gym: error: agent 'mine(jobs=3, my_n_jobs=4)': use --jobs 1",
    ]
