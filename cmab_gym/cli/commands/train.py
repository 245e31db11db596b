"""`cmab-gym train`: train an agent in advance."""

from __future__ import annotations

import argparse

from cmab_gym.cli.errors import OK
from cmab_gym.cli.tables import progress_bar, say
from cmab_gym.training import train
from cmab_gym.training.train import n_pulls


def run(chosen: argparse.Namespace) -> int:
    """Train an agent and write it to a file."""
    total = n_pulls(chosen.algorithm, chosen.steps)
    with progress_bar("training", total, "rounds") as advance:
        trained = train(
            chosen.algorithm,
            chosen.on,
            chosen.out,
            chosen.steps,
            n_arms=chosen.arms,
            horizon=chosen.horizon,
            seed=chosen.seed,
            progress=advance,
        )
    say(f"{trained['steps']:,} rounds in {trained['seconds']:.0f} seconds")
    say(f"written to {chosen.out}: evaluate it with `cmab-gym run ENV --agents {chosen.out}`")
    return OK
