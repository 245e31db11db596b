"""`cmab-gym sweep`: run environments x agents x parameters x seeds."""

from __future__ import annotations

import argparse
from functools import partial

from cmab_gym.cli.documents import print_document
from cmab_gym.cli.dry_run import dry_run_sweep
from cmab_gym.cli.errors import AGENT_FAILED, OK, print_failures
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.tables import progress_bar, say
from cmab_gym.evaluation import AgentRun
from cmab_gym.evaluation.sweeps.sweep import SUMMARY, sweep
from cmab_gym.evaluation.sweeps.sweep_tasks import Sweep


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
