"""The command `cmab-gym`: run, inspect, envs, agents, data build."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

import cmab_gym
from cmab_gym.agents.registry import agent_class, agent_names, published
from cmab_gym.envs.registration import ENVIRONMENTS

if TYPE_CHECKING:
    from rich.console import Console

    from cmab_gym.evaluation import Results
    from cmab_gym.models.base import BanditModel
    from cmab_gym.theory import Analysis

OK, AGENT_FAILED, WRONG_ARGUMENTS, INTERRUPTED = 0, 1, 2, 130
_SMALL = 10  # arms up to which `inspect` shows the whole of phi


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0, 1 (an agent failed), 2 (wrong arguments)."""
    chosen = parser().parse_args(arguments)
    try:
        code: int = chosen.command(chosen)
    except (ValueError, OSError, gym.error.Error) as error:
        print(f"cmab-gym: error: {error}", file=sys.stderr)
        return WRONG_ARGUMENTS
    except KeyboardInterrupt:
        print("cmab-gym: interrupted", file=sys.stderr)
        return INTERRUPTED
    return code


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="cmab-gym", description="Correlated bandits: run and compare agents."
    )
    top.add_argument("--version", action="version", version=cmab_gym.__version__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="compare agents on an environment")
    _add_environment(run)
    run.add_argument(
        "--agents",
        nargs="+",
        required=True,
        metavar="AGENT",
        help="names (see `cmab-gym agents`), with parameters if need be: 'c-ucb(B=5)'; "
        "or your own: my_file.py:MyAgent",
    )
    run.add_argument("--rounds", type=int, default=5000, help="pulls per trial (default 5000)")
    run.add_argument("--trials", type=int, default=100, help="independent trials (default 100)")
    run.add_argument("--seed", type=int, default=0, help="decides all random numbers (default 0)")
    run.add_argument("--jobs", type=int, default=1, help="processes; -1: one per core (default 1)")
    run.add_argument(
        "--settings",
        choices=("default", "published"),
        default="default",
        help="published: B and beta of the paper's figures 10 to 15",
    )
    run.add_argument(
        "--out", type=Path, default=Path("results"), help="folder for the results (default results)"
    )
    run.set_defaults(command=_run)

    look = commands.add_parser("inspect", help="means, gaps, phi and competitive arms")
    _add_environment(look)
    look.add_argument("--seed", type=int, default=0, help="of the measured C (default 0)")
    look.set_defaults(command=_inspect)

    commands.add_parser("envs", help="list the environments").set_defaults(command=_envs)
    commands.add_parser("agents", help="list the agents").set_defaults(command=_agents)

    data = commands.add_parser("data", help="tables from raw ratings").add_subparsers(
        required=True, metavar="COMMAND"
    )
    build = data.add_parser("build", help="build the bundled tables from the raw archives")
    build.add_argument("raw", type=Path, help="folder with ml-1m.zip and goodbooks-10k.zip")
    build.add_argument("--out", type=Path, default=Path("tables"), help="folder (default tables)")
    build.set_defaults(command=_build)
    return top


def _add_environment(command: argparse.ArgumentParser) -> None:
    command.add_argument("env", metavar="ENV", help="an id (see `cmab-gym envs`)")
    command.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="keywords of the environment, as task=movie pad=0.4",
    )


def _run(chosen: argparse.Namespace) -> int:
    from cmab_gym.evaluation import evaluate
    from cmab_gym.evaluation.plot import plot_regret

    agents = chosen.agents if chosen.settings == "default" else published(*chosen.agents)
    if len(agents) != len(chosen.agents):
        raise ValueError(f"--agents {' '.join(chosen.agents)}: expected each agent once")
    with _progress_bar(len(agents) * chosen.rounds * chosen.trials) as advance:
        results = evaluate(
            chosen.env,
            agents,
            chosen.rounds,
            chosen.trials,
            chosen.seed,
            chosen.jobs,
            _keywords(chosen.set),
            progress=advance,
            on_error="keep",
        )
    results.save(chosen.out)
    if results.finished:
        plot_regret(results, chosen.out / "regret.png")
        _print_summary(_console(), results)
    print(f"written to {chosen.out}{'' if results.finished else ' (no agent finished)'}")
    for failure in results.failures.values():
        print(f"cmab-gym: error: {failure}", file=sys.stderr)
    return AGENT_FAILED if results.failures else OK


