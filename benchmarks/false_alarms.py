"""Simulate correct submissions, and count how many a band of regret fails.

python benchmarks/false_alarms.py [SUBMISSIONS]    (several minutes on one core)

A correct submission plays as the reference does, so its trials are trials of the reference. Each
simulated one gets trials of its own, drawn from a pool without replacement, and so does the
reference with which it is compared. The figures are in docs/grading.md.
"""

from __future__ import annotations

import sys

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation import evaluate
from cmab_gym.grading import ASSIGNMENTS, Assignment
from cmab_gym.grading.band import REFERENCE_TRIALS, band, checkpoints, share_of

POOL = 20_000  # trials
PLAUSIBLE = 1.8  # standard deviations; means that are nearer are never outside the band


def regrets(assignment: Assignment, seed: int) -> list[FloatArray]:
    """Return the regret of the reference on each instance, (POOL, checkpoints)."""
    found = []
    for number, instance in enumerate(assignment.instances):
        results = evaluate(
            instance.env_id,
            [assignment.reference],
            rounds=assignment.rounds,
            trials=POOL,
            seed=seed + number,
            env_kwargs=instance.kwargs(seed),
            checkpoints=checkpoints(assignment.rounds),
            record_pulls=False,
        )
        found.append(results.runs[0].regret)
    return found


def fails(assignment: Assignment, pools: list[FloatArray], rng: np.random.Generator) -> bool:
    """Simulate a correct submission and return whether it fails a test."""
    own = assignment.trials
    for pool in pools:
        chosen = pool[rng.choice(POOL, own + REFERENCE_TRIALS, replace=False, shuffle=False)]
        chosen = rng.permutation(chosen)
        deviation = chosen.std(axis=0) * np.sqrt(1 / own - 1 / len(chosen))
        distance = np.abs(chosen[:own].mean(axis=0) - chosen.mean(axis=0))
        for column in np.flatnonzero(distance > PLAUSIBLE * deviation):
            regret = chosen[:, column]
            both = assignment.kind == "band"
            if not band(regret[:own], regret[own:], share_of(assignment), both).inside:
                return True
    return False


def main() -> None:
    """Print the share of correct submissions that fail, for each assignment with a band."""
    submissions = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for assignment in ASSIGNMENTS.values():
        if assignment.kind == "exact":
            continue
        pools, rng = regrets(assignment, 0), np.random.default_rng(0)
        count = sum(fails(assignment, pools, rng) for _ in range(submissions))
        print(f"{assignment.name}: {count} of {submissions:,} correct submissions fail")


if __name__ == "__main__":
    main()
