"""`cmab-gym identify`: how many pulls agents need to know the best arm."""

from __future__ import annotations

import argparse

from cmab_gym.cli.errors import OK
from cmab_gym.cli.tables import print_table, progress_bar, say
from cmab_gym.evaluation.identify import Identification, identify


def run(chosen: argparse.Namespace) -> int:
    """Let every agent identify the best arm, and print a table."""
    total = len(chosen.agents) * chosen.trials
    with progress_bar("running", total, "trials") as advance:
        found = [
            identify(
                chosen.env,
                agent,
                chosen.delta,
                chosen.trials,
                chosen.seed,
                chosen.env_kwargs,
                max_rounds=chosen.max_rounds,
                progress=advance,
            )
            for agent in chosen.agents
        ]
    header = ("agent", "pulls", "95 % interval", "wrong", "95 % interval", "undecided")
    print_table(header, [row(each) for each in found], text=["agent"])
    say(f"wrong: accepted are {100 * chosen.delta:g} % of the trials (delta)")
    return OK


def row(found: Identification) -> tuple[str, ...]:
    """Return the cells of one agent."""
    low, high = found.samples_interval
    least, most = (100 * rate for rate in found.error_interval)
    pulls, interval = f"{found.mean_samples:,.0f}", f"{low:,.0f} to {high:,.0f}"
    if found.undecided:
        pulls, interval = f"over {pulls}", "-"
    return (
        *(found.agent, pulls, "-" if found.wrong.size == 1 else interval),
        *(f"{100 * found.error_rate:.1f} %", f"{least:.1f} to {most:.1f} %"),
        f"{found.undecided:,}",
    )
