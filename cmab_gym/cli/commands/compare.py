"""`cmab-gym compare`: say which agents differ, from saved results."""

from __future__ import annotations

import argparse
from typing import Any

from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_json, add_seed, add_whole, name_options
from cmab_gym.cli.printing import print_table, say
from cmab_gym.evaluation import Comparison, Results, compare
from cmab_gym.evaluation.comparison.compare import by_environment, results_in, what_differs
from cmab_gym.evaluation.tables import PAIRS_LEGEND, distribution_table, pairs_table
from cmab_gym.text import shown


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="folders that `run` or `sweep` wrote; agents are compared within each environment",
    )
    add_seed(parser)
    about = "resamples of the bootstrap, and random flips of signs"
    add_whole(parser, "--resamples", about, 9999, at_least=100)
    add_json(parser)
    name_options(parser, {"n_resamples": "--resamples"})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Compare the agents on each environment, and print tables and a sentence for each pair."""
    every = [results for folder in chosen.folders for results in results_in(folder)]
    groups = by_environment(every)
    compared = [group for group in groups if len(_labels(group)) > 1]
    left_out = [group for group in groups if len(_labels(group)) < 2]
    if not compared:
        what = f"differ in their {what_differs(groups[0][0], groups[1][0])}" if groups[1:] else ""
        raise ValueError(
            f"{', '.join(chosen.folders)}: the results {what or 'are of one agent'}; expected two "
            "agents with the same rewards: run them with the same options"
        )
    for group in left_out:
        agents, other = ", ".join(_labels(group)) or "no agent", compared[0]
        say(
            f"{shown(group[0].title)}: only {shown(agents)}, nothing to compare (the "
            f"{what_differs(group[0], other[0])} of {shown(other[0].title)} differs)\n"
        )
    comparisons = []
    for position, group in enumerate(compared):
        if position:
            say("")
        comparisons.append(compare(group, seed=chosen.seed, n_resamples=chosen.resamples))
        _print(comparisons[-1])
    print_document("compare", {"comparisons": [_document(each) for each in comparisons]})
    return OK


def _document(comparison: Comparison) -> dict[str, Any]:
    return {
        "title": comparison.title,
        "trials": comparison.regret.shape[1],
        "notes": comparison.notes,
        "agents": comparison.agents().to_dict("records"),
        "pairs": [
            {**vars(pair), "better": pair.better, "sentence": pair.sentence}
            for pair in comparison.pairs
        ],
    }


def _labels(group: list[Results]) -> list[str]:
    return list(dict.fromkeys(run.label for results in group for run in results.finished))


def _print(comparison: Comparison) -> None:
    trials = comparison.regret.shape[1]
    say(f"{comparison.title}: final regret, {trials} {'trial' if trials == 1 else 'trials'}")
    for note in comparison.notes:
        say(shown(note))
    say("")
    regret = zip(comparison.labels, comparison.regret, strict=True)
    print_table(*distribution_table(regret), text=["agent"])
    say("")
    print_table(*pairs_table(comparison.pairs), text=["pair"])
    say(f"\n{PAIRS_LEGEND}\n")
    for pair in comparison.pairs:
        say(shown(pair.sentence))
