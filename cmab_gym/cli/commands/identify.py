"""`cmab-gym identify`: how many pulls agents need to know the best arm."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from cmab_gym.agents.identification import make_identification_agent
from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import (
    add_agents,
    add_environment,
    add_json,
    add_quiet,
    add_seed,
    add_whole,
    name_options,
)
from cmab_gym.cli.printing import print_table, say
from cmab_gym.cli.progress_bar import progress_bar
from cmab_gym.cli.values import probability
from cmab_gym.evaluation.evaluate import labelled
from cmab_gym.evaluation.identify import Identification, identify
from cmab_gym.evaluation.playing.progress import OnProgress
from cmab_gym.evaluation.tables import identification_table


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_environment(parser)
    add_agents(
        parser,
        "names: lucb, c-lucb, lil-ucb, top-two-ts, track-and-stop; or classes of your own: "
        "my_file.py:MyAgent",
    )
    parser.add_argument(
        "--delta",
        type=probability("--delta"),
        default=0.05,
        metavar="P",
        help="accepted probability of a wrong arm (default 0.05)",
    )
    add_whole(parser, "--trials", "independent trials", 100)
    add_whole(parser, "--max-rounds", "pulls after which a trial is undecided", 100_000)
    add_seed(parser)
    add_quiet(parser)
    add_json(parser)
    name_options(parser, {"max_rounds": "--max-rounds"})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Let every agent identify the best arm, and print a table."""
    for agent in labelled(chosen.agents):  # so that a wrong name is found first
        make_identification_agent(agent, chosen.delta)
    total = len(chosen.agents) * chosen.trials
    found: list[Identification] = []
    try:
        with progress_bar("running", total, "trials") as advance:
            for agent in chosen.agents:
                found.append(_identify(chosen, agent, advance))
    finally:
        # Print even if a later agent fails or Ctrl-C ends it.
        if found:
            print_table(*identification_table(found), text=["agent"])
            print_document("identify", _document(chosen, found))
            say(f"wrong: accepted are {100 * chosen.delta:g} % of the trials (delta)")
    return OK


def _identify(chosen: argparse.Namespace, agent: str, advance: OnProgress) -> Identification:
    return identify(
        chosen.env,
        agent,
        chosen.delta,
        chosen.trials,
        chosen.seed,
        chosen.env_kwargs,
        max_rounds=chosen.max_rounds,
        progress=advance,
    )


def _document(chosen: argparse.Namespace, found: Iterable[Identification]) -> dict[str, Any]:
    names = {"env_id": "env", "env_kwargs": "env_kwargs", "delta": "delta", "trials": "trials"}
    names |= {"max_rounds": "max_rounds", "seed": "seed"}
    agents = []
    for each in found:
        (low, high), (least, most) = each.samples_interval, each.error_interval
        agents.append(
            {
                "agent": each.agent,
                "pulls": each.mean_samples,
                "low": low,
                "high": high,
                "error_rate": each.error_rate,
                "error_low": least,
                "error_high": most,
                "undecided": each.undecided,
            }
        )
    return {**{key: getattr(chosen, name) for key, name in names.items()}, "agents": agents}
