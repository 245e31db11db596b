"""Grade students' agents: exactly where they are deterministic, by bands of regret elsewhere."""

from cmab_gym.grading.assignment import Assignment, Instance, Mistake
from cmab_gym.grading.built_in import ASSIGNMENTS, find_assignment
from cmab_gym.grading.grade import Grade, Grader, Outcome
from cmab_gym.grading.submission import Limits

__all__ = [
    "ASSIGNMENTS",
    "Assignment",
    "Grade",
    "Grader",
    "Instance",
    "Limits",
    "Mistake",
    "Outcome",
    "find_assignment",
]
