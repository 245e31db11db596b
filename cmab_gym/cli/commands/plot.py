"""`cmab-gym plot`: draw pictures of saved results."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_quiet, add_whole, name_options
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.printing import say
from cmab_gym.cli.values import AddAgents, AddLabels
from cmab_gym.evaluation import (
    Results,
    plot_competitive,
    plot_distribution,
    plot_pulls,
    plot_regret,
)
from cmab_gym.evaluation.plots.curves import BANDS, LOGS
from cmab_gym.evaluation.results.results_file import KINDS


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "folders", nargs="+", metavar="FOLDER", help="folders with the results of `run`"
    )
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        metavar="KIND",
        help=f"pictures to draw: {', '.join(KINDS)} (default: all that the results have)",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="join the results of all folders, agents or trials of one task, and write them with "
        "their pictures to this folder (default: the pictures of each folder are written there)",
    )
    parser.add_argument(
        "--format", choices=("png", "svg", "pdf"), default="png", help="of the files (default png)"
    )
    parser.add_argument("--title", help="above the pictures (default: environment and arguments)")
    parser.add_argument(
        "--labels",
        nargs="+",
        action=AddLabels,
        metavar="AGENT=NAME",
        help="names to draw in place of the agents' labels",
    )
    parser.add_argument(
        "--highlight",
        nargs="+",
        action=AddAgents,
        metavar="AGENT",
        help="agents to draw in colour, and the others in grey (default: of more than eight "
        "agents, the five with the least regret)",
    )
    parser.add_argument(
        "--band",
        choices=BANDS,
        help="around the curves: sd, one standard deviation; interval, of 95 %% for the mean; "
        "quantiles, 5 %% to 95 %% around the median; none (default sd for regret, none for "
        "competitive)",
    )
    parser.add_argument(
        "--log",
        choices=LOGS,
        help="logarithmic axes (default: x after `run --checkpoints log`)",
    )
    add_whole(parser, "--arms", "arms in the picture of the pulls", 50)
    add_quiet(parser)
    name_options(parser, {"labels": "--labels", "highlight": "--highlight", "path": "--format"})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Draw pictures of the results in each folder, or of all of them joined in `--out`."""
    every = {Path(name): Results.load(name) for name in chosen.folders}
    if chosen.out is not None:
        joined = Results.concat(every.values())
        # Saved too, so that no picture is next to a table that it does not show.
        every = {joined.save(output_folder(chosen.out)): joined}
    for folder, results in every.items():
        for kind in chosen.kinds or _kinds(results):
            path = folder / f"{kind}.{chosen.format}"
            _PLOTS[kind](results, path, chosen)
            say(f"written to {path}")
    return OK


def _kinds(results: Results) -> list[str]:
    """Return the pictures that the results have numbers for."""
    runs = results.finished
    pulls = any(run.pulls is not None for run in runs)
    competitive = any(run.competitive.size for run in runs)
    return ["regret", "distribution", *["pulls"] * pulls, *["competitive"] * competitive]


def _regret(results: Results, path: Path, chosen: argparse.Namespace) -> None:
    plot_regret(results, path, chosen.title, **_curves(chosen, "sd"))


def _competitive(results: Results, path: Path, chosen: argparse.Namespace) -> None:
    plot_competitive(results, path, chosen.title, **_curves(chosen, "none"))


def _distribution(results: Results, path: Path, chosen: argparse.Namespace) -> None:
    shared = {"labels": chosen.labels, "highlight": chosen.highlight}
    plot_distribution(results, path, chosen.title, log="y" in (chosen.log or ""), **shared)


def _pulls(results: Results, path: Path, chosen: argparse.Namespace) -> None:
    plot_pulls(results, path, chosen.title, labels=chosen.labels, most_arms=chosen.arms)


def _curves(chosen: argparse.Namespace, band: str) -> dict[str, Any]:
    return {
        "labels": chosen.labels,
        "highlight": chosen.highlight,
        "band": chosen.band or band,
        "log": chosen.log,
    }


_PLOTS: dict[str, Callable[[Results, Path, argparse.Namespace], None]] = {
    "regret": _regret,
    "distribution": _distribution,
    "pulls": _pulls,
    "competitive": _competitive,
}
