"""What the grader writes: feedback, JSON, Gradescope's results, a table of the class."""

import json
import math
import os
import subprocess
import sys

import pandas as pd
import pytest
from submissions import COINS, HOSTILE, UCB, acting, small_assignment

from cmab_gym.cli import main
from cmab_gym.grading import ASSIGNMENTS, Grader, Instance, find_assignment
from cmab_gym.grading.report import as_gradescope, as_json, feedback
from cmab_gym.grading.template import template

OWN = """
from cmab_gym.grading import Assignment, Instance

assignment = Assignment(
    name="mine",
    text="UCB",
    reference="ucb",
    instances=(Instance("table", "CMAB-Tabular-v0", {"preset": "table1-a"}),),
    rounds=20,
    trials=1,
)
"""
HIDDEN = Instance("secret", "CMAB-Tabular-v0", {"preset": "table1-a"}, hidden=True)


@pytest.fixture
def wrong(grade):
    return grade(acting("return 0"), instances=(COINS, HIDDEN))


def test_students_do_not_see_the_details_of_hidden_tests(wrong):
    text = feedback(wrong)
    assert text.startswith("student.py: 0 of 10 points")
    assert "secret: 0 of 5 points\nNot correct (hidden test)." in text
    assert text.count("is right.") == 1
    assert feedback(wrong, for_student=False).count("is right.") == 2


def test_points_have_at_most_two_decimals(grade):
    third = grade(acting("return 0"), points=10 / 3)
    assert "coins: 0 of 3.33 points" in feedback(third)


def test_json_holds_everything_and_no_nan(wrong, grade):
    assert as_json(wrong)["tests"][1]["feedback"].startswith("Trial 1. Round 2")
    failed = as_json(grade("", instances=(COINS,)))
    assert (failed["score"], failed["regret"], failed["time"]) == (0, None, None)
    json.dumps(failed, allow_nan=False)


def test_gradescope_gets_points_visibility_and_a_leaderboard(wrong):
    results = as_gradescope(wrong)
    assert [test["visibility"] for test in results["tests"]] == ["visible", "after_published"]
    assert [test["max_score"] for test in results["tests"]] == [5, 5]
    assert {test["status"] for test in results["tests"]} == {"failed"}
    assert {entry["name"] for entry in results["leaderboard"]} == {"regret", "time"}
    assert results["score"] == 0


def test_gradescope_gets_only_fields_and_words_that_it_documents(wrong):
    # Its specification of results.json: gradescope-autograders.readthedocs.io/en/latest/specs.
    results = as_gradescope(wrong)
    visible = {"hidden", "after_due_date", "after_published", "visible"}
    whole = {"score", "execution_time", "output", "visibility", "stdout_visibility", "extra_data"}
    assert set(results) <= whole | {"tests", "leaderboard", "output_format"}
    assert results["stdout_visibility"] in visible
    each = {"score", "max_score", "status", "name", "number", "output", "output_format", "tags"}
    for test in results["tests"]:
        assert set(test) <= each | {"visibility", "name_format", "extra_data"}
        assert test["status"] in {"passed", "failed"}
        assert test["output_format"] in {"text", "html", "simple_format", "md", "ansi"}
        assert test["visibility"] in visible
    for entry in results["leaderboard"]:
        assert set(entry) == {"name", "value", "order"}
        assert entry["order"] in {"asc", "desc"}


def test_regret_is_that_of_the_arms_pulled(wrong, grade):
    assert wrong.outcomes[0].regret == pytest.approx(40 * 0.4)
    assert wrong.regret == wrong.outcomes[0].regret + wrong.outcomes[1].regret
    assert math.isnan(grade("").regret)


def test_the_same_seed_gives_the_same_grade_and_another_draws_other_bandits(submit):
    drawn = ASSIGNMENTS["ucb"].instances[2]
    path = submit(UCB)

    def regret(seed):
        return Grader(small_assignment(instances=(drawn,)), seed).grade(path).regret

    assert regret(1) == regret(1) != regret(2)


def test_a_folder_of_submissions_becomes_one_table(submit, tmp_path, capsys):
    submit(OWN, "mine.py")
    submit(UCB, "class/ann.py")
    submit(UCB, "class/bob/submission.py")
    submit(HOSTILE["exits"][0], "class/=cmd.py")
    submit(HOSTILE["is binary"][0], "class/dan/submission.py")
    folder, out = str(tmp_path / "class"), tmp_path / "out"
    assert (
        main(["grade", folder, "--assignment", str(tmp_path / "mine.py"), "--out", str(out)]) == 0
    )
    table = pd.read_csv(out / "grades.csv")
    assert table["score"].tolist() == [10, 10, 0, 0]
    assert table["rank"].tolist() == [1, 1, 3, 3]
    assert {path.stem for path in out.glob("*.json")} == {"ann", "bob", "=cmd", "dan"}
    told = (out / "=cmd.txt").read_text()
    assert "it called sys.exit" in told
    assert told.endswith("\n")
    assert json.loads((out / "bob.json").read_text())["score"] == 10
    printed = capsys.readouterr().out
    assert "ann.py: 10 of 10 points" in printed
    assert "nan" not in printed


