"""The parser of the command line: its commands and their options.

A command is named by its module in `cmab_gym.cli.commands` and the function to call there.
"""

from __future__ import annotations

import argparse
from shlex import quote
from typing import Any, NoReturn

from cmab_gym import checks
from cmab_gym.cli.completion import SHELLS, PrintCompletion
from cmab_gym.cli.errors import EXIT_CODES, UsageError
from cmab_gym.cli.values import (
    AddAgents,
    AddKeywords,
    AddLabels,
    above_0,
    checkpoints,
    jobs,
    probability,
    whole,
)
from cmab_gym.evaluation.plots.curves import BANDS
from cmab_gym.evaluation.results.results_file import KINDS
from cmab_gym.versions import version_of

_WORKERS = {
    "n_jobs": "--jobs",
    "scheduler": "--scheduler",
    "timeout": "--timeout",
    "wait_for_workers": "--wait-for-workers",
}
# Keyword arguments of environments that errors tell the user to pass.
_SET = {
    name: f"--set {name}="
    for name in (
        *("user", "item", "rating", "category", "time", "segment_by", "genres"),
        *("separator", "encoding", "quote", "escape", "not_rated", "on_error", "data"),
    )
}


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    codes = "\n".join(f"  {code:<5}{meaning}" for code, meaning in EXIT_CODES.items())
    top = _Parser(
        prog="cmab-gym",
        description="Compare agents on correlated bandits.",
        epilog=f"exit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=version_of("cmab-gym"))
    top.add_argument(
        "--print-completion",
        choices=SHELLS,
        action=PrintCompletion,
        metavar="SHELL",
        help="print a script that completes commands in bash, zsh or tcsh (needs the extra "
        "completion)",
    )
    top.set_defaults(option_of={}, debug=False, quiet=False, json=False)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands.add_parser("run", help="compare agents on an environment"))
    _add_identify(
        commands.add_parser("identify", help="count the pulls until agents know the best arm")
    )
    _add_sweep(commands.add_parser("sweep", help="run environments x agents x parameters x seeds"))
    _add_compare(commands.add_parser("compare", help="say which agents differ, from saved results"))
    _add_plot(commands.add_parser("plot", help="draw pictures of saved results"))
    _add_report(commands.add_parser("report", help="write a page about saved results"))
    _add_leaderboard(
        commands.add_parser("leaderboard", help="rank agents by their regret on the standard suite")
    )
    _add_train(commands.add_parser("train", help="train an agent in advance (needs the extra rl)"))
    _add_reproduce(commands.add_parser("reproduce", help="run the paper's experiments and compare"))
    _add_inspect(
        commands.add_parser("inspect", help="print means, gaps, phi, competitive arms and bounds")
    )
    _add_grade(commands.add_parser("grade", help="grade students' agents"))
    for name, what in (("envs", "environments"), ("agents", "agents")):
        listing = commands.add_parser(name, help="list the " + what)
        _add_json(listing)
        listing.set_defaults(command=f"{name}:run")
    _add_data(commands.add_parser("data", help="download ratings, and build tables from them"))
    return top


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, so that `main` prints them like all others."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_argument(
            "--debug",
            action="store_true",
            default=argparse.SUPPRESS,
            help="print the traceback of every error",
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown arguments here, so that the error names the command's own options."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = checks.nearest(unknown[0], self._option_string_actions)
            hint = f": did you mean {near[0]}" if near else ""
            self.error(f"unknown argument {quote(unknown[0])}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if "ENV" in message:
            message += "; put ENV first: --agents and --set take all words that follow"
        raise UsageError(f"{message.removeprefix('argument ')}; see `{self.prog} --help`")


def _add_run(run: argparse.ArgumentParser) -> None:
    _add_environment(run)
    _add_agents(
        run,
        "names (see `cmab-gym agents`), optionally with parameters: 'c-ucb(B=5)'; classes of your "
        "own: my_file.py:MyAgent; or trained agents: model.zip",
    )
    _add_whole(run, "--rounds", "pulls per trial", 5000)
    _add_whole(run, "--trials", "independent trials", 100)
    _add_whole(run, "--first-trial", "index of the first trial", 0, at_least=0)
    _add_seed(run)
    _add_workers(run)
    _add_whole(run, "--delay", "rounds until agents get a reward", 0, at_least=0)
    _add_whole(run, "--rewards-every", "agents get rewards only after every N rounds", 1)
    run.add_argument(
        "--checkpoints",
        type=checkpoints,
        default=100,
        metavar="N|log",
        help="record regret at N evenly spaced rounds, or at rounds 1, 2, ..., 9, 10, 20, ... "
        "(default 100)",
    )
    run.add_argument(
        "--until-half-width",
        type=above_0("--until-half-width"),
        metavar="W",
        help="add trials, at most those of --trials, until the differences in regret between all "
        "agents are known to within W",
    )
    run.add_argument(
        "--parameters",
        choices=("default", "published"),
        default="default",
        help="parameters of the agents; published: B and beta of the paper's figures 10 to 15",
    )
    run.add_argument(
        "--lower-bound",
        action="store_true",
        help="add the lower bound on any agent's regret to the plot (few arms and rewards only)",
    )
    run.add_argument(
        "--out",
        metavar="FOLDER",
        default="results",
        help="folder for the results; replaces those of an earlier run (default results)",
    )
    _add_dry_run(run)
    run.add_argument(
        "--resume",
        action="store_true",
        help="play only what the folder of --out does not have yet: agents and trials that are "
        "missing, and the rest of a run that was interrupted",
    )
    _add_quiet(run)
    _add_json(run)
    run.set_defaults(command="run:run", option_of={**_WORKERS, **_SET, "folder": "--out"})


def _add_identify(identify: argparse.ArgumentParser) -> None:
    _add_environment(identify)
    _add_agents(
        identify,
        "names: lucb, c-lucb, lil-ucb, top-two-ts, track-and-stop; or classes of your own: "
        "my_file.py:MyAgent",
    )
    identify.add_argument(
        "--delta",
        type=probability("--delta"),
        default=0.05,
        metavar="P",
        help="accepted probability of a wrong arm (default 0.05)",
    )
    _add_whole(identify, "--trials", "independent trials", 100)
    _add_whole(identify, "--max-rounds", "pulls after which a trial is undecided", 100_000)
    _add_seed(identify)
    _add_quiet(identify)
    _add_json(identify)
    identify.set_defaults(command="identify:run", option_of={"max_rounds": "--max-rounds", **_SET})


def _add_sweep(sweep: argparse.ArgumentParser) -> None:
    sweep.add_argument(
        "file",
        metavar="FILE",
        help="a YAML file with the keys environments, agents, seeds, rounds, trials, checkpoints "
        "(see docs/sweeps.md)",
    )
    sweep.add_argument(
        "--out",
        metavar="FOLDER",
        default="sweep",
        help="folder for the results; tasks that are finished there are not run again "
        "(default sweep)",
    )
    _add_workers(sweep)
    sweep.add_argument("--summary", action="store_true", help="only summarise the finished tasks")
    _add_dry_run(sweep)
    _add_quiet(sweep)
    _add_json(sweep)
    sweep.set_defaults(command="sweep:run")


def _add_compare(compare: argparse.ArgumentParser) -> None:
    compare.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="folders that `run` or `sweep` wrote; agents are compared within each environment",
    )
    _add_seed(compare)
    compare.add_argument(
        "--resamples",
        type=whole("--resamples", 100),
        default=9999,
        metavar="N",
        help="resamples of the bootstrap, and random flips of signs (default 9999)",
    )
    _add_json(compare)
    compare.set_defaults(command="compare:run", option_of={"n_resamples": "--resamples"})


