"""`cmab-gym report`: write a page about saved results."""

from __future__ import annotations

import argparse

from cmab_gym.cli.errors import OK
from cmab_gym.cli.tables import say
from cmab_gym.evaluation.comparison.compare import results_in
from cmab_gym.report import write_report


def run(chosen: argparse.Namespace) -> int:
    """Write the report of all results in the folders."""
    every = [results for folder in chosen.folders for results in results_in(folder)]
    say(f"written to {write_report(every, chosen.out)}")
    return OK
