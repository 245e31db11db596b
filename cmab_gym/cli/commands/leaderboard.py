"""`cmab-gym leaderboard`: rank agents by their regret on the standard suite."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import AGENT_FAILED, OK, print_error
from cmab_gym.cli.options import add_jobs, add_json, add_quiet, add_whole, name_options
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.printing import print_table, say
from cmab_gym.cli.progress_bar import progress_bar
from cmab_gym.cli.values import AddAgents
from cmab_gym.files import write_csv
from cmab_gym.leaderboard import (
    BUNDLED,
    QUICK,
    SUITE,
    Records,
    Suite,
    built_in_agents,
    leaderboard,
    play,
    plot_profile,
    plot_ranks,
)
from cmab_gym.leaderboard.board import neighbours
from cmab_gym.leaderboard.suite import QUICK_AGENTS
from cmab_gym.leaderboard.tables import other_cells, ranked_cells
from cmab_gym.text import shown

if TYPE_CHECKING:
    import pandas as pd

CSV, RECORDS, PROFILE, RANKS = "leaderboard.csv", "records.npz", "profile.png", "ranks.png"
_RUNS = "runs"  # folder in that of `--out`
_LEGEND = (
    "Regret is divided by that expected of random pulls: 0 is the best arm in every round, 1 is "
    "random pulls. IQM: interquartile mean over all trials of all tasks; places: 95 % interval of "
    "the place; the columns from tables to control: the mean on the tasks of each family; µs: "
    "microseconds per round."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "agents",
        nargs="*",
        action=AddAgents,
        metavar="AGENT",
        help="agents to rank among the built-in ones, as for `run --agents`; only those that the "
        "checked-in table does not have are played (default: print that table)",
    )
    parser.add_argument(
        "--by",
        choices=("iqm", "mean"),
        default="iqm",
        help="what decides the place: iqm, the interquartile mean of normalised regret, or its "
        "mean (default iqm)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="4 tasks, 5 trials of 100 rounds, and few built-in agents: to try the command",
    )
    parser.add_argument(
        "--replay",
        action="store_true",
        help="play the built-in agents too, in place of the checked-in table (ten minutes)",
    )
    add_jobs(parser, 1)
    add_whole(parser, "--resamples", "resamples of the bootstrap", 1000, at_least=100)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default="leaderboard",
        help="folder for the table, the pictures and the runs; runs that are finished there are "
        "not repeated (default leaderboard)",
    )
    add_quiet(parser)
    add_json(parser)
    name_options(parser, {"n_resamples": "--resamples"})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Play the given agents on the suite, rank them among the built-in ones, and write files.

    Returns:
        1 if a given agent failed on a task, else 0.
    """
    suite = QUICK if chosen.quick else SUITE
    out = output_folder(chosen.out)
    if chosen.quick:
        known, built_in = None, list(QUICK_AGENTS)
    elif chosen.replay:
        known, built_in = None, built_in_agents()
    else:
        known, built_in = Records.load(BUNDLED, suite), []
    names = dict.fromkeys([*built_in, *chosen.agents])
    new = [name for name in names if known is None or name not in known.agents]
    records = _with(known, new, suite, out / _RUNS, chosen.jobs)
    table = leaderboard(records, by=chosen.by, n_resamples=chosen.resamples)
    out.mkdir(parents=True, exist_ok=True)
    records.save(out / RECORDS)
    write_csv(out / CSV, table)
    plot_profile(records, out / PROFILE, chosen.agents, chosen.by)
    plot_ranks(records, out / RANKS, chosen.agents, chosen.by)
    _print_board(table, chosen.by)
    given = [name for name in new if name in chosen.agents]
    code = _print_given(records, table, given, chosen.resamples)
    if chosen.quick:
        say("--quick plays few tasks and trials: these places mean nothing")
    say(f"written to {out}")
    about = {"tasks": len(suite.tasks), "rounds": suite.rounds, "trials": suite.trials}
    document = {"out": str(out), **about, "agents": table.to_dict("records")}
    print_document("leaderboard", document)
    return code


def _with(known: Records | None, new: list[str], suite: Suite, out: Path, n_jobs: int) -> Records:
    """Play new agents and add them to known records."""
    if not new and known is not None:
        return known
    total = len(new) * len(suite.tasks) * suite.rounds * suite.trials
    with progress_bar("running", total, "rounds") as advance:
        note = partial(say, stderr=True)
        played = play(new, suite, out, n_jobs, progress=advance, say=note)
    return played if known is None else known + played


def _print_board(table: pd.DataFrame, by: str) -> None:
    """Print the ranked agents, and the others below."""
    ranked, others = table[table["place"].notna()], table[table["place"].isna()]
    print_table(*ranked_cells(ranked, by), text=["agent"])
    say(f"\n{_LEGEND}\n")
    if len(others):
        print_table(*other_cells(others, by), text=["agent", "not ranked"])
        say("\nWould be: the place of this regret among the ranked agents on the same tasks.\n")


def _print_given(records: Records, table: pd.DataFrame, new: list[str], resamples: int) -> int:
    """Say how the rows of the given agents were made, and which agents are next to them."""
    code = OK
    made = dict(zip(table["name"], table["made"], strict=True))
    for row in (row for row in records.rows if row.agent in new):
        if row.agent in made:
            say(shown(f"how its row was made: {made[row.agent]}"))
        for sentence in neighbours(records, table, row.agent, n_resamples=resamples):
            say(shown(sentence))
        if row.failure:
            code = AGENT_FAILED
            print_error(f"{row.agent} does not play all tasks: {row.failure}")
    return code
