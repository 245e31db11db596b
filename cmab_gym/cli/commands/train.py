"""`cmab-gym train`: train an agent in advance."""

from __future__ import annotations

import argparse

from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_quiet, add_seed, add_whole, name_options
from cmab_gym.cli.printing import say
from cmab_gym.cli.progress_bar import progress_bar
from cmab_gym.training import train
from cmab_gym.training.train import n_pulls


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("algorithm", metavar="ALGORITHM", help="a2c or ppo")
    parser.add_argument(
        "--on", required=True, metavar="PROBLEMS", help="problems to train on: genre or bernoulli"
    )
    add_whole(parser, "--arms", "arms, for bernoulli (default 10)", at_least=2)
    add_whole(
        parser, "--steps", "pulls in all episodes together, rounded up to whole rollouts", 2_000_000
    )
    add_whole(parser, "--horizon", "rounds per episode", 1000)
    add_seed(parser)
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="file to write, such as model.zip"
    )
    add_quiet(parser)
    name_options(parser, {"n_arms": "--arms", "on": "--on", "path": "--out"})
    parser.set_defaults(run=run)


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
