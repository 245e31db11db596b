"""The paper's authors' code on a real table of MovieLens: one trial, round by round.

authors_code.py FOLDER PROBLEM, where FOLDER is a copy of their repository and PROBLEM is JSON with
task ("genre" or "movie"), counts (K, R) of the held-out ratings 1 to R, pseudo_rewards (K, K, R)
and means (K,).
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from clock import report

ROUNDS = 200
NUMBERS = ("UserID", "MovieID", "Timestamp", "Age", "Occupation", "Meta_User_Col")
TEXTS = ("Gender", "Zip-code", "Title", "Genres", "Genre_Assigned")


def bandit(problem: dict[str, Any]) -> Any:
    """Make an object of their class, without the files that its constructor reads."""
    from c_algos import algs

    counts = np.array(problem["counts"], dtype=np.int64)
    arm, star = np.nonzero(counts)
    ratings = pd.DataFrame({f"{problem['task']}_col": arm, "Rating": star + 1})
    ratings = ratings.loc[ratings.index.repeat(counts[arm, star])].sample(frac=1, random_state=0)
    # Every pull copies the arm's rows, with all columns that their preparation leaves.
    text = [f"text {row}" for row in range(len(ratings))]
    made = algs.__new__(algs)
    made.exp_name = problem["task"]
    made.test_data = ratings.assign(
        **{name: range(len(ratings)) for name in NUMBERS}, **dict.fromkeys(TEXTS, text)
    )
    made.tables = dict(enumerate(np.transpose(problem["pseudo_rewards"], (1, 2, 0))))
    made.true_means_test = np.array(problem["means"])
    made.numArms, made.optArm = len(counts), int(made.true_means_test.argmax())
    return made


def play(made: Any, method: str, rounds: int) -> int:
    """Run one trial."""
    getattr(made, method)(1, rounds)
    return rounds


folder, problem_file = (Path(argument).resolve() for argument in sys.argv[1:])
os.chdir(folder)  # their module reads a file from there
sys.path.insert(0, str(folder))
made = bandit(json.loads(problem_file.read_text(encoding="utf-8")))
names = {"ucb": "UCB", "ts": "TS", "c-ucb": "C_UCB", "c-ts": "C_TS"}
report({name: partial(play, made, method) for name, method in names.items()}, ROUNDS)
