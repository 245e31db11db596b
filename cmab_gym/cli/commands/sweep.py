"""`cmab-gym sweep`: run environments x agents x parameters x seeds."""

from __future__ import annotations

import argparse
from functools import partial

from cmab_gym.cli.documents import print_document
from cmab_gym.cli.dry_run import dry_run_sweep
from cmab_gym.cli.errors import AGENT_FAILED, OK, print_failures
from cmab_gym.cli.options import add_dry_run, add_json, add_quiet, add_workers
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.printing import say
from cmab_gym.cli.progress_bar import progress_bar
from cmab_gym.evaluation import AgentRun
from cmab_gym.evaluation.sweeps.sweep import SUMMARY, sweep
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a YAML file with the keys environments, agents, seeds, rounds, trials, checkpoints "
        "(see docs/sweeps.md)",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default="sweep",
        help="folder for the results; tasks that are finished there are not run again "
        "(default sweep)",
    )
    add_workers(parser)
    parser.add_argument("--summary", action="store_true", help="only summarise the finished tasks")
    add_dry_run(parser)
    add_quiet(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the tasks that are not finished, and print how many tasks have which status."""
    plan = Sweep.from_file(chosen.file)
    total = sum(task.rounds * task.trials for task in plan.tasks())
    if chosen.dry_run:
        return dry_run_sweep(chosen, plan)
    out = output_folder(chosen.out)
    failed: list[AgentRun] = []
    with progress_bar("running", total, "rounds") as advance:
        table = sweep(
            plan,
            out,
            chosen.jobs,
            chosen.scheduler,
            summary_only=chosen.summary,
            progress=advance,
            say=partial(say, stderr=True),
            on_failure=failed.append,
            timeout=chosen.timeout,
            wait_for_workers=chosen.wait_for_workers,
        )
    print_failures(failed, chosen.option_of, chosen.debug)
    tasks = table.astype(object).to_dict("records")
    print_document("sweep", {"out": chosen.out, "summary": out / SUMMARY, "tasks": tasks})
    counts = table["status"].value_counts()
    say(f"{', '.join(f'{count} {status}' for status, count in counts.items())}: {out / SUMMARY}")
    return AGENT_FAILED if failed else OK