@pytest.mark.parametrize(
    "name",
    ["b\nann.py: 10 of 10 points.py", os.fsdecode(b"\xff.py"), "=cmd().py", f"{'x' * 250}.py"],
)
def test_a_name_that_a_student_chose_does_no_harm(submit, monkeypatch, tmp_path, capsys, name):
    submit(OWN, "mine.py")
    submit("", f"class/{name}")
    submit("", "class/ann.py")
    monkeypatch.chdir(tmp_path / "class")
    assert main(["grade", ".", "--assignment", "../mine.py", "--out", "../out"]) == 0
    assert "\nann.py: 10" not in capsys.readouterr().out
    for path in (tmp_path / "out").glob("*.txt"):
        assert path.read_text().split("\n")[1] == ""
    table = pd.read_csv(tmp_path / "out" / "grades.csv")
    assert len(table) == 2
    assert not table["submission"].str.startswith("=").any()


def test_every_submission_has_its_own_files(submit, tmp_path):
    submit(OWN, "mine.py")
    names = ("ann/ps1/agent.py", "bob/ps1/agent.py", "bob/PS1/submission.py", "bob/ps1.py")
    paths = [str(submit("", f"class/{name}")) for name in names]
    out = tmp_path / "out"
    assert (
        main(["grade", *paths, "--assignment", str(tmp_path / "mine.py"), "--out", str(out)]) == 0
    )
    found = {path.stem: json.loads(path.read_text())["submission"] for path in out.glob("*.json")}
    assert list(map(found.get, ("ann-ps1-agent", "bob-ps1-agent", "bob-PS1", "bob-ps1-2"))) == paths


def test_what_was_graded_before_an_interrupt_is_kept(submit, monkeypatch, tmp_path):
    submit(OWN, "mine.py")
    paths = [str(submit("", f"class/{name}.py")) for name in "ab"]
    grade = Grader.grade

    def interrupted(self, path):
        if path.stem == "b":
            raise KeyboardInterrupt
        return grade(self, path)

    monkeypatch.setattr(Grader, "grade", interrupted)
    arguments = ["--assignment", str(tmp_path / "mine.py"), "--out", str(tmp_path / "out")]
    assert main(["grade", *paths, *arguments]) != 0
    assert "points" in (tmp_path / "out" / "a.txt").read_text()


def test_one_submission_is_explained(submit, tmp_path, capsys):
    own, path = submit(OWN, "mine.py"), submit(acting("return 0"))
    assert main(["grade", str(path), "--assignment", str(own)]) == 0
    assert "it pulled arm 0; arm 1 is right." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--assignment", "ucbb"], "did you mean 'ucb'"),
        (["--assignment", "none.py"], "is not a file"),
        (["--assignment", "ucb"], "no submissions: expected"),
        (["nowhere.py", "--assignment", "ucb"], "does not exist"),
        (["a.ipynb", "--assignment", "ucb"], "a.ipynb is not a Python file"),
        (["a.py", "b.py", "--assignment", "ucb", "--gradescope", "x"], "expected one"),
        (["--assignment", "ucb", "--autograder", "a.py"], "--autograder a.py: expected"),
        (["a.py", "--assignment", "ucb", "--user", "no-such-user"], "--user 'no-such-user'"),
    ],
)
def test_wrong_arguments(submit, monkeypatch, tmp_path, capsys, arguments, message):
    submit(UCB, "a.py"), submit(UCB, "b.py"), submit("{}", "a.ipynb")
    monkeypatch.chdir(tmp_path)
    assert main(["grade", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_template_runs_and_says_that_it_is_not_complete(name, grade):
    source = template(find_assignment(name))
    assert ASSIGNMENTS[name].text in source
    assert "NotImplementedError" in grade(source).outcomes[0].feedback


def test_the_template_names_no_assignment_that_students_do_not_have(submit):
    own = find_assignment(str(submit(OWN, "mine.py")))
    assert "--assignment" not in template(own)
    assert "--assignment ucb" in template(ASSIGNMENTS["ucb"])


@pytest.mark.parametrize("files", [["agent.py"], [], ["a.py", "b.py"]])
def test_the_autograder_folder_works(submit, tmp_path, files):
    own = submit(OWN, "mine.py")
    place = tmp_path / "autograder"
    assert main(["grade", "--assignment", str(own), "--autograder", str(place / "source")]) == 0
    (place / "results").mkdir()
    for name in files:
        submit(UCB, f"autograder/submission/{name}")
    command = tmp_path / "cmab-gym"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cmab_gym "$@"\n')
    command.chmod(0o755)
    names = {"AUTOGRADER": str(place), "CMAB_GYM": str(command), "GRADER_USER": user_now()}
    subprocess.run([place / "source" / "run_autograder"], env={**os.environ, **names}, check=True)
    results = json.loads((place / "results" / "results.json").read_text())
    assert results["score"] == (10 if len(files) == 1 else 0)
    assert os.access(place / "source" / "setup.sh", os.X_OK)


def user_now():
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name