def _add_plot(plot: argparse.ArgumentParser) -> None:
    plot.add_argument(
        "folders", nargs="+", metavar="FOLDER", help="folders with the results of `run`"
    )
    plot.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        metavar="KIND",
        help=f"pictures to draw: {', '.join(KINDS)} (default: all that the results have)",
    )
    plot.add_argument(
        "--out",
        metavar="FOLDER",
        help="join the results of all folders, agents or trials of one task, and write them with "
        "their pictures to this folder (default: the pictures of each folder are written there)",
    )
    plot.add_argument(
        "--format", choices=("png", "svg", "pdf"), default="png", help="of the files (default png)"
    )
    plot.add_argument("--title", help="above the pictures (default: environment and arguments)")
    plot.add_argument(
        "--labels",
        nargs="+",
        action=AddLabels,
        metavar="AGENT=NAME",
        help="names to draw in place of the agents' labels",
    )
    plot.add_argument(
        "--highlight",
        nargs="+",
        action=AddAgents,
        metavar="AGENT",
        help="agents to draw in colour, and the others in grey (default: of more than eight "
        "agents, the five with the least regret)",
    )
    plot.add_argument(
        "--band",
        choices=BANDS,
        help="around the curves: sd, one standard deviation; interval, of 95 %% for the mean; "
        "quantiles, 5 %% to 95 %% around the median; none (default sd for regret, none for "
        "competitive)",
    )
    plot.add_argument(
        "--log",
        choices=("none", "x", "y", "xy"),
        help="logarithmic axes (default: x after `run --checkpoints log`)",
    )
    _add_whole(plot, "--arms", "arms in the picture of the pulls", 50)
    _add_quiet(plot)
    plot.set_defaults(
        command="plot:run",
        option_of={"labels": "--labels", "highlight": "--highlight", "path": "--format"},
    )


