"""Reports: feedback for the student, JSON, Gradescope's results.json, and a table of the class."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmab_gym.grading.grade import Grade, Outcome
from cmab_gym.text import shown
from cmab_gym.versions import version_of

if TYPE_CHECKING:
    import pandas as pd


def feedback(grade: Grade, for_student: bool = True) -> str:
    """Return a text with the points and the reasons.

    Args:
        grade: of the submission.
        for_student: leave out the details of hidden tests.
    """
    name = shown(Path(grade.submission).name)
    lines = [f"{name}: {points(grade.score)} of {points(grade.max_score)} points"]
    for outcome in grade.outcomes:
        hides = for_student and outcome.hidden
        given, most = points(outcome.points), points(outcome.max_points)
        lines += ["", f"{outcome.name}: {given} of {most} points"]
        lines.append(_without_details(outcome) if hides else outcome.feedback)
    if not math.isnan(grade.time):
        lines += ["", f"A round takes {grade.time:.1f} times as long as one of the reference."]
    return "\n".join(lines)


def points(number: float) -> str:
    """Write points with at most two decimals: 3.33, 10."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def as_json(grade: Grade) -> dict[str, Any]:
    """Return everything about a grade, with all details of hidden tests."""
    return {
        "submission": grade.submission,
        "assignment": grade.assignment,
        "seed": grade.seed,
        "score": grade.score,
        "max_score": grade.max_score,
        "regret": _or_none(grade.regret),
        "time": _or_none(grade.time),
        "tests": [
            {
                "name": outcome.name,
                "hidden": outcome.hidden,
                "score": outcome.points,
                "max_score": outcome.max_points,
                "feedback": outcome.feedback,
                "regret": _or_none(outcome.regret),
                "seconds_per_round": _or_none(outcome.seconds),
                "reference_seconds_per_round": _or_none(outcome.reference_seconds),
            }
            for outcome in grade.outcomes
        ],
        "version": version_of("cmab-gym"),
    }


def as_gradescope(grade: Grade) -> dict[str, Any]:
    """Return the content of Gradescope's results.json.

    Hidden tests are visible once grades are published; the leaderboard is of regret and time.
    """
    results: dict[str, Any] = {
        "score": grade.score,
        "output": f"Assignment {grade.assignment}",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": outcome.name,
                "score": outcome.points,
                "max_score": outcome.max_points,
                "status": "passed" if outcome.points == outcome.max_points else "failed",
                "output": outcome.feedback,
                "output_format": "text",
                "visibility": "after_published" if outcome.hidden else "visible",
            }
            for outcome in grade.outcomes
        ],
    }
    if not math.isnan(grade.regret):
        results["leaderboard"] = [
            {"name": "regret", "value": round(grade.regret, 2), "order": "asc"},
            {"name": "time", "value": round(grade.time, 2), "order": "asc"},
        ]
    return results


def class_table(grades: Sequence[Grade]) -> pd.DataFrame:
    """Return a row for each submission, the best first: by points, then by regret.

    Those with the same points and the same regret, or none, share a rank.
    """
    import pandas as pd

    rows = [
        {
            "submission": shown(grade.submission),
            "score": grade.score,
            "max_score": grade.max_score,
            "regret": round(grade.regret, 4),
            "time": round(grade.time, 2),
            **{outcome.name: round(outcome.points, 6) for outcome in grade.outcomes},
            "feedback": next(
                (each.feedback for each in grade.outcomes if each.points < each.max_points), ""
            ),
        }
        for grade in grades
    ]
    by = ["score", "regret", "submission"]
    table = pd.DataFrame(rows).sort_values(by, ascending=[False, True, True], kind="stable")
    places = pd.Series(range(1, len(table) + 1), table.index)
    shared = table.duplicated(["score", "regret"])  # with the row above
    table.insert(0, "rank", places.mask(shared).ffill().astype(int))
    return table


def json_text(content: dict[str, Any]) -> str:
    """Return JSON, indented."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _without_details(outcome: Outcome) -> str:
    return "Correct." if outcome.points == outcome.max_points else "Not correct (hidden test)."


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number
