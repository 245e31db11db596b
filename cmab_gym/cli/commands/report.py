"""`cmab-gym report`: write a page about saved results."""

from __future__ import annotations

import argparse

from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_quiet, name_options
from cmab_gym.cli.printing import say
from cmab_gym.evaluation.comparison.compare import results_in
from cmab_gym.report import write_report


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="folders that `run` or `sweep` wrote; the page has a section for each environment",
    )
    parser.add_argument(
        "--out",
        default="report.html",
        metavar="FILE",
        help="page to write, which needs no network (default report.html)",
    )
    add_quiet(parser)
    name_options(parser, {"path": "--out"})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the report of all results in the folders."""
    every = [results for folder in chosen.folders for results in results_in(folder)]
    say(f"written to {write_report(every, chosen.out)}")
    return OK
