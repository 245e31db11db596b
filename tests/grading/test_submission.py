"""Submissions that break a rule or a limit lose their points, and never stop the grader."""

import re
import sys
import time
from dataclasses import replace

import pytest
from submissions import COINS, HOSTILE, UCB, acting, small_assignment

from cmab_gym.grading import Grader, Limits

# These cannot be found out before the time is up.
SLOW = ("hangs", "sleeps", "hangs when imported", "stops", "hangs in an error")


def runnable_here(name):
    return sys.platform != "darwin" or not name.startswith("allocates")  # it limits no memory


@pytest.mark.parametrize("name", [name for name in HOSTILE if runnable_here(name)])
def test_a_hostile_submission_loses_its_points_and_reads_why(grade, name):
    source, expected = HOSTILE[name]
    limits = Limits(seconds=0.7) if name in SLOW else Limits(seconds=20, output=50_000)
    start = time.monotonic()
    (outcome,) = grade(source, limits).outcomes
    assert outcome.points == 0
    assert re.search(expected, outcome.feedback), outcome.feedback
    assert outcome.feedback.isprintable()
    assert len(outcome.feedback) < 1000
    assert time.monotonic() - start < 10


def test_a_submission_learns_nothing_of_the_grader(grade, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    source = acting(
        "import gc, os, sys\n"
        "kinds = {str(type(each).__module__).partition('.')[0] for each in gc.get_objects()}\n"
        "told = sorted(vars(self.problem)), sys.argv[1:], os.environ.get('SECRET')\n"
        "raise ValueError(f\"{'cmab_gym' in kinds} {'cmab_gym' in sys.modules} {told}\")"
    )
    (outcome,) = grade(source).outcomes
    public = "['horizon', 'n_arms', 'pseudo_rewards', 'reward_bounds', 'reward_range', "
    assert f"False False ({public}'reward_support'], [], None)" in outcome.feedback


@pytest.mark.parametrize(
    ("name", "value"), [("seconds", 0), ("seconds", float("nan")), ("seconds", 1e7), ("memory", 1)]
)
def test_a_limit_that_cannot_be_kept_is_the_teachers_error(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}: expected"):
        Limits(**{name: value})


def test_its_random_numbers_tell_nothing_about_the_graders_seed(grade):
    source = acting("raise ValueError(self.rng.integers(10**9))")
    first, second = (grade(source, seed=seed).outcomes[0].feedback for seed in (1, 2))
    assert first == second


def test_nothing_is_kept_from_one_test_to_the_next(grade):
    source = UCB.replace("class Agent:", "seen = []\n\n\nclass Agent:").replace(
        "    def act(self):",
        "    def act(self):\n        seen.append(1)\n        assert len(seen) < 42",
    )
    twice = [replace(COINS, name=name) for name in "ab"]
    assert grade(source, instances=tuple(twice), rounds=41).score == 10


def test_what_is_printed_does_no_harm(grade):
    assert grade(UCB.replace("self.n[arm] += 1", "self.n[arm] += 1; print('x' * 999)")).score == 10
    assert grade(UCB + "\nimport sys\nsys.stdout.close()").score == 10


def test_tests_after_the_time_is_up_are_lost(submit):
    later = replace(COINS, name="later")
    grader = Grader(small_assignment(instances=(COINS, later)), 0, Limits(seconds=0.7))
    first, second = grader.grade(submit(acting("while True: pass"))).outcomes
    assert "longer than the limit" in first.feedback
    assert "longer than the limit" in second.feedback


@pytest.mark.parametrize("kind", ["link", "folder", "missing", "large"])
def test_only_a_plain_file_is_read(submit, tmp_path, kind):
    path = tmp_path / "student.py"
    if kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        submit("#" * (1 << 20) + "#")
    (outcome,) = Grader(small_assignment()).grade(path).outcomes
    assert outcome.points == 0
    assert "root" not in outcome.feedback
    assert outcome.feedback.startswith("Error: the file ")
