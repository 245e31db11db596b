import pytest

from cmab_gym import Results
from cmab_gym.cli import main

RUN = ["run", "CMAB-Tabular-v0", "--rounds", "30", "--trials", "3", "--agents"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    assert main([*RUN, "ucb", "--out", str(folder / "a")]) == 0
    assert main([*RUN, "c-ucb", "--out", str(folder / "b")]) == 0
    return folder


def pictures(folder):
    return sorted(path.name for path in folder.glob("*.*") if path.suffix in (".png", ".svg"))


def test_each_folder_gets_the_pictures_that_it_has_numbers_for(folders, capsys):
    assert main(["plot", str(folders / "a"), str(folders / "b")]) == 0
    assert pictures(folders / "a") == ["distribution.png", "pulls.png", "regret.png"]
    assert pictures(folders / "b") == [
        *["competitive.png", "distribution.png", "pulls.png", "regret.png"]
    ]
    assert f"written to {folders / 'b' / 'pulls.png'}" in capsys.readouterr().out


def test_folders_of_one_task_are_joined(folders, tmp_path):
    given = [str(folders / name) for name in "ab"]
    options = ["--kinds", "regret", "distribution", "--format", "svg", "--band", "interval"]
    options += ["--log", "y", "--labels", "c-ucb=ours", "--highlight", "c-ucb", "--title", "mine"]
    assert main(["plot", *given, "--out", str(tmp_path), *options]) == 0
    assert pictures(tmp_path) == ["distribution.svg", "regret.svg"]
    assert [run.label for run in Results.load(tmp_path).runs] == ["ucb", "c-ucb"]
    assert main(["plot", given[0], given[0], "--out", str(tmp_path)]) == 0  # the same folder
    assert pictures(tmp_path) == ["distribution.png", "pulls.png", "regret.png"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--highlight", "ubc"], "unknown agent 'ubc'"),
        (["--labels", "ours"], "--labels ours: expected AGENT=NAME, such as c-ucb=ours"),
        (["--kinds", "pie"], "invalid choice: 'pie'"),
        (["--kinds", "competitive"], "no agent rules arms out"),
    ],
)
def test_wrong_options_are_refused(folders, capsys, options, message):
    assert main(["plot", str(folders / "a"), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    assert main(["plot", str(tmp_path)]) == 2
    assert "has no results.parquet" in capsys.readouterr().err