def _inspect(chosen: argparse.Namespace) -> int:
    from numpy.random import default_rng

    from cmab_gym.evaluation.play import make_environment
    from cmab_gym.theory import analyse, count_competitive

    env = make_environment(chosen.env, 1, 1, _keywords(chosen.set))
    model: BanditModel = env.unwrapped.model
    analysis = analyse(model)
    console = _console()
    _print_arms(console, model, analysis)
    if model.n_arms <= _SMALL:
        _print_phi(console, analysis)
    measured = count_competitive(model, default_rng(chosen.seed))
    console.print(
        f"C = {analysis.n_competitive} of {model.n_arms} arms are competitive; "
        f"measured as in the paper, by 5000 pulls of the best arm: {measured}"
    )
    return OK


def _envs(_: argparse.Namespace) -> int:
    rows = []
    for entry in ENVIRONMENTS:
        cls = gym.envs.registration.load_env_creator(str(gym.spec(entry.id).entry_point))
        hook = vars(cls)["build_model"]
        rows.append((entry.id, entry.description, " ".join(inspect.signature(hook).parameters)))
    _print_table(_console(), ("id", "what it is", "keywords (and horizon, step_info)"), rows)
    return OK


def _agents(_: argparse.Namespace) -> int:
    rows = []
    for name in agent_names():
        cls = agent_class(name)
        idea = (inspect.getdoc(cls) or "").split("\n")[0]
        rows.append((name, idea, " ".join(inspect.signature(cls).parameters)))
    _print_table(_console(), ("name", "idea (c-: among the competitive arms)", "parameters"), rows)
    return OK


def _build(chosen: argparse.Namespace) -> int:
    from cmab_gym.data.bundle import build_tables

    for path in build_tables(chosen.raw, chosen.out):
        print(path)
    return OK


def _keywords(pairs: Sequence[str]) -> dict[str, Any]:
    keywords: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ValueError(f"--set {pair!r}: expected KEY=VALUE, such as task=movie")
        try:
            keywords[key] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            keywords[key] = value
    return keywords


@contextmanager
def _progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("playing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rounds"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(stderr=True)) as bar:
        task = bar.add_task("playing", total=max(total, 0))
        yield lambda rounds: bar.advance(task, rounds)


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A file or a pipe has no width: wide enough that nothing is wrapped.
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else 120)


def _print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name, cell in zip(header, rows[0], strict=True):
        numeric = cell.lstrip("+-")[:1].isdigit()
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)


def _print_summary(console: Console, results: Results) -> None:
    rows = [
        (
            str(row["agent"]),
            f"{row['regret']:.1f}",
            f"{row['sd']:.1f}",
            f"{row['low']:.1f} to {row['high']:.1f}",
            f"{100 * row['best_arm_share']:.1f} %",
            f"{row['rounds_per_second']:,.0f}",
        )
        for row in results.summary().to_dict("records")
    ]
    header = ("agent", "final regret", "sd", "95 % interval", "best arm", "rounds/s")
    _print_table(console, header, rows)


def _print_arms(console: Console, model: BanditModel, analysis: Analysis) -> None:
    best = analysis.best_arm
    rows = [
        (
            str(arm),
            name,
            f"{analysis.means[arm]:.4f}",
            f"{analysis.gaps[arm]:.4f}",
            f"{analysis.phi[arm, best]:.4f}",
            f"{analysis.pseudo_gaps[arm]:+.4f}",
            "best" if arm == best else "yes" if analysis.competitive[arm] else "no",
        )
        for arm, name in enumerate(model.arm_names)
    ]
    header = ("arm", "name", "mean", "gap", "phi", "pseudo-gap", "competitive")
    _print_table(console, header, rows)
    console.print(f"phi: expected pseudo-reward with respect to arm {best}, the best arm")


def _print_phi(console: Console, analysis: Analysis) -> None:
    arms = range(len(analysis.means))
    rows = [(f"arm {row}", *(f"{analysis.phi[row, k]:.4f}" for k in arms)) for row in arms]
    _print_table(console, ("phi of", *(f"given {k}" for k in arms)), rows)
