"""The command `cmab-gym`: run, sweep, train, reproduce, inspect, envs, agents, data."""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import gymnasium as gym

from cmab_gym.agents.registry import agent_class, agent_names, published
from cmab_gym.cli.tables import print_table, progress_bar
from cmab_gym.envs.registration import ENVIRONMENTS
from cmab_gym.files import check_writable
from cmab_gym.models.presets import LATENT, TABULAR
from cmab_gym.versions import version_of

if TYPE_CHECKING:
    from cmab_gym.evaluation import Results
    from cmab_gym.models.base import BanditModel
    from cmab_gym.theory import Analysis, LowerBound, UpperBound

OK, AGENT_FAILED, WRONG_ARGUMENTS, INTERRUPTED = 0, 1, 2, 130
Bound = TypeVar("Bound")
_SMALL = 10  # arms up to which `inspect` shows the whole of phi


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit code: 0; 1, an agent failed; 2, an argument is wrong; 130, interrupted.
    """
    chosen = parser().parse_args(arguments)
    try:
        code: int = chosen.command(chosen)
    except BrokenPipeError:
        # Whoever read the output, as `head` does, has enough. Nothing is left to be flushed to it.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return OK
    except (ValueError, OSError, gym.error.Error) as error:
        print(f"cmab-gym: error: {error}", file=sys.stderr)
        return WRONG_ARGUMENTS
    except KeyboardInterrupt:
        print("cmab-gym: interrupted", file=sys.stderr)
        return INTERRUPTED
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if "ENV" in message:
            message += " (put ENV first: --agents and --set take all that follows)"
        super().error(message)


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    top = _Parser(prog="cmab-gym", description="Correlated bandits: run and compare agents.")
    top.add_argument("--version", action="version", version=version_of("cmab-gym"))
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="compare agents on an environment")
    _add_environment(run)
    run.add_argument(
        "--agents",
        nargs="+",
        action="extend",
        required=True,
        metavar="AGENT",
        help="names (see `cmab-gym agents`), with parameters if need be: 'c-ucb(B=5)'; "
        "or your own: my_file.py:MyAgent; or one that was trained: model.zip",
    )
    run.add_argument("--rounds", type=int, default=5000, help="pulls per trial (default 5000)")
    run.add_argument("--trials", type=int, default=100, help="independent trials (default 100)")
    run.add_argument("--seed", type=int, default=0, help="decides all random numbers (default 0)")
    _add_workers(run)
    run.add_argument(
        "--checkpoints",
        type=_checkpoints,
        default=100,
        metavar="N|log",
        help="record regret N times, evenly spaced, or at 1, 2, ..., 9, 10, 20, ... (default 100)",
    )
    run.add_argument(
        "--settings",
        choices=("default", "published"),
        default="default",
        help="published: B and beta of the paper's figures 10 to 15",
    )
    run.add_argument(
        "--lower-bound",
        action="store_true",
        help="draw the least regret of any agent into the plot (a few arms and rewards only)",
    )
    run.add_argument(
        "--out",
        default="results",
        help="folder for the results; those of an earlier run are replaced (default results)",
    )
    run.set_defaults(command=_run)

    many = commands.add_parser("sweep", help="environments x agents x parameters x seeds")
    many.add_argument("file", metavar="FILE", help="a sweep, as sweep.yaml: see the README")
    many.add_argument(
        "--out",
        default="sweep",
        help="folder for the results; tasks that are finished there are not played again "
        "(default sweep)",
    )
    _add_workers(many)
    many.add_argument("--summary", action="store_true", help="only sum up what is finished")
    many.set_defaults(command=_sweep)

    learn = commands.add_parser("train", help="train an agent beforehand (needs the extra rl)")
    learn.add_argument("algorithm", metavar="ALGORITHM", help="a2c or ppo")
    learn.add_argument(
        "--on", required=True, metavar="PROBLEMS", help="what to train on: genre or tabular"
    )
    learn.add_argument("--arms", type=int, help="number of arms, for tabular (default 10)")
    learn.add_argument("--steps", type=int, default=2_000_000, help="pulls (default 2000000)")
    learn.add_argument("--horizon", type=int, default=1000, help="per episode (default 1000)")
    learn.add_argument("--seed", type=int, default=0, help="decides all random numbers (default 0)")
    learn.add_argument("--out", required=True, metavar="FILE", help="file to write, as model.zip")
    learn.set_defaults(command=_train)

    again = commands.add_parser("reproduce", help="run the paper's experiments and compare")
    again.add_argument(
        "panels", nargs="*", metavar="PANEL", help="as 10 or 10a; default all 23 panels"
    )
    again.add_argument("--rounds", type=int, help="pulls per trial (default 5000)")
    again.add_argument("--trials", type=int, help="trials (default 100)")
    again.add_argument("--quick", action="store_true", help="500 rounds, 10 trials: a first look")
    again.add_argument(
        "--data",
        metavar="FILE",
        help="goodreads_interactions_poetry.json.gz: figures 12 and 15 play it, and not the "
        "bundled Goodreads table",
    )
    again.add_argument("--seed", type=int, default=0, help="decides all random numbers (default 0)")
    again.add_argument("--jobs", type=int, default=-1, help="processes (default one per core)")
    again.add_argument("--out", default="reproduction", help="folder (default reproduction)")
    again.set_defaults(command=_reproduce)

    look = commands.add_parser("inspect", help="means, gaps, phi, competitive arms and bounds")
    _add_environment(look)
    look.add_argument("--rounds", type=int, default=5000, help="T of the bounds (default 5000)")
    look.add_argument("--seed", type=int, default=0, help="of the measured C (default 0)")
    look.set_defaults(command=_inspect)

    commands.add_parser("envs", help="list the environments").set_defaults(command=_envs)
    commands.add_parser("agents", help="list the agents").set_defaults(command=_agents)
    _add_data(commands.add_parser("data", help="raw ratings, and tables made of them"))
    return top


def _add_workers(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobs", type=int, default=1, help="processes; -1: one per core (default 1)"
    )
    command.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="play on the workers of a Dask cluster instead, as tcp://host:8786",
    )


def _checkpoints(text: str) -> int | Literal["log"]:
    return "log" if text == "log" else int(text)


def _add_environment(command: argparse.ArgumentParser) -> None:
    command.add_argument("env", metavar="ENV", help="an id (see `cmab-gym envs`)")
    command.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="keywords of the environment, as task=movie pad=0.4",
    )


def _add_data(data: argparse.ArgumentParser) -> None:
    commands = data.add_subparsers(required=True, metavar="COMMAND")
    fetch = commands.add_parser("fetch", help="download a data set into the cache")
    fetch.add_argument("name", help="a name (see `cmab-gym data list`)")
    fetch.set_defaults(command=_fetch)
    commands.add_parser("list", help="list the data sets").set_defaults(command=_list)
    verify = commands.add_parser("verify", help="compare cached files with their checksums")
    verify.add_argument("names", nargs="*", help="data sets (default: all that are cached)")
    verify.set_defaults(command=_verify)
    path = commands.add_parser("path", help="print where a data set is cached, or the cache folder")
    path.add_argument("name", nargs="?", help="a name (see `cmab-gym data list`)")
    path.set_defaults(command=_path)
    build = commands.add_parser("build", help="build the bundled tables from the raw archives")
    build.add_argument(
        "raw",
        nargs="?",
        help="folder with ml-1m.zip and goodbooks-10k.zip (default: the cache)",
    )
    build.add_argument("--out", default="tables", help="folder (default tables)")
    build.set_defaults(command=_build)


def _run(chosen: argparse.Namespace) -> int:
    from cmab_gym.evaluation import evaluate
    from cmab_gym.evaluation.plot import plot_regret

    out = _folder(chosen.out)
    bound = _lower_bound(chosen) if chosen.lower_bound else None
    agents = chosen.agents
    if chosen.settings == "published" and len(set(agents)) == len(agents):
        agents = published(*agents)
    total = len(agents) * chosen.rounds * chosen.trials
    with progress_bar("playing", total, "rounds") as advance:
        results = evaluate(
            chosen.env,
            agents,
            chosen.rounds,
            chosen.trials,
            chosen.seed,
            chosen.jobs,
            _keywords(chosen.set),
            checkpoints=chosen.checkpoints,
            scheduler=chosen.scheduler,
            progress=advance,
            on_error="keep",
        )
    _say_left_out(results.manifest["provenance"])
    for failure in results.failures.values():
        print(f"cmab-gym: error: {failure}", file=sys.stderr)
    if results.finished:
        # Neither a full disk may cost the numbers, nor an output that is closed the files.
        try:
            with _uninterrupted():
                (out / "regret.png").unlink(missing_ok=True)  # never beside another run's table
                results.save(out)
                plot_regret(results, out / "regret.png", lower_bound=bound)
        finally:
            _print_summary(results)
        print(f"written to {out}")
    else:
        print(f"no agent finished: {out} is left as it was")
    if results.manifest.get("interrupted"):
        return INTERRUPTED
    return AGENT_FAILED if results.failures else OK


def _lower_bound(chosen: argparse.Namespace) -> LowerBound:
    from cmab_gym.theory import NoBoundError, graves_lai_bound

    try:
        return graves_lai_bound(_model(chosen))
    except NoBoundError as error:
        raise ValueError(f"--lower-bound: {error}; leave it out") from error


def _model(chosen: argparse.Namespace) -> BanditModel:
    from cmab_gym.evaluation.play import find_model

    return find_model(chosen.env, _keywords(chosen.set))


def _sweep(chosen: argparse.Namespace) -> int:
    from cmab_gym.evaluation.sweep import SUMMARY, sweep
    from cmab_gym.evaluation.sweep_tasks import Sweep

    plan = Sweep.from_file(chosen.file)
    total = sum(task.rounds * task.trials for task in plan.tasks())
    out = _folder(chosen.out)
    with progress_bar("playing", total, "rounds") as advance:
        table = sweep(
            plan,
            out,
            chosen.jobs,
            chosen.scheduler,
            play=not chosen.summary,
            progress=advance,
            say=lambda text: print(text, file=sys.stderr),
        )
    failures = table["failure"].dropna()
    for failure in failures:
        print(f"cmab-gym: error: {failure}", file=sys.stderr)
    counts = table["status"].value_counts()
    print(f"{', '.join(f'{count} {status}' for status, count in counts.items())}: {out / SUMMARY}")
    return AGENT_FAILED if len(failures) else OK


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until what was played is written."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say_left_out(provenance: Mapping[str, Any]) -> None:
    """Say on standard error how many ratings of a file were not used."""
    counts = provenance.get("left_out", {})
    some = [f"{number:,} {what}" for what, number in counts.items() if number]
    if some:
        print(f"left out of {provenance['source']}: {', '.join(some)}", file=sys.stderr)


def _reproduce(chosen: argparse.Namespace) -> int:
    from cmab_gym.envs_data.cache import locate
    from cmab_gym.paper import find_panels, on_ratings, reproduce

    panels = find_panels(*chosen.panels)
    if chosen.data is not None:
        panels = on_ratings(panels, locate(chosen.data).resolve())
    rounds, trials = (500, 10) if chosen.quick else (5000, 100)
    rounds = rounds if chosen.rounds is None else chosen.rounds
    trials = trials if chosen.trials is None else chosen.trials
    out = _folder(chosen.out)
    with progress_bar("playing", len(panels), "panels") as advance:
        table = reproduce(panels, out, rounds, trials, chosen.seed, chosen.jobs, advance)
    counts = table["verdict"].value_counts()
    print_table(("verdict", "values"), [(str(name), str(count)) for name, count in counts.items()])
    print(f"written to {out}: read {out / 'report.md'}")
    return OK


def _train(chosen: argparse.Namespace) -> int:
    from cmab_gym.training import train

    with progress_bar("training", chosen.steps, "rounds") as advance:
        trained = train(
            chosen.algorithm,
            chosen.on,
            chosen.out,
            chosen.steps,
            n_arms=chosen.arms,
            horizon=chosen.horizon,
            seed=chosen.seed,
            progress=advance,
        )
    print(f"{trained['steps']:,} rounds in {trained['seconds']:.0f} seconds")
    print(f"written to {chosen.out}: play it by `cmab-gym run ENV --agents {chosen.out}`")
    return OK


def _folder(name: str) -> Path:
    """Make the folder for the results now: after hours of playing is too late to find it cannot."""
    folder = Path(name)
    if not name or (folder.exists() and not folder.is_dir()):
        raise ValueError(f"--out {name!r}: expected a folder, or a name for a new one")
    try:
        check_writable(folder)
    except OSError as error:
        raise ValueError(
            f"--out {name!r} cannot be written to ({error}): expected another"
        ) from error
    return folder


def _inspect(chosen: argparse.Namespace) -> int:
    from numpy.random import default_rng

    from cmab_gym import checks
    from cmab_gym.theory import analyse, c_ucb_bound, count_competitive

    seed = checks.whole_number("seed", chosen.seed, 0)
    rounds = checks.whole_number("rounds", chosen.rounds, 1)
    model = _model(chosen)
    _say_left_out(getattr(model, "provenance", {}))
    analysis = analyse(model)
    upper = _bound_or_reason(c_ucb_bound, model)
    _print_arms(model, analysis, upper, rounds)
    if model.n_arms <= _SMALL:
        _print_phi(analysis)
    measured = count_competitive(model, default_rng(seed))
    print(
        f"C = {analysis.n_competitive} of {model.n_arms} arms are competitive; measured as in the "
        f"paper, by 5000 pulls of the best arm: {measured}\n"
    )
    _print_bounds(model, analysis, upper, rounds)
    return OK


def _envs(_: argparse.Namespace) -> int:
    rows = []
    for entry in ENVIRONMENTS:
        cls = gym.envs.registration.load_env_creator(str(gym.spec(entry.id).entry_point))
        parameters = inspect.signature(vars(cls)["build_model"]).parameters.values()
        keywords = " ".join(f"{each.name}={each.default!r}" for each in parameters)
        rows.append((entry.id, entry.description, keywords))
    print_table(("id", "what it is", "keywords and defaults (and horizon=5000, step_info)"), rows)
    print()
    presets = [("CMAB-Tabular-v0", name, each.source) for name, each in TABULAR.items()]
    presets += [("CMAB-Latent-v0", name, each.source) for name, each in LATENT.items()]
    print_table(("id", "preset", "where it is from"), presets)
    print("\nWhat the keywords mean: help(cmab_gym.envs.MovieLensEnv), and so on.")
    return OK


def _agents(_: argparse.Namespace) -> int:
    rows = []
    for name in agent_names():
        cls = agent_class(name)
        idea = (inspect.getdoc(cls) or "").split("\n")[0]
        rows.append((name, idea, " ".join(inspect.signature(cls).parameters)))
    print_table(("name", "idea (c-: among the competitive arms)", "parameters"), rows)
    return OK


def _fetch(chosen: argparse.Namespace) -> int:
    from cmab_gym.envs_data.datasets import dataset
    from cmab_gym.envs_data.fetch import fetch

    done = 0
    with progress_bar(chosen.name, dataset(chosen.name).size, "bytes") as advance:

        def report(so_far: int, _: int | None) -> None:
            nonlocal done
            advance(so_far - done)
            done = so_far

        print(fetch(chosen.name, accept=print, progress=report))
    return OK


def _list(_: argparse.Namespace) -> int:
    from cmab_gym.envs_data.cache import cache_folder, cached
    from cmab_gym.envs_data.datasets import DATASETS

    there = cached()
    rows = [
        (
            name,
            each.title,
            f"{each.size / 1e6:,.1f} MB" if each.size else "",
            "cached" if name in there else "",
        )
        for name, each in DATASETS.items()
    ]
    print_table(("name", "data set", "size", "here"), rows)
    print(f"\nThe cache is {cache_folder()}.")
    return OK


def _verify(chosen: argparse.Namespace) -> int:
    from cmab_gym.envs_data.cache import cached, verify

    names = chosen.names or list(cached())
    for name in names:
        verify(name)
        print(f"{name}: right")
    if not names:
        print("nothing is cached")
    return OK


def _path(chosen: argparse.Namespace) -> int:
    from cmab_gym.envs_data.cache import cache_folder, cached_path

    print(cached_path(chosen.name) if chosen.name else cache_folder())
    return OK


def _build(chosen: argparse.Namespace) -> int:
    from cmab_gym.envs_data.bundle import build_tables
    from cmab_gym.envs_data.cache import cache_folder

    for path in build_tables(chosen.raw or cache_folder(), chosen.out):
        print(path)
    return OK


def _keywords(pairs: Sequence[str]) -> dict[str, Any]:
    keywords: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise ValueError(f"--set {pair!r}: expected KEY=VALUE, such as task=movie")
        if key in keywords:
            raise ValueError(f"--set {key}= is given twice: expected each keyword once")
        try:
            keywords[key] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            keywords[key] = value
    return keywords


def _print_summary(results: Results) -> None:
    from cmab_gym.evaluation.results import short_labels

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


def _print_arms(
    model: BanditModel, analysis: Analysis, upper: UpperBound | str, rounds: int
) -> None:
    best = analysis.best_arm
    header = ["arm", "name", "mean", "gap", "phi", "pseudo-gap", "competitive"]
    rows = [
        [
            str(arm),
            name,
            f"{analysis.means[arm]:.4f}",
            f"{analysis.gaps[arm]:.4f}",
            f"{analysis.phi[arm, best]:.4f}",
            f"{analysis.pseudo_gaps[arm]:+.4f}",
            "best" if arm == best else "yes" if analysis.competitive[arm] else "no",
        ]
        for arm, name in enumerate(model.arm_names)
    ]
    if not isinstance(upper, str):
        header += ["t0", "c-ucb pulls, at most"]
        for row, t0, pulls in zip(rows, upper.t0, upper.pulls(rounds), strict=True):
            row += [f"{t0:,.0f}" if t0 == t0 else "-", f"{pulls:,.0f}"]
    print_table(header, rows, droppable=("t0", "pseudo-gap", "gap", "c-ucb pulls, at most"))
    print(f"phi: expected pseudo-reward with respect to arm {best}, the best arm\n")


def _print_bounds(
    model: BanditModel, analysis: Analysis, upper: UpperBound | str, rounds: int
) -> None:
    """Print the bounds on the regret, and why one is missing."""
    from cmab_gym.models import LatentModel
    from cmab_gym.theory import graves_lai_bound, lai_robbins_bound

    rows, missing = [], []

    def add(name: str, growth: str, regret: float | None) -> None:
        rows.append((name, growth, "" if regret is None else f"{regret:,.1f}"))

    name = "c-ucb, at most (Corollary 1)"
    if isinstance(upper, str):
        missing.append((name, upper))
    else:
        growth = f"{upper.constant:.4g} ln T" if upper.constant else "bounded"
        add(name, growth, float(upper.regret(rounds)))
    if isinstance(model, LatentModel):
        growth = "some c ln T" if analysis.n_competitive > 1 else "0"
        add("any agent, at least (Theorem 3)", growth, None)
    else:
        for name, compute in (
            ("any agent, at least (Graves and Lai)", graves_lai_bound),
            ("without pseudo-rewards, at least (Lai and Robbins)", lai_robbins_bound),
        ):
            bound = _bound_or_reason(compute, model)
            if isinstance(bound, str):
                missing.append((name, bound))
            else:
                growth = f"{bound.constant:.3f} ln T" if bound.constant else "0"
                add(name, growth, float(bound.regret(rounds)))
    worst = float(analysis.gaps.max())
    add("the worst arm only", f"{worst:.4g} T", worst * rounds)
    print_table(("regret", "for large T", f"T = {rounds:,}"), rows)
    print("a bound above the last row says nothing yet; lower bounds are limits for large T")
    for name, reason in missing:
        print(f"{name}: not available: {reason}")


def _bound_or_reason(compute: Callable[[BanditModel], Bound], model: BanditModel) -> Bound | str:
    from cmab_gym.theory import NoBoundError

    try:
        return compute(model)
    except NoBoundError as error:
        return str(error)


def _print_phi(analysis: Analysis) -> None:
    arms = range(len(analysis.means))
    rows = [(f"arm {row}", *(f"{analysis.phi[row, k]:.4f}" for k in arms)) for row in arms]
    columns = [f"given {k}" for k in arms]
    print_table(("phi of", *columns), rows, droppable=columns[::-1])
    print()
