"""The test cells of docs/grading.md, run as nbgrader and otter-grader run them."""

import ast
import re
import textwrap
from pathlib import Path

import pytest
from submissions import UCB

PAGE = Path(__file__).resolve().parents[2].joinpath("docs", "grading.md").read_text("utf-8")
HALF = UCB.replace("self.B *", "self.B / 2 *")


def found(pattern):
    return textwrap.dedent(re.search(pattern, PAGE, re.MULTILINE | re.DOTALL)[1])


@pytest.fixture
def course(submit, tmp_path, monkeypatch):
    """Write a student's agent where nbgrader runs the notebook, and the assignment for it."""
    assignment = found(r"<!-- my_assignment\.py -->\n```python\n(.*?)^```")

    def written(source, folder):
        monkeypatch.chdir(submit(source, f"{folder}/student.py").parent)
        submit(assignment, "my_assignment.py")

    return written


@pytest.mark.parametrize(
    ("source", "points"), [(HALF, "6.0"), (UCB, "0.0")], ids=["right", "wrong"]
)
def test_nbgrader_reads_the_points(course, capfd, source, points):
    course(source, "autograded/ann/ps1")
    *cell, last = ast.parse(found(r"^(### BEGIN HIDDEN TESTS\n.*?)^```")).body
    names = {}
    exec(compile(ast.Module(cell, []), "cell", "exec"), names)  # noqa: S102
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    assert repr(value) == points  # nbgrader reads what the notebook shows
    printed = capfd.readouterr()
    assert f"student.py: {points[0]} of 6 points" in printed.out
    assert printed.err == ""  # or nbgrader gives no points


def test_otter_grader_passes_the_right_agent_alone(course, capsys):
    cell = found(r"^code  (# HIDDEN\n.*?)^raw")
    cell = textwrap.dedent(cell.replace("# HIDDEN\n", "", 1))
    course(HALF, ".")
    exec(cell, {})  # noqa: S102
    assert capsys.readouterr().out == ""  # or otter-grader compares what the cell prints
    course(UCB, ".")
    with pytest.raises(AssertionError, match="Likely mistake: the bonus is not halved"):
        exec(cell, {})  # noqa: S102