def _add_report(report: argparse.ArgumentParser) -> None:
    report.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="folders that `run` or `sweep` wrote; the page has a section for each environment",
    )
    report.add_argument(
        "--out",
        default="report.html",
        metavar="FILE",
        help="page to write, which needs no network (default report.html)",
    )
    _add_quiet(report)
    report.set_defaults(command="report:run", option_of={"path": "--out"})


def _add_leaderboard(board: argparse.ArgumentParser) -> None:
    board.add_argument(
        "agents",
        nargs="*",
        action=AddAgents,
        metavar="AGENT",
        help="agents to rank among the built-in ones, as for `run --agents`; only those that the "
        "checked-in table does not have are played (default: print that table)",
    )
    board.add_argument(
        "--by",
        choices=("iqm", "mean"),
        default="iqm",
        help="what decides the place: iqm, the interquartile mean of normalised regret, or its "
        "mean (default iqm)",
    )
    board.add_argument(
        "--quick",
        action="store_true",
        help="4 tasks, 5 trials of 100 rounds, and few built-in agents: to try the command",
    )
    board.add_argument(
        "--replay",
        action="store_true",
        help="play the built-in agents too, in place of the checked-in table (ten minutes)",
    )
    _add_jobs(board, 1)
    board.add_argument(
        "--resamples",
        type=whole("--resamples", 100),
        default=1000,
        metavar="N",
        help="resamples of the bootstrap (default 1000)",
    )
    board.add_argument(
        "--out",
        default="leaderboard",
        help="folder for the table, the pictures and the runs; runs that are finished there are "
        "not repeated (default leaderboard)",
    )
    _add_quiet(board)
    _add_json(board)
    board.set_defaults(
        command="leaderboard:run",
        option_of={"n_jobs": "--jobs", "n_resamples": "--resamples"},
    )


def _add_train(train: argparse.ArgumentParser) -> None:
    train.add_argument("algorithm", metavar="ALGORITHM", help="a2c or ppo")
    train.add_argument(
        "--on", required=True, metavar="PROBLEMS", help="problems to train on: genre or bernoulli"
    )
    _add_whole(train, "--arms", "arms, for bernoulli (default 10)", at_least=2)
    _add_whole(
        train, "--steps", "pulls in all episodes together, rounded up to whole rollouts", 2_000_000
    )
    _add_whole(train, "--horizon", "rounds per episode", 1000)
    _add_seed(train)
    train.add_argument(
        "--out", required=True, metavar="FILE", help="file to write, such as model.zip"
    )
    _add_quiet(train)
    train.set_defaults(
        command="train:run", option_of={"n_arms": "--arms", "on": "--on", "path": "--out"}
    )


def _add_reproduce(reproduce: argparse.ArgumentParser) -> None:
    reproduce.add_argument(
        "panels",
        nargs="*",
        metavar="PANEL",
        help="figures or panels, such as 10 or 10a (default: all 23 panels)",
    )
    _add_whole(reproduce, "--rounds", "pulls per trial (default 5000)")
    _add_whole(reproduce, "--trials", "independent trials (default 100)")
    reproduce.add_argument("--quick", action="store_true", help="500 rounds and 10 trials")
    reproduce.add_argument(
        "--data",
        metavar="FILE",
        help="goodreads_interactions_poetry.json.gz, for figures 12 and 15 in place of the "
        "bundled Goodreads table",
    )
    _add_seed(reproduce)
    _add_jobs(reproduce, -1)
    reproduce.add_argument(
        "--out",
        metavar="FOLDER",
        default="reproduction",
        help="folder for the results (default reproduction)",
    )
    _add_quiet(reproduce)
    reproduce.set_defaults(command="reproduce:run", option_of={"n_jobs": "--jobs"})


def _add_inspect(inspect: argparse.ArgumentParser) -> None:
    _add_environment(inspect)
    _add_whole(inspect, "--rounds", "number of rounds T in the bounds", 5000)
    _add_seed(inspect)
    _add_json(inspect)
    inspect.set_defaults(command="inspect:run")


