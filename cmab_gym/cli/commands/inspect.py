"""`cmab-gym inspect`: print what theory says about an environment."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from numpy.random import default_rng

from cmab_gym.cli.documents import print_document
from cmab_gym.cli.errors import OK
from cmab_gym.cli.options import add_environment, add_json, add_seed, add_whole
from cmab_gym.cli.printing import print_survey_notes, print_table, say
from cmab_gym.envs_data.surveys.unknown import without_survey_warnings
from cmab_gym.evaluation.playing.batch import find_model
from cmab_gym.models import LatentModel
from cmab_gym.models.base import BanditModel
from cmab_gym.text import shown
from cmab_gym.theory import (
    Analysis,
    LowerBound,
    NoBoundError,
    UpperBound,
    analyse,
    analyse_without_bins,
    c_ucb_bound,
    count_competitive,
    graves_lai_bound,
    lai_robbins_bound,
)

AnyBound = TypeVar("AnyBound", LowerBound, UpperBound)
_LARGEST_PHI = 10  # arms up to which phi is printed
_NAME_WIDTH = 60  # columns of an arm's name at most


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_environment(parser)
    add_whole(parser, "--rounds", "number of rounds T in the bounds", 5000)
    add_seed(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print means, gaps, phi, the competitive arms and the bounds on the regret."""
    rounds = chosen.rounds
    with without_survey_warnings():
        model = find_model(chosen.env, chosen.env_kwargs)
    print_survey_notes(getattr(model, "provenance", {}))
    analysis, exact = analyse(model), analyse_without_bins(model)
    upper = _bound_or_reason(c_ucb_bound, model)
    _print_arms(model, analysis, upper, rounds)
    if model.n_arms <= _LARGEST_PHI:
        _print_phi(analysis)
    measured = count_competitive(model, default_rng(chosen.seed))
    say(
        f"C = {analysis.n_competitive} of {model.n_arms} arms are competitive; measured as in the "
        f"paper, from 5000 pulls of the best arm: {measured}"
    )
    if exact.n_competitive != analysis.n_competitive:
        n_bins = model.problem.reward_support.size
        say(f"C = {exact.n_competitive} without the table's {n_bins} bins; more bins come closer")
    say("")
    bounds = _bounds(model, upper)
    _print_bounds(model, exact, bounds, rounds)
    print_document(
        "inspect",
        {
            "env_id": chosen.env,
            "env_kwargs": chosen.env_kwargs,
            "rounds": rounds,
            "arms": _arms_document(model, analysis, upper, rounds),
            "phi": analysis.phi if model.n_arms <= _LARGEST_PHI else None,
            "competitive": analysis.n_competitive,
            "competitive_measured": measured,
            "competitive_without_bins": exact.n_competitive,
            "bounds": [_bound_document(name, each, rounds) for name, each in bounds.items()],
        },
    )
    return OK


def _arms_document(
    model: BanditModel, analysis: Analysis, upper: UpperBound | str, rounds: int
) -> list[dict[str, Any]]:
    columns: dict[str, Any] = {
        "name": model.arm_names,
        "mean": analysis.means,
        "gap": analysis.gaps,
        "phi": analysis.phi[:, analysis.best_arm],
        "pseudo_gap": analysis.pseudo_gaps,
        "competitive": analysis.competitive,
    }
    if not isinstance(upper, str):
        columns |= {"t0": upper.t0, "c_ucb_pulls": upper.pulls(rounds)}
    return [
        {"arm": arm, **{name: values[arm] for name, values in columns.items()}}
        for arm in range(model.n_arms)
    ]


def _bound_document(name: str, bound: LowerBound | UpperBound | str, rounds: int) -> dict[str, Any]:
    if isinstance(bound, str):
        return {"bound": name, "constant": None, "regret": None, "reason": bound}
    regret = float(bound.regret(rounds))
    return {"bound": name, "constant": bound.constant, "regret": regret, "reason": None}


