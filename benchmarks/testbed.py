"""Reproduce the figure of the 10-armed testbed in Sutton and Barto's Reinforcement Learning.

python benchmarks/testbed.py

Figure 2.2 of the second edition (2018): average reward and share of optimal actions of
epsilon-greedy over 1000 steps, each averaged over 2000 bandits with 10 arms. It takes 10 to 20
minutes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from process import HERE

from cmab_gym import evaluate
from cmab_gym.arrays import FloatArray
from cmab_gym.envs.independent import independent_model
from cmab_gym.files import write_whole
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams

ENV, STEPS, PROBLEMS = "CMAB-Independent-v0", 1000, 2000
PICTURE = HERE.parent / "docs" / "images" / "testbed.png"
COLOURS = {0.0: "#009E73", 0.01: "#D55E00", 0.1: "#0072B2"}  # by epsilon


@dataclass(frozen=True)
class BookGreedy:
    """Epsilon-greedy as in the book: all estimates start at 0, and no arm has to be tried first.

    Args:
        epsilon: the probability of a random arm.
    """

    ranks_unpulled: ClassVar[bool] = True
    epsilon: float

    def index(self, history: History, rng: TrialStreams) -> FloatArray:
        """Return the mean rewards, or equal numbers, of which the agent takes one at random."""
        explores = rng.uniform() < self.epsilon
        index: FloatArray = np.where(explores[:, None], 0.0, history.means)
        return index


def play(problem_seed: int) -> FloatArray:
    """Play one trial of one bandit with every agent.

    Returns:
        float64 (agents, 2, STEPS): the mean of the arm pulled in each step, and whether it is best.
    """
    agents = {str(epsilon): BookGreedy(epsilon) for epsilon in COLOURS}
    results = evaluate(
        ENV,
        agents,
        STEPS,
        trials=1,
        seed=problem_seed,
        env_kwargs={"problem_seed": problem_seed},
        checkpoints=STEPS,
    )
    best = independent_model(problem_seed=problem_seed).means.max()
    return np.stack(
        [
            (best - np.diff(run.regret[0], prepend=0), np.diff(run.best_arm_pulls[0], prepend=0))
            for run in results.runs
        ]
    )


def draw(curves: FloatArray, problems: int, path: Path) -> None:
    """Draw the curves, float64 (agents, 2, STEPS), one panel below the other."""
    figure = Figure(figsize=(7, 7), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    reward, optimal = figure.subplots(2, 1, sharex=True)
    for (epsilon, colour), (rewards, best) in zip(COLOURS.items(), curves, strict=True):
        label = "greedy" if epsilon == 0 else f"epsilon = {epsilon:g}"
        reward.plot(np.arange(1, STEPS + 1), rewards, color=colour, label=label, linewidth=1)
        optimal.plot(np.arange(1, STEPS + 1), 100 * best, color=colour, linewidth=1)
    reward.set(ylabel="average reward", ylim=(0, 1.6))
    optimal.set(ylabel="% optimal action", ylim=(0, 100), xlabel="step", xlim=(0, STEPS))
    reward.legend(frameon=False, loc="lower right")
    for axes in (reward, optimal):
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"Epsilon-greedy on the 10-armed testbed: mean over {problems:,} bandits")
    write_whole(path, partial(figure.savefig, format="png"))


def main() -> None:
    """Play all bandits, print the averages of the last 100 steps, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=PROBLEMS)
    parser.add_argument("--out", type=Path, default=PICTURE)
    chosen = parser.parse_args()
    total = np.zeros((len(COLOURS), 2, STEPS))
    for problem_seed in range(chosen.problems):
        total += play(problem_seed)
    curves = total / chosen.problems
    for epsilon, (reward, best) in zip(COLOURS, curves[:, :, -100:].mean(axis=2), strict=True):
        print(f"epsilon {epsilon:4}: average reward {reward:.3f}, optimal {100 * best:.1f} %")
    draw(curves, chosen.problems, chosen.out)


if __name__ == "__main__":
    main()