def _add_grade(grade: argparse.ArgumentParser) -> None:
    grade.add_argument(
        "submissions",
        nargs="*",
        metavar="SUBMISSION",
        help="Python files, or folders with *.py or */submission.py",
    )
    grade.add_argument(
        "--assignment",
        required=True,
        metavar="NAME|FILE",
        help="ucb, c-ucb, ts, epsilon-greedy, or your own file (see docs/grading.md)",
    )
    _add_seed(grade)
    grade.add_argument(
        "--out", help="folder for grades.csv, and feedback and JSON for each submission"
    )
    grade.add_argument("--gradescope", metavar="FILE", help="write Gradescope's results.json here")
    grade.add_argument(
        "--seconds",
        type=above_0("--seconds", " of seconds"),
        default=60.0,
        metavar="N",
        help="for all tests of a submission (default 60)",
    )
    _add_whole(grade, "--memory", "megabytes of a submission's process", 1024, at_least=64)
    grade.add_argument("--user", help="user that runs submissions, if you are root")
    grade.add_argument("--template", metavar="FILE", help="write the file that students begin with")
    grade.add_argument(
        "--autograder", metavar="FOLDER", help="write the files of an autograder for Gradescope"
    )
    grade.set_defaults(
        command="grade:run",
        option_of={"assignment": "--assignment", "user": "--user", "seed": "--seed"},
    )


def _add_data(data: argparse.ArgumentParser) -> None:
    commands = data.add_subparsers(required=True, metavar="COMMAND")
    fetch = commands.add_parser("fetch", help="download a data set into the cache")
    fetch.add_argument("name", metavar="DATASET", help="a data set (see `cmab-gym data list`)")
    fetch.add_argument("--url", help="another address of the same file")
    fetch.set_defaults(command="data:fetch_data", option_of={"url": "--url"})
    listing = commands.add_parser("list", help="list the data sets")
    _add_json(listing)
    listing.set_defaults(command="data:list_data")
    verify = commands.add_parser("verify", help="compare cached files with their checksums")
    verify.add_argument(
        "names", nargs="*", metavar="DATASET", help="data sets (default: all that are cached)"
    )
    verify.set_defaults(command="data:verify_data")
    path = commands.add_parser("path", help="print the path of a cached file, or of the cache")
    path.add_argument(
        "name", nargs="?", metavar="DATASET", help="a data set (see `cmab-gym data list`)"
    )
    path.set_defaults(command="data:print_path")
    build = commands.add_parser("build", help="build the bundled tables from the raw archives")
    build.add_argument(
        "raw",
        nargs="?",
        metavar="FOLDER",
        help="folder with ml-1m.zip and goodbooks-10k.zip (default: the cache)",
    )
    build.add_argument("--out", metavar="FOLDER", default="tables", help="folder (default tables)")
    build.set_defaults(command="data:build")


def _add_environment(command: argparse.ArgumentParser) -> None:
    command.add_argument("env", metavar="ENV", help="an environment id (see `cmab-gym envs`)")
    command.add_argument(
        "--set",
        dest="env_kwargs",
        nargs="+",
        action=AddKeywords,
        default={},
        metavar="KEY=VALUE",
        help="keyword arguments of the environment, such as task=movie pad=0.4",
    )
    command.set_defaults(option_of=_SET)


def _add_agents(command: argparse.ArgumentParser, about: str) -> None:
    command.add_argument(
        "--agents", nargs="+", action=AddAgents, required=True, metavar="AGENT", help=about
    )


def _add_seed(command: argparse.ArgumentParser) -> None:
    _add_whole(command, "--seed", "seed of all random numbers", 0, at_least=0)


def _add_workers(command: argparse.ArgumentParser) -> None:
    _add_jobs(command, 1)
    command.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the workers of a Dask cluster instead, such as tcp://host:8786",
    )
    command.add_argument(
        "--wait-for-workers",
        type=above_0("--wait-for-workers", " of seconds"),
        default=60.0,
        metavar="SECONDS",
        help="how long to wait while the cluster has no worker (default 60)",
    )
    command.add_argument(
        "--timeout",
        type=above_0("--timeout", " of seconds"),
        metavar="SECONDS",
        help="an agent that takes longer for one round of its trials fails, and the others go on "
        "(default: no limit)",
    )
    command.set_defaults(option_of=_WORKERS)


def _add_dry_run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="write nothing; say what would run, and estimate its time and memory from a short run "
        "of each agent",
    )


def _add_quiet(command: argparse.ArgumentParser) -> None:
    command.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--json",
        action="store_true",
        help="print the numbers, not rounded, as one JSON document on standard output",
    )


def _add_jobs(command: argparse.ArgumentParser, default: int) -> None:
    command.add_argument(
        "--jobs",
        type=jobs,
        default=default,
        metavar="N",
        help=f"worker processes; -1: one per core (default {default})",
    )


def _add_whole(
    command: argparse.ArgumentParser,
    option: str,
    about: str,
    default: int | None = None,
    at_least: int = 1,
) -> None:
    command.add_argument(
        option,
        type=whole(option, at_least),
        default=default,
        metavar="N",
        help=about if default is None else f"{about} (default {default})",
    )
