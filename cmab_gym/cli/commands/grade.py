"""`cmab-gym grade`: grade students' agents."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_seed, add_whole, name_options
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.printing import print_table, say
from cmab_gym.cli.values import above_0
from cmab_gym.files import write_csv, write_whole
from cmab_gym.grading import Assignment, Grade, Grader, Limits, find_assignment
from cmab_gym.grading.grade import submissions_in
from cmab_gym.grading.gradescope_folder import write_autograder
from cmab_gym.grading.report import (
    as_gradescope,
    as_json,
    class_table,
    feedback,
    json_text,
    points,
)
from cmab_gym.grading.template import template
from cmab_gym.text import shown

_LONGEST_NAME = 50  # characters of up to 4 bytes: file systems allow 255
_ROOT = (
    "submissions run as root, and can read all files: use --user nobody, or use a container that "
    "holds nothing else"
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "submissions",
        nargs="*",
        metavar="SUBMISSION",
        help="Python files, or folders with *.py or */submission.py",
    )
    parser.add_argument(
        "--assignment",
        required=True,
        metavar="NAME|FILE",
        help="ucb, c-ucb, ts, epsilon-greedy, or your own file (see docs/grading.md)",
    )
    add_seed(parser)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="folder for grades.csv, and feedback and JSON for each submission",
    )
    parser.add_argument("--gradescope", metavar="FILE", help="write Gradescope's results.json here")
    parser.add_argument(
        "--seconds",
        type=above_0("--seconds", " of seconds"),
        default=60.0,
        metavar="N",
        help="for all tests of a submission (default 60)",
    )
    add_whole(parser, "--memory", "megabytes of a submission's process", 1024, at_least=64)
    parser.add_argument("--user", help="user that runs submissions, if you are root")
    parser.add_argument(
        "--template", metavar="FILE", help="write the file that students begin with"
    )
    parser.add_argument(
        "--autograder", metavar="FOLDER", help="write the files of an autograder for Gradescope"
    )
    name_options(parser, {name: f"--{name}" for name in ("assignment", "user", "seed", "seconds")})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Grade submissions, or write a template or an autograder folder."""
    assignment = find_assignment(chosen.assignment)
    if chosen.template:
        _write(Path(chosen.template), template(assignment))
    if chosen.autograder:
        folder = output_folder(chosen.autograder, "--autograder")
        write_autograder(folder, chosen.assignment, chosen.seed)
        say(f"written to {shown(chosen.autograder)}")
    if chosen.submissions:
        _grade(chosen, assignment)
    elif not (chosen.template or chosen.autograder):
        raise ValueError("no submissions: expected files or folders, --template or --autograder")
    return OK


def _grade(chosen: argparse.Namespace, assignment: Assignment) -> None:
    paths = [path for given in chosen.submissions for path in submissions_in(given)]
    if chosen.gradescope and len(paths) > 1:
        raise ValueError(f"--gradescope with {len(paths)} submissions: expected one")
    out = output_folder(chosen.out) if chosen.out else None
    if hasattr(os, "geteuid") and os.geteuid() == 0 and chosen.user is None:
        say(_ROOT, stderr=True)
    grader = Grader(
        assignment, chosen.seed, Limits(seconds=chosen.seconds, memory=chosen.memory), chosen.user
    )
    grades = []
    for path, name in zip(paths, _names(paths), strict=True):
        grade = grader.grade(path)
        grades.append(grade)
        if chosen.gradescope:
            _write(Path(chosen.gradescope), json_text(as_gradescope(grade)))
        elif len(paths) > 1:
            say(f"{shown(path)}: {points(grade.score)} of {points(grade.max_score)} points")
        else:
            _print(feedback(grade, for_student=False))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            _write(out / f"{name}.txt", feedback(grade) + "\n")
            _write(out / f"{name}.json", json_text(as_json(grade)))
    if len(grades) > 1:
        say("")
        _print_leaders(grades)
    if out is not None:
        write_csv(out / "grades.csv", class_table(grades))
        say(f"\nwritten to {shown(out)}")


def _names(paths: Sequence[Path]) -> Iterator[str]:
    """Name the files of each grade: "ann" for class/ann.py, "bob" for class/bob/submission.py."""
    places = [
        Path(os.path.abspath(path.parent if path.name == "submission.py" else path.with_suffix("")))
        for path in paths
    ]
    root = os.path.commonpath([place.parent for place in places])
    taken: set[str] = set()
    for place in places:
        own = "-".join(place.relative_to(root).parts)[-_LONGEST_NAME:]
        name, number = own, 1
        while name.casefold() in taken:  # some file systems ignore case
            number += 1
            name = f"{own}-{number}"
        taken.add(name.casefold())
        yield name


def _print_leaders(grades: Sequence[Grade]) -> None:
    header = ("rank", "submission", "score", "regret", "time")
    rows = [
        (str(rank), shown(name), points(score), _one_digit(regret), _one_digit(ratio))
        for rank, name, score, regret, ratio in class_table(grades)[list(header)].itertuples(
            index=False
        )
    ]
    print_table(header, rows, text=["submission"])
    say("regret: of all tests together; time: of a round, divided by the reference's")


def _one_digit(number: float) -> str:
    return "-" if math.isnan(number) else f"{number:.1f}"


def _print(text: str) -> None:
    for line in text.split("\n"):
        say(shown(line))


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
