"""`cmab-gym run`: compare agents on an environment."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmab_gym.agents.make import published
from cmab_gym.cli.documents import print_document
from cmab_gym.cli.dry_run import dry_run
from cmab_gym.cli.errors import AGENT_FAILED, OK, print_failures
from cmab_gym.cli.live_view import live_view
from cmab_gym.cli.options import (
    add_agents,
    add_dry_run,
    add_environment,
    add_json,
    add_quiet,
    add_seed,
    add_whole,
    add_workers,
    name_options,
)
from cmab_gym.cli.output_folder import output_folder
from cmab_gym.cli.printing import print_survey_notes, print_table, say
from cmab_gym.cli.signals import ignored
from cmab_gym.cli.values import above_0, checkpoints
from cmab_gym.envs_data.surveys.unknown import without_survey_warnings
from cmab_gym.evaluation import (
    EvaluationInterrupted,
    Results,
    evaluate,
    evaluate_until,
    plot_regret,
)
from cmab_gym.evaluation.playing.batch import find_model
from cmab_gym.evaluation.playing.progress import OnBatch
from cmab_gym.evaluation.plots.figure import default_title
from cmab_gym.evaluation.results.results import short_labels
from cmab_gym.evaluation.results.results_file import delete_unfinished
from cmab_gym.evaluation.results.unfinished import lost
from cmab_gym.evaluation.tables import summary_table

if TYPE_CHECKING:
    from cmab_gym.theory import LowerBound


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_environment(parser)
    add_agents(
        parser,
        "names (see `cmab-gym agents`), optionally with parameters: 'c-ucb(B=5)'; classes of your "
        "own: my_file.py:MyAgent; or trained agents: model.zip",
    )
    add_whole(parser, "--rounds", "pulls per trial", 5000)
    add_whole(parser, "--trials", "independent trials", 100)
    add_whole(parser, "--first-trial", "index of the first trial", 0, at_least=0)
    add_seed(parser)
    add_workers(parser)
    add_whole(parser, "--delay", "rounds until agents get a reward", 0, at_least=0)
    add_whole(parser, "--rewards-every", "agents get rewards only after every N rounds", 1)
    parser.add_argument(
        "--checkpoints",
        type=checkpoints,
        default=100,
        metavar="N|log",
        help="record regret at N evenly spaced rounds, or at rounds 1, 2, ..., 9, 10, 20, ... "
        "(default 100)",
    )
    parser.add_argument(
        "--until-half-width",
        type=above_0("--until-half-width"),
        metavar="W",
        help="add trials, at most those of --trials, until the differences in regret between all "
        "agents are known to within W",
    )
    parser.add_argument(
        "--parameters",
        choices=("default", "published"),
        default="default",
        help="parameters of the agents; published: B and beta of the paper's figures 10 to 15",
    )
    parser.add_argument(
        "--lower-bound",
        action="store_true",
        help="add the lower bound on any agent's regret to the plot (few arms and rewards only)",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default="results",
        help="folder for the results; replaces those of an earlier run (default results)",
    )
    add_dry_run(parser)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="play only what the folder of --out does not have yet: agents and trials that are "
        "missing, and the rest of a run that was interrupted",
    )
    add_quiet(parser)
    add_json(parser)
    name_options(parser, {"folder": "--out"})
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Evaluate the agents, write the results, and print their summary."""
    agents = chosen.agents
    if chosen.parameters == "published":
        # As labels, so that the table and the legend show the parameters.
        agents = [*published(*agents).values()]
    if chosen.dry_run:
        return dry_run(chosen, agents)
    out = output_folder(chosen.out)
    with without_survey_warnings():  # the notes are printed below
        bound = _lower_bound(chosen) if chosen.lower_bound else None
    names = dict(zip(agents, short_labels(agents), strict=True))
    with live_view(names, chosen.rounds * chosen.trials) as watch, without_survey_warnings():
        results, interruption = _evaluate(chosen, agents, out, watch)
    unfinished = lost(out, results) if chosen.resume else []
    saved = bool(results.finished) and not unfinished
    try:
        # Save first, so that a closed output does not lose the files.
        if saved:
            _save(results, out, bound, chosen.parameters)
    finally:
        # Print even if saving fails, so that a full disk does not lose the numbers.
        print_survey_notes(results.manifest["provenance"])
        failed = [run for run in results.runs if run.failure]
        print_failures(failed, chosen.option_of, chosen.debug)
        if results.finished:
            _print_summary(results)
        print_document("run", _document(results, out if saved else None))
    what = f"{unfinished[0]} did not finish" if unfinished else "no agent finished"
    say(f"written to {out}" if saved else f"{what}: {out} is unchanged")
    if interruption is None and not (saved or unfinished):
        delete_unfinished(out)
    if interruption is not None and not chosen.scheduler and chosen.until_half_width is None:
        say("the same command with --resume goes on from here")
    if interruption is not None:
        raise interruption
    return AGENT_FAILED if results.failures else OK


