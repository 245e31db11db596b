"""`Scene`: one trial at one moment, as data and as a table of text."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.text import display_width

_MISS = 0.05  # the probability that an interval misses an arm's mean
NAME_WIDTH = 30  # columns of a terminal for an arm's name at most


@dataclass(frozen=True, eq=False)
class Scene:
    """One trial at one moment, as a spectator may see it.

    Attributes:
        names: K names of the arms, made safe by `cmab_gym.text.shown`, of at most 30 columns.
        unit: the rewards' unit.
        reward_bounds: (low, high), the interval that holds every reward.
        pulls: int64 (K,).
        means: float64 (K,); NaN where an arm has no pull.
        low, high: float64 (K,), ends of the 95 % interval of each mean; reward_bounds where an arm
            has no pull.
        competitive: bool (K,), the arms that the C-Bandit algorithms allow now.
        last_arm: the arm pulled last; -1 before the first pull.
        t, horizon: rounds played, and rounds of an episode.
        regret: the sum of the gaps of the pulls.
    """

    names: tuple[str, ...]
    unit: str
    reward_bounds: tuple[float, float]
    pulls: IntArray
    means: FloatArray
    low: FloatArray
    high: FloatArray
    competitive: BoolArray
    last_arm: int
    t: int
    horizon: int
    regret: float

    @property
    def headline(self) -> str:
        """Round, regret and how many arms are competitive."""
        return (
            f"round {self.t:,} of {self.horizon:,}    regret {self.regret:,.1f}    "
            f"competitive {self.competitive.sum()} of {len(self.names)} arms"
        )


def intervals(
    pulls: IntArray, means: FloatArray, reward_bounds: tuple[float, float], scale: float
) -> tuple[FloatArray, FloatArray]:
    """Return 95 % confidence intervals of the arms' means, by Hoeffding's inequality.

    Each interval holds for a number of pulls that is fixed beforehand. A player that pulls good
    arms more often makes it a guide only.

    Args:
        pulls: int64 (K,).
        means: float64 (K,), mean rewards; ignored where an arm has no pull.
        reward_bounds: (low, high), the interval that holds every reward.
        scale: the length of that interval, or twice the sub-Gaussian sigma of the rewards.

    Returns:
        The lower and the upper ends, float64 (K,), within reward_bounds.
    """
    low, high = reward_bounds
    pulled = pulls > 0
    radius = scale * np.sqrt(math.log(2 / _MISS) / (2 * np.maximum(pulls, 1)))
    return (
        np.where(pulled, np.maximum(means - radius, low), low),
        np.where(pulled, np.minimum(means + radius, high), high),
    )


def table(scene: Scene) -> str:
    """Write a scene as a table: arms, pulls, means, intervals, and which arms are competitive."""
    room = max(display_width(name) for name in ("arm", *scene.names))
    lines = [scene.headline, f"  {'arm':{room}}   pulls      mean      95 % interval  competitive"]
    for arm, name in enumerate(scene.names):
        mark = ">" if arm == scene.last_arm else " "
        mean = f"{scene.means[arm]:9.3f}" if scene.pulls[arm] else f"{'-':>9}"
        ends = f"{scene.low[arm]:8.3f} to {scene.high[arm]:8.3f}"
        competitive = "yes" if scene.competitive[arm] else "no"
        name += " " * (room - display_width(name))
        lines.append(f"{mark} {name} {scene.pulls[arm]:7} {mean} {ends}  {competitive}")
    return "\n".join(lines) + "\n"
