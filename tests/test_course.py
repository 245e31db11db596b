"""The course: the cells of every notebook run in order, with the checks of what its text says."""

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

COURSE = Path(__file__).resolve().parent.parent / "docs" / "course"
LESSONS = sorted(COURSE.glob("lesson-*.md"))
WITH_RL = ("lesson-4.md",)
# Replacements that make long cells short enough for a test. All else runs as students run it.
SHORTER = {
    "BANDITS, ROUNDS, ARMS = 1000, 4000, 10": "BANDITS, ROUNDS, ARMS = 300, 4000, 10",
    "TRIALS, ROUNDS, JOBS = 12, 1000, 2": "TRIALS, ROUNDS, JOBS = 2, 1000, 1",
    "STEPS = 10_000": "STEPS = 2_000",
}


def cells_of(page):
    """Return the first line and the text of every code cell."""
    text = page.read_text(encoding="utf-8")
    fence = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in fence.finditer(text)]


def run(page, names):
    """Run the cells of a page in one namespace."""
    for line, text in cells_of(page):
        for long, short in SHORTER.items():
            text = text.replace(long, short)
        # Empty lines in front, so that a traceback names the line of the page.
        exec(compile("\n" * line + text, str(page), "exec"), names)  # noqa: S102


def parameters(lessons):
    marks = dict.fromkeys(WITH_RL, pytest.mark.rl)
    return [pytest.param(each, id=each.stem, marks=marks.get(each.name, ())) for each in lessons]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for what students write, and figures without a screen."""
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("lesson", parameters(LESSONS))
@pytest.mark.usefixtures("folder")
def test_a_lesson_and_its_solutions_run_and_their_checks_hold(lesson):
    names = {"__name__": "__main__"}
    run(lesson, names)
    run(COURSE / lesson.name.replace("lesson", "solutions"), names)


@pytest.mark.parametrize("page", [*LESSONS, *COURSE.glob("solutions-*.md")], ids=lambda p: p.stem)
def test_a_page_opens_in_jupyter_and_has_no_other_code(page):
    text = page.read_text(encoding="utf-8")
    assert text.startswith("---\njupytext:\n")
    assert "format_name: myst" in text
    assert text.count("\n```") == 2 * len(cells_of(page))


def test_every_replacement_belongs_to_a_cell():
    texts = [text for page in COURSE.glob("*.md") for _, text in cells_of(page)]
    assert [long for long in SHORTER if not any(long in text for text in texts)] == []
