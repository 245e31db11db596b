"""Files of every kind that the package reads, how each is read, and how they are damaged."""

import gzip
import json
import zipfile

import numpy as np
import pandas as pd

from cmab_gym import evaluate
from cmab_gym.agents.rl.model_file import read_description
from cmab_gym.envs_data import ReadOptions, Survey, bundled_survey, read_ratings
from cmab_gym.envs_data.bundle import SurveySpec
from cmab_gym.evaluation import Results
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep
from cmab_gym.state import read_state, write_state

ROWS = [(user, item, 1 + (user * item) % 5) for user in range(1, 40) for item in range(1, 9)]
CSV = "user_id,book_id,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in ROWS)
MOVIES = "movieId,title,genres\n" + "".join(f'{i},"Film, {i} (1999)",Drama|War\n' for i in range(9))
RATINGS = "userId,movieId,rating,timestamp\n" + "".join(f"{u},{i},{r},5\n" for u, i, r in ROWS)
FRAME = pd.DataFrame(ROWS, columns=["user_id", "book_id", "rating"])
SWEEP = """
environments:
  - id: CMAB-Tabular-v0
    preset: [table1-a, table1-b]
agents: [ucb, {name: ts, beta: [1, 2.5]}]
seeds: [0, 1]
trials: &n 5
rounds: *n
"""


STATE = {"rounds": 3, "parts": {"pulls": np.ones((2, 3)), "last": (1, [None, {4: "x"}])}}


def archive_as(compression):
    def write(path):
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("ml/ratings.csv", RATINGS)
            archive.writestr("ml/movies.csv", MOVIES)

    return write


def model_file(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cmab_gym.json", json.dumps({"format": 1, "width": 32, "horizon": 100}))
        archive.writestr("policy.pth", b"weights" * 50)


def results_folder(path):
    folder = evaluate("CMAB-Tabular-v0", ["random"], 20, 2, seed=0).save(path.parent / "made")
    (folder / "results.parquet").replace(path)


def read_table(path):
    for on_error in ("raise", "skip"):
        read_ratings(path, ReadOptions("user_id", "book_id", "rating", on_error=on_error))


# How a file of each kind is written, and how it is read.
KINDS = {
    "ratings.csv": (lambda path: path.write_text(CSV), read_ratings),
    "quoted.csv": (lambda path: FRAME.to_csv(path, index=False, quoting=1), read_table),
    "ratings.csv.gz": (lambda path: path.write_bytes(gzip.compress(CSV.encode())), read_table),
    "lines.json": (lambda path: FRAME.to_json(path, orient="records", lines=True), read_table),
    "ratings.parquet": (lambda path: FRAME.to_parquet(path), read_table),
    "stored.zip": (archive_as(zipfile.ZIP_STORED), read_ratings),
    "deflated.zip": (archive_as(zipfile.ZIP_DEFLATED), read_ratings),
    "bzip2.zip": (archive_as(zipfile.ZIP_BZIP2), read_ratings),
    "lzma.zip": (archive_as(zipfile.ZIP_LZMA), read_ratings),
    "survey.npz": (bundled_survey(SurveySpec("goodreads", "book", 0.5)).save, Survey.load),
    "state.npz": (lambda path: write_state(path, STATE), read_state),
    "results.parquet": (results_folder, lambda path: Results.load(path.parent)),
    "model.zip": (model_file, read_description),
    "sweep.yaml": (lambda path: path.write_text(SWEEP), lambda path: Sweep.from_file(path).tasks()),
}


WORDS = (b'"', b"\n", b"\r", b",", b"\x00", b"\xff\xfe", b"{[&*", b"9" * 5000, b"-" * 300)


def mutated(content, rng):
    """Change a few bytes, cut, repeat or clear a part, or insert characters with a meaning."""
    start, stop = sorted(rng.integers(0, len(content) + 1, 2))
    match rng.integers(6):
        case 0:
            changed = bytearray(content)
            for position in rng.integers(0, len(content), rng.integers(1, 9)):
                changed[position] ^= 1 << rng.integers(8)
            return bytes(changed)
        case 1:
            return content[:start]
        case 2:
            return content[:start] + content[stop:]
        case 3:
            return content[:start] + bytes(stop - start) + content[stop:]
        case 4:
            return content[:stop] + content[start:]
        case _:
            return content[:start] + WORDS[rng.integers(len(WORDS))] + content[start:]
