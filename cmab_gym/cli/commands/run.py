"""`cmab-gym run`: compare agents on an environment."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cmab_gym.agents.make import published
from cmab_gym.cli.errors import AGENT_FAILED, INTERRUPTED, OK, print_error
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.tables import print_survey_notes, print_table, progress_bar
from cmab_gym.envs_data.unknown import without_survey_warnings
from cmab_gym.evaluation import Results, evaluate, plot_regret
from cmab_gym.evaluation.batch import find_model
from cmab_gym.evaluation.results import short_labels
from cmab_gym.theory import LowerBound, NoBoundError, graves_lai_bound


def run(chosen: argparse.Namespace) -> int:
    """Evaluate the agents, write the results, and print their summary."""
    out = output_folder(chosen.out)
    with without_survey_warnings():  # the notes are printed below
        bound = _lower_bound(chosen) if chosen.lower_bound else None
    agents = chosen.agents
    total = len(agents) * chosen.rounds * chosen.trials
    with progress_bar("running", total, "rounds") as advance, without_survey_warnings():
        results = evaluate(
            chosen.env,
            published(*agents) if chosen.parameters == "published" else agents,
            chosen.rounds,
            chosen.trials,
            chosen.seed,
            chosen.jobs,
            chosen.env_kwargs,
            checkpoints=chosen.checkpoints,
            scheduler=chosen.scheduler,
            progress=advance,
            on_error="keep",
        )
    print_survey_notes(results.manifest["provenance"])
    for failure in results.failures.values():
        print_error(failure, chosen.option_of)
    if results.finished:
        # Save first: a closed output must not lose the files. And print even if saving fails: a
        # full disk must not lose the numbers.
        try:
            _save(results, out, bound)
        finally:
            _print_summary(results)
        print(f"written to {out}")
    else:
        print(f"no agent finished: {out} is unchanged")
    if results.manifest.get("interrupted"):
        return INTERRUPTED
    return AGENT_FAILED if results.failures else OK


def _lower_bound(chosen: argparse.Namespace) -> LowerBound:
    try:
        return graves_lai_bound(find_model(chosen.env, chosen.env_kwargs))
    except NoBoundError as error:
        raise ValueError(f"--lower-bound: {error}; leave the option out") from error


def _save(results: Results, out: Path, bound: LowerBound | None) -> None:
    plot = out / "regret.png"
    with _uninterrupted():
        plot.unlink(missing_ok=True)  # so that no table lies next to the plot of another run
        results.save(out)
        plot_regret(results, plot, lower_bound=bound)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C while the results are written."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_summary(results: Results) -> None:
    names = short_labels([run.label for run in results.finished])
    one = results.manifest["trials"] == 1
    rows = [
        (
            name,
            f"{row['regret']:.1f}",
            "-" if one else f"{row['sd']:.1f}",
            "-" if one else f"{row['low']:.1f} to {row['high']:.1f}",
            f"{100 * row['best_arm_share']:.1f} %",
            f"{row['rounds_per_second']:,.0f}",
        )
        for name, row in zip(names, results.summary().to_dict("records"), strict=True)
    ]
    header = ("agent", "final regret", "sd", "95 % interval", "best arm", "rounds/s")
    print_table(header, rows, droppable=("rounds/s", "sd", "best arm", "95 % interval"))
