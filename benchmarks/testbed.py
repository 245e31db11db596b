"""Reproduce the figure of the 10-armed testbed in Sutton and Barto's Reinforcement Learning.

python benchmarks/testbed.py

Figure 2.2 of the second edition (2018): average reward and share of optimal actions of
epsilon-greedy over 1000 steps, each averaged over 2000 bandits with 10 arms. It takes about ten
seconds.
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

from cmab_gym.agents import IndexAgent
from cmab_gym.arrays import FloatArray
from cmab_gym.envs.independent import independent_model
from cmab_gym.files import write_whole
from cmab_gym.history import History
from cmab_gym.streams import TrialStreams

STEPS, BANDITS, SEED = 1000, 2000, 0
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
        index: FloatArray = np.where(rng.random(1) < self.epsilon, 0.0, history.means)
        return index


def play(epsilon: float, bandits: int = BANDITS, steps: int = STEPS) -> FloatArray:
    """Play one trial of each bandit, all in lockstep.

    All bandits of the testbed are the same problem to a player, who does not know the means.

    Returns:
        float64 (2, steps): the average reward, and the share of pulls of the best arm.
    """
    models = [independent_model(problem_seed=seed) for seed in range(bandits)]
    means = np.stack([model.means for model in models])
    agent, rng = IndexAgent(BookGreedy(epsilon)), np.random.default_rng(SEED)
    agent.reset(models[0].problem, bandits, SEED)
    best, trial, curves = means.argmax(axis=1), np.arange(bandits), np.empty((2, steps))
    for step in range(steps):
        arms = agent.act()
        rewards = rng.normal(means[trial, arms])
        agent.update(arms, np.clip(rewards, *models[0].problem.reward_bounds))
        curves[:, step] = rewards.mean(), (arms == best).mean()
    return curves


def draw(curves: dict[float, FloatArray], bandits: int, path: Path) -> None:
    """Draw the curves of each epsilon, rewards above optimal actions."""
    figure = Figure(figsize=(7, 7), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    reward, optimal = figure.subplots(2, 1, sharex=True)
    for epsilon, (rewards, best) in curves.items():
        label = "greedy" if epsilon == 0 else f"epsilon = {epsilon:g}"
        steps = np.arange(1, rewards.size + 1)
        for axes, curve in ((reward, rewards), (optimal, 100 * best)):
            axes.plot(steps, curve, color=COLOURS[epsilon], label=label, linewidth=1)
    reward.set(ylabel="average reward", ylim=(0, 1.6))
    optimal.set(ylabel="% optimal action", ylim=(0, 100), xlabel="step", xlim=(0, steps[-1]))
    reward.legend(frameon=False, loc="lower right")
    for axes in (reward, optimal):
        axes.grid(alpha=0.3, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"Epsilon-greedy on the 10-armed testbed: mean over {bandits:,} bandits")
    write_whole(path, partial(figure.savefig, format="png"))


def main() -> None:
    """Play all bandits, print the averages of the last 100 steps, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURE)
    chosen = parser.parse_args()
    curves = {epsilon: play(epsilon) for epsilon in COLOURS}
    for epsilon, curve in curves.items():
        reward, best = curve[:, -100:].mean(axis=1)
        print(f"epsilon {epsilon:4}: average reward {reward:.3f}, optimal {100 * best:.1f} %")
    draw(curves, BANDITS, chosen.out)


if __name__ == "__main__":
    main()
