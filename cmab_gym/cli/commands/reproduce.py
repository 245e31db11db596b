"""`cmab-gym reproduce`: run the paper's experiments and compare."""

from __future__ import annotations

import argparse
import math

from cmab_gym.cli.errors import OK, UNEXPECTED
from cmab_gym.cli.options import add_jobs, add_quiet, add_seed, add_whole
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.printing import print_table, say
from cmab_gym.cli.progress_bar import progress_bar
from cmab_gym.envs_data.downloads.cache import locate
from cmab_gym.paper import find_panels, on_ratings, reproduce
from cmab_gym.paper.panels import ROUNDS, TRIALS

_QUICK_ROUNDS, _QUICK_TRIALS = 500, 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "panels",
        nargs="*",
        metavar="PANEL",
        help="figures or panels, such as 10 or 10a (default: all 23 panels)",
    )
    add_whole(parser, "--rounds", "pulls per trial (default 5000)")
    add_whole(parser, "--trials", "independent trials (default 100)")
    parser.add_argument("--quick", action="store_true", help="500 rounds and 10 trials")
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="goodreads_interactions_poetry.json.gz, for figures 12 and 15 in place of the "
        "bundled Goodreads table",
    )
    add_seed(parser)
    add_jobs(parser, -1)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default="reproduction",
        help="folder for the results (default reproduction)",
    )
    add_quiet(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the panels, write figures and report, and print the verdicts.

    Returns:
        1 if a verdict is unexpected, else 0.
    """
    panels = find_panels(*chosen.panels)
    if chosen.data is not None:
        panels = on_ratings(panels, locate(chosen.data).resolve())
    rounds, trials = (_QUICK_ROUNDS, _QUICK_TRIALS) if chosen.quick else (ROUNDS, TRIALS)
    rounds = rounds if chosen.rounds is None else chosen.rounds
    trials = trials if chosen.trials is None else chosen.trials
    out = output_folder(chosen.out)
    with progress_bar("running", len(panels), "panels") as advance:
        table = reproduce(panels, out, rounds, trials, chosen.seed, chosen.jobs, advance)
    counts = table["verdict"].value_counts()
    print_table(("verdict", "rows"), [(str(name), str(count)) for name, count in counts.items()])
    say(f"written to {out}: start with {out / 'report.md'}")
    unexpected = table[table["unexpected"]]
    if unexpected.empty:
        return OK
    say(f"unexpected verdicts: {len(unexpected)}", stderr=True)
    for row in unexpected.to_dict("records"):
        value = row["published"]  # NaN for a statement
        published = "" if math.isnan(value) else f", published {value:g}"
        known = f"; a difference was expected: {row['known']}" if row["known"] else ""
        ours = f"ours {row['ours']:.4g}{published}"
        say(f"  {row['panel']} {row['what']}: {row['verdict']} ({ours}){known}", stderr=True)
    return UNEXPECTED
