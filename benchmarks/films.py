"""Draw the README's picture of 2,000 films: the regret, and how many films each agent has tried.

python benchmarks/films.py ml-1m.zip
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from process import HERE

from cmab_gym import make_agent
from cmab_gym.arrays import FloatArray
from cmab_gym.files import write_whole

FILMS, ROUNDS, TRIALS, SEED = 2_000, 500, 20, 0
PICTURE = HERE.parent / "docs" / "images" / "films.png"
# Name, colour and line of each agent.
AGENTS = (("ts", "#000000", "-"), ("c-ts", "#D55E00", "-."), ("warm-ts", "#009E73", "--"))


def play(envs: gym.vector.VectorEnv[Any, Any, Any], name: str) -> tuple[FloatArray, FloatArray]:
    """Return regret and films tried after each round, float64 (B, rounds) each."""
    agent = make_agent(name)
    trials = envs.num_envs
    agent.reset(envs.unwrapped.problem, trials, SEED)
    envs.reset(seed=SEED, options={"info": False})
    tried = np.zeros((trials, FILMS), np.bool_)
    regret, films = np.empty((trials, ROUNDS)), np.empty((trials, ROUNDS))
    for t in range(ROUNDS):
        arms = agent.act()
        _, rewards, _, _, info = envs.step(arms)
        agent.update(arms, rewards)
        tried[np.arange(trials), arms] = True
        regret[:, t], films[:, t] = info["regret"], tried.sum(axis=1)
    return regret, films


def main() -> None:
    """Run the agents, print the last round, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="path of ml-1m.zip")
    parser.add_argument("--out", type=Path, default=PICTURE)
    chosen = parser.parse_args()
    envs = gym.make_vec(
        "CMAB-Ratings-v0",
        TRIALS,
        horizon=ROUNDS,
        draws="pulls",
        step_info="none",
        data=chosen.data,
        n_arms=FILMS,
        pad=0.1,
    )
    found = {}
    for name, _, _ in AGENTS:
        found[name] = play(envs, name)
        last = (f"{each[:, -1].mean():,.0f}" for each in found[name])
        print("{}: regret {}, films tried {}".format(name, *last), flush=True)
    draw(found, chosen.out)


def draw(found: dict[str, tuple[FloatArray, FloatArray]], path: Path) -> None:
    """Draw the means over trials, with bands of one standard deviation."""
    figure = Figure(figsize=(9.5, 3.8), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    titles = ("cumulative regret (stars)", "different films tried")
    for axes, title, position in zip(figure.subplots(1, 2), titles, (0, 1), strict=True):
        ends: list[tuple[float, str, str]] = []
        for name, colour, line in AGENTS:
            curves = found[name][position]
            mean, sd = curves.mean(axis=0), curves.std(axis=0, ddof=1)
            rounds = np.arange(1, ROUNDS + 1)
            axes.fill_between(rounds, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)
            axes.plot(rounds, mean, color=colour, linestyle=line)
            ends.append((float(mean[-1]), f"{name} {mean[-1]:,.0f}", colour))
        axes.set(title=title, xlabel="round", xlim=(0, ROUNDS), ylim=(0, None))
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        height = -np.inf
        for value, text, colour in sorted(ends):
            height = max(value, height + 0.07 * axes.get_ylim()[1])
            axes.annotate(text, (ROUNDS, height), (4, 0), textcoords="offset points",
                          va="center", color=colour, annotation_clip=False)  # fmt: skip
    figure.suptitle(
        f"Which of {FILMS:,} films does a new population like best? "
        f"Mean of {TRIALS} trials, band: ± 1 sd",
        fontsize=11,
    )
    write_whole(path, partial(figure.savefig, format="png"))


if __name__ == "__main__":
    main()
