"""Compare the growth of regret with the lower bounds: picture and table of `docs/theory.md`.

python benchmarks/lower_bounds.py FOLDER [CASE ...]

Runs the cases, by default all, which takes a quarter of an hour of one core, and saves them in
FOLDER; cases that are there already are not run again. With --write it draws the picture and
replaces the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import page
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from process import HERE

from cmab_gym import Results, evaluate, theory
from cmab_gym.envs.tabular import tabular_model
from cmab_gym.files import write_whole

DOCS, SEED = HERE.parent / "docs", 0
# Agents in the picture with their colour and line.
STYLES = {
    "ts": ("#999999", "-"),
    "c-kl-ucb": ("#56B4E9", "-"),
    "tc-kl-ucb": ("#0072B2", "--"),
    "c-imed": ("#009E73", "-"),
    "tc-imed": ("#E69F00", "--"),
    "graves-lai": ("#D55E00", "-"),
}


@dataclass(frozen=True)
class Case:
    """What is run."""

    env_kwargs: dict[str, Any]
    agents: tuple[str, ...] = tuple(STYLES)
    rounds: int = 100_000
    trials: int = 60


def informative() -> dict[str, Any]:
    """Return keyword arguments of an environment in which a bad arm tells about a good one.

    Rewards are 0 and 1, and the means 0.5, 0.45 and 0.2. Arm 0 is independent of the others. The
    mean of arm 1 is 0.44 where arm 2 gives 0, and 0.49 where it gives 1. The table says only that
    it is at most 0.44 and 0.51.
    """
    table = np.ones((3, 3, 2))
    table[[0, 1, 2], [0, 1, 2]] = [0, 1]
    table[1, 2] = [0.44, 0.51]
    given_arm_2 = np.array([[0.56, 0.51], [0.44, 0.49]])  # P(R_1 | R_2)
    pmf = 0.5 * np.ones((2, 1, 1)) * given_arm_2 * np.array([0.8, 0.2])
    return {"pmf": pmf, "pseudo_rewards": table}


CASES = {
    "table1-a": Case({"preset": "table1-a"}, rounds=10_000),
    "table1-b": Case({"preset": "table1-b"}, rounds=10_000),
    "appendix": Case({"preset": "appendix"}, rounds=10_000),
    "three-armed": Case({"preset": "three-armed"}),
    "informative": Case(informative()),
    "three-armed, long": Case({"preset": "three-armed"}, ("graves-lai",), 1_000_000, trials=40),
}
PICTURED = ("table1-a", "appendix", "table1-b", "three-armed", "informative")


def result(name: str, agent: str, folder: Path) -> Results:
    """Load the run of an agent from its folder, or run it."""
    case, own = CASES[name], folder / name / agent
    if not (own / "results.parquet").is_file():
        env_kwargs, rounds, trials = case.env_kwargs, case.rounds, case.trials
        evaluate(
            "CMAB-Tabular-v0",
            [agent],
            rounds,
            trials,
            SEED,
            env_kwargs=env_kwargs,
            checkpoints="log",
        ).save(own)
    return Results.load(own)


def constants(name: str) -> tuple[float, float]:
    """Return the constants of Graves and Lai, and of Lai and Robbins."""
    model = tabular_model(**CASES[name].env_kwargs)
    return theory.graves_lai_bound(model).constant, theory.lai_robbins_bound(model).constant


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield a row for each case and agent: regret and its slope in the last factor of ten."""
    for name, case in CASES.items():
        bounds = " / ".join(f"{constant:.2f}" for constant in constants(name))
        for agent in case.agents:
            found = result(name, agent, folder)
            rounds, regret = np.array(found.checkpoints), found.regret(agent)
            start = int(np.searchsorted(rounds, case.rounds // 10))
            slopes = (regret[:, -1] - regret[:, start]) / np.log(rounds[-1] / rounds[start])
            last, slope = (
                f"{each.mean():.1f} ± {each.std(ddof=1) / np.sqrt(case.trials):.1f}"
                for each in (regret[:, -1], slopes)
            )
            yield name, agent, f"{case.rounds:,}", last, slope, bounds


def draw(folder: Path, path: Path) -> None:
    """Draw the mean regret against ln T, with the bound as the slope of a dashed line."""
    figure = Figure(figsize=(13, 7.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 3).ravel()
    for axes, name in zip(panels, PICTURED, strict=False):
        draw_case(axes, name, folder)
    handles, labels = panels[0].get_legend_handles_labels()
    panels[-1].legend(handles, labels, loc="center", frameon=False, fontsize=13)
    panels[-1].axis("off")
    write_whole(path, partial(figure.savefig, format="png"))


def draw_case(axes: Axes, name: str, folder: Path) -> None:
    """Draw one panel; the agent with the largest regret may leave it."""
    constant, last = constants(name)[0], []
    for agent, (colour, line) in STYLES.items():
        found = result(name, agent, folder)
        rounds, mean = np.array(found.checkpoints), found.regret(agent).mean(axis=0)
        axes.plot(rounds, mean, line, color=colour, label=agent, linewidth=1.8)
        last.append(float(mean[-1]))
    bound = last[-1] - constant * np.log(rounds[-1] / rounds)  # through the end of graves-lai
    label = "slope of the lower bound"
    axes.plot(rounds[bound >= 0], bound[bound >= 0], "k:", label=label, linewidth=2.2)
    axes.set(
        xscale="log",
        xlim=(10, rounds[-1]),
        ylim=(0, 1.1 * sorted(last)[-2]),
        title=f"{name}: at least {constant:.3g} ln T" if constant else f"{name}: bounded regret",
        xlabel="round",
        ylabel="mean regret",
    )
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Run the chosen cases, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the runs are saved")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--write", action="store_true", help="draw, and replace the table")
    chosen = parser.parse_args()
    for name in chosen.cases or CASES:
        for agent in CASES[name].agents:
            print(name, result(name, agent, chosen.folder), flush=True)
    if chosen.write:
        draw(chosen.folder, DOCS / "images" / "lower-bounds.png")
        header = ("case", "agent", "T", "regret", "slope", "lower bounds")
        table = page.markdown([header, *rows(chosen.folder)])
        page.replace({"lower-bounds": table}, DOCS / "theory.md")


if __name__ == "__main__":
    main()