def _evaluate(
    chosen: argparse.Namespace, agents: Sequence[str], out: Path, watch: OnBatch
) -> tuple[Results, KeyboardInterrupt | None]:
    """Return the results of the agents that finished, and the interruption if there was one."""
    arguments = {
        "rounds": chosen.rounds,
        "seed": chosen.seed,
        "n_jobs": chosen.jobs,
        "env_kwargs": chosen.env_kwargs,
        "checkpoints": chosen.checkpoints,
        "scheduler": chosen.scheduler,
        "watch": watch,
        "on_error": "keep",
        "timeout": chosen.timeout,
        "wait_for_workers": chosen.wait_for_workers,
        "delay": chosen.delay,
        "rewards_every": chosen.rewards_every,
    }
    try:
        if chosen.until_half_width is None:
            trials = {"trials": chosen.trials, "first_trial": chosen.first_trial}
            kept = {"folder": out, "resume": chosen.resume}
            return evaluate(chosen.env, agents, **trials, **kept, **arguments), None
        if chosen.first_trial:
            raise ValueError("--first-trial and --until-half-width: expected one of them")
        if chosen.resume:
            raise ValueError("--resume and --until-half-width: expected one of them")
        most = {"most_trials": chosen.trials, **arguments}
        return evaluate_until(chosen.env, agents, chosen.until_half_width, **most), None
    except EvaluationInterrupted as error:
        return error.results, KeyboardInterrupt()


def _lower_bound(chosen: argparse.Namespace) -> LowerBound:
    from cmab_gym.theory import NoBoundError, graves_lai_bound  # imports SciPy's optimizers

    try:
        return graves_lai_bound(find_model(chosen.env, chosen.env_kwargs))
    except NoBoundError as error:
        raise ValueError(f"--lower-bound: {error}; leave the option out") from error


def _save(results: Results, out: Path, bound: LowerBound | None, parameters: str) -> None:
    with ignored():
        results.save(out)
        title = default_title(results)
        if parameters == "published":
            title += "\npublished parameters of the agents"
        plot_regret(results, out / "regret.png", title, bound)


def _document(results: Results, out: Path | None) -> dict[str, Any]:
    manifest = results.manifest
    names = ("env_id", "env_kwargs", "rounds", "trials", "first_trial", "seed")
    return {
        **{name: manifest[name] for name in names},
        "seconds": manifest["seconds"],
        "out": out,
        "interrupted": manifest.get("interrupted", False),
        "agents": results.summary().to_dict("records"),
        "failures": results.failures,
        "told_more": manifest["told_more"],
        **{name: manifest[name] for name in ("until", "half_width") if name in manifest},
    }


def _print_summary(results: Results) -> None:
    print_table(*summary_table(results), text=["agent"])
    for label, what in results.manifest["told_more"].items():
        say(f"{label} was told more than other agents: {what}")
    if "until" in results.manifest:
        missed = results.manifest["half_width"] > results.manifest["until"]
        goal = "wanted {until:g}, not reached: raise --trials" if missed else "wanted {until:g}"
        known = "{trials} trials; the differences between all agents are known to within "
        say((known + "{half_width:.2g} (" + goal + ")").format_map(results.manifest))