def _print_arms(
    model: BanditModel, analysis: Analysis, upper: UpperBound | str, rounds: int
) -> None:
    best = analysis.best_arm
    header = ["arm", "name", "mean", "gap", "phi", "pseudo-gap", "competitive"]
    rows = [
        [
            str(arm),
            shown(name, most=_NAME_WIDTH),
            f"{analysis.means[arm]:.4f}",
            f"{analysis.gaps[arm]:.4f}",
            f"{analysis.phi[arm, best]:.4f}",
            f"{analysis.pseudo_gaps[arm]:+.4f}",
            "best" if arm == best else "yes" if analysis.competitive[arm] else "no",
        ]
        for arm, name in enumerate(model.arm_names)
    ]
    if not isinstance(upper, str):
        header += ["t0", "c-ucb pulls (at most)"]
        for row, t0, pulls in zip(rows, upper.t0, upper.pulls(rounds), strict=True):
            row += [_count(t0, rounds), _count(pulls, rounds)]
    print_table(header, rows, text=["name"])
    say(f"phi: expected pseudo-reward with respect to arm {best}, the best arm")
    say(f"T: {rounds:,} rounds\n")


def _count(bound: float, rounds: int) -> str:
    """Write a bound on a number of rounds; one above T says nothing about T rounds."""
    if math.isnan(bound):
        return "-"
    return f"{bound:,.0f}" if bound <= rounds else "more than T"


def _print_phi(analysis: Analysis) -> None:
    arms = range(len(analysis.means))
    rows = [(f"arm {row}", *(f"{analysis.phi[row, k]:.4f}" for k in arms)) for row in arms]
    columns = [f"given {k}" for k in arms]
    print_table(("phi of", *columns), rows)
    say("")


def _bounds(
    model: BanditModel, upper: UpperBound | str
) -> dict[str, LowerBound | UpperBound | str]:
    """Compute the bounds on the regret, or the reason why one is missing."""
    bounds: dict[str, LowerBound | UpperBound | str] = {"c-ucb, upper bound (Corollary 1)": upper}
    if not isinstance(model, LatentModel):
        bounds |= {
            "any agent, lower bound (Graves and Lai)": _bound_or_reason(graves_lai_bound, model),
            "without pseudo-rewards, lower bound (Lai and Robbins)": _bound_or_reason(
                lai_robbins_bound, model
            ),
        }
    return bounds


def _print_bounds(
    model: BanditModel,
    exact: Analysis,
    bounds: Mapping[str, LowerBound | UpperBound | str],
    rounds: int,
) -> None:
    """Print the bounds, and why any of them is missing."""
    known = {name: bound for name, bound in bounds.items() if not isinstance(bound, str)}
    worst = float(exact.gaps.max())
    most = f"{worst * rounds:,.1f}"
    regrets = {name: float(bound.regret(rounds)) for name, bound in known.items()}
    rows = [
        (
            name,
            _growth(bound),
            f"{regrets[name]:,.1f}" if regrets[name] <= worst * rounds else f"more than {most}",
        )
        for name, bound in known.items()
    ]
    if isinstance(model, LatentModel):
        growth = "of order ln T" if exact.n_competitive > 1 else "0"
        rows.append(("any agent, lower bound (Theorem 3)", growth, ""))
    rows.append(("always the worst arm", f"{worst:.4g} T", most))
    print_table(("regret", "for large T", f"T = {rounds:,}"), rows, text=["regret"])
    say("a bound that exceeds the last row is vacuous; lower bounds hold only for large T")
    for name, bound in bounds.items():
        if isinstance(bound, str):
            say(f"{name}: not available: {bound}")


def _growth(bound: LowerBound | UpperBound) -> str:
    if isinstance(bound, UpperBound):
        return f"{bound.constant:.4g} ln T" if bound.constant else "bounded"
    return f"{bound.constant:.3f} ln T" if bound.constant else "0"


def _bound_or_reason(
    compute: Callable[[BanditModel], AnyBound], model: BanditModel
) -> AnyBound | str:
    try:
        return compute(model)
    except NoBoundError as error:
        return str(error)
