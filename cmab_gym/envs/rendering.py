"""What an episode looks like: a table of the arms, a picture of them, and a window."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab_gym.history import CorrelatedHistory
from cmab_gym.models.base import BanditModel

_DOUBT = 0.05  # the chance that an interval misses an arm's mean
_NAME, _NAME_PIXELS = 30, 210  # how much of an arm's name is shown: in letters, in pixels
_MOST_NAMES = 60  # of more arms only some are named in the picture
_ALLOWED, _RULED_OUT = "#1f77b4", "#b5b5b5"


@dataclass(frozen=True, eq=False)
class Scene:
    """One trial at one moment, as a spectator may see it.

    Attributes:
        names: K names of the arms, none longer than 30 letters.
        unit: of the rewards.
        reward_bounds: the interval that holds every reward.
        pulls: int64 (K,).
        means: float64 (K,); NaN where an arm has no pull.
        low, high: float64 (K,), the 95 % interval of each mean; all rewards where there is no pull.
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
        """Round, regret and the number of competitive arms."""
        return (
            f"round {self.t:,} of {self.horizon:,}    regret {self.regret:,.1f}    "
            f"competitive {self.competitive.sum()} of {len(self.names)} arms"
        )


def intervals(
    pulls: IntArray, means: FloatArray, reward_bounds: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return 95 % confidence intervals of the arms' means, by Hoeffding's inequality.

    Args:
        pulls: int64 (K,).
        means: float64 (K,), mean rewards; anything where an arm has no pull.
        reward_bounds: (low, high), the interval that holds every reward.

    Returns:
        The lower and the upper ends, float64 (K,), within reward_bounds. Each holds for a number
        of pulls that was fixed beforehand, so in a game that pulls good arms more often it is a
        guide only.
    """
    low, high = reward_bounds
    seen = pulls > 0
    radius = (high - low) * np.sqrt(math.log(2 / _DOUBT) / (2 * np.maximum(pulls, 1)))
    return (
        np.where(seen, np.maximum(means - radius, low), low),
        np.where(seen, np.minimum(means + radius, high), high),
    )


class Screen:
    """Keeps what was seen in B trials, and shows it.

    Args:
        model: the bandit.
        horizon: rounds of an episode.
        trials: B.
    """

    def __init__(self, model: BanditModel, horizon: int, trials: int = 1) -> None:
        self._model, self._horizon, self._trials = model, horizon, trials
        self._names = tuple(_shortened(name) for name in model.arm_names)
        self._picture: Picture | None = None
        self._window: Window | None = None
        self.begin()

    def begin(self) -> None:
        """Forget what was seen: new episodes begin."""
        self._history = CorrelatedHistory(self._model.problem, self._trials)
        self._regret: FloatArray = np.zeros(self._trials)

    def update(self, arms: IntArray, rewards: FloatArray, regret: FloatArray) -> None:
        """Add a round: arms, their rewards and the regret so far, each (B,)."""
        self._history.update(arms, rewards)
        self._regret = regret.copy()

    def scene(self, trial: int) -> Scene:
        """Return one of the trials as it is now."""
        seen, bounds = self._history, self._model.problem.reward_bounds
        pulls, means = seen.pulls[trial], seen.means[trial]
        low, high = intervals(pulls, means, bounds)
        return Scene(
            self._names,
            self._model.reward_unit,
            bounds,
            pulls.copy(),
            np.where(pulls > 0, means, np.nan),
            low,
            high,
            seen.competitive[trial],
            int(seen.last_arm[trial]),
            seen.t,
            self._horizon,
            float(self._regret[trial]),
        )

    def frame(self, trial: int, render_mode: str | None) -> Any:
        """Return a trial as text ("ansi"), or as a picture, uint8 (height, width, 3)."""
        scene = self.scene(trial)
        return table(scene) if render_mode == "ansi" else self._picture_of(scene).draw(scene)

    def show(self, trial: int, frames_per_second: int) -> None:
        """Show a trial in a window, or in the terminal."""
        if self._window is None:
            self._window = Window(frames_per_second)
        scene = self.scene(trial)
        self._window.show(scene, self._picture_of(scene))

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._window.close()
        self._picture = self._window = None

    def _picture_of(self, scene: Scene) -> Picture:
        if self._picture is None:
            self._picture = Picture(scene)
        return self._picture

    def __getstate__(self) -> dict[str, Any]:
        # A copy draws its own picture, and opens its own window.
        return {**self.__dict__, "_picture": None, "_window": None}


def table(scene: Scene) -> str:
    """Write a scene as a table: arms, pulls, means, intervals, and which arms are competitive."""
    width = max(len("arm"), *(len(name) for name in scene.names))
    lines = [scene.headline, f"  {'arm':{width}}   pulls      mean      95 % interval  competitive"]
    for arm, name in enumerate(scene.names):
        mark = ">" if arm == scene.last_arm else " "
        mean = f"{scene.means[arm]:9.3f}" if scene.pulls[arm] else f"{'-':>9}"
        ends = f"{scene.low[arm]:8.3f} to {scene.high[arm]:8.3f}"
        allowed = "yes" if scene.competitive[arm] else "no"
        lines.append(f"{mark} {name:{width}} {scene.pulls[arm]:7} {mean} {ends}  {allowed}")
    return "\n".join(lines) + "\n"


class Picture:
    """Draws scenes of one bandit on one figure: what never changes is drawn only once.

    Args:
        scene: any of them.
    """

    def __init__(self, scene: Scene) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection, PolyCollection
        from matplotlib.figure import Figure

        n_arms = len(scene.names)
        row = min(max(520 / n_arms, 15), 44)  # pixels
        rows = row * min(n_arms, _MOST_NAMES)
        width, height = 960, 2 * round(rows / 2) + 124  # even, as films need
        left, right = 240 / width, 880 / width
        top, bottom = 1 - 50 / height, 1 - (50 + rows) / height
        size = 8 if row < 20 else 10
        figure: Any = Figure(figsize=(width / 100, height / 100), dpi=100)
        # Matplotlib's types leave these out or are too narrow.
        self._canvas: Any = FigureCanvasAgg(figure)
        self._axes = axes = figure.add_axes((left, bottom, right - left, top - bottom))
        named = range(0, n_arms, math.ceil(n_arms / _MOST_NAMES))
        axes.set(xlim=scene.reward_bounds, ylim=(n_arms - 0.5, -0.5))
        axes.tick_params(axis="y", length=0, pad=14, labelsize=size)
        axes.set_yticks(named, [scene.names[arm] for arm in named])
        axes.set_yticklabels([_fitting(label) for label in axes.get_yticklabels()])
        axes.tick_params(axis="x", labelsize=9)
        unit = "" if scene.unit == "reward" else f" ({scene.unit})"
        axes.set_xlabel(f"mean reward{unit}, with 95 % interval", fontsize=9)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        figure.text(left, 12 / height, "blue: empirically competitive", fontsize=9, color=_ALLOWED)
        figure.text(
            955 / width, top + 8 / height, "pulls", ha="right", fontsize=size, color="#666666"
        )
        self._headline = figure.text(left, top + 18 / height, "", fontsize=11, fontweight="bold")
        beside = axes.get_yaxis_transform()  # x in widths of the axes, y in arms
        edge = (955 / width - left) / (right - left)
        style: dict[str, Any] = {"transform": beside, "ha": "right", "va": "center"}
        self._pulls = {arm: axes.text(edge, arm, "", fontsize=size, **style) for arm in named}
        (self._blank,) = axes.fill([1.01, 1.01, 1.2, 1.2], [0] * 4, "white", clip_on=False)
        self._blank.set_transform(beside)
        self._written: dict[int, int] = {}
        (self._last,) = axes.plot([], [], ">", color="#222222", markersize=6, clip_on=False)
        self._last.set_transform(beside)
        (self._means,) = axes.plot([], [], "o", color="#222222", markersize=3.5, clip_on=False)
        self._bands: Any = PolyCollection([], facecolor=_ALLOWED, alpha=0.13)
        self._bars: Any = PolyCollection([])
        self._intervals: Any = LineCollection([], color="#222222", linewidth=1)
        for collection in (self._bands, self._bars, self._intervals):
            axes.add_collection(collection, autolim=False)
        self._moving = (
            self._bands,
            self._bars,
            self._intervals,
            self._means,
            self._last,
            self._headline,
        )
        for artist in (*self._moving, *self._pulls.values(), self._blank):
            artist.set_animated(True)
        canvas: Any = self._canvas
        canvas.draw()
        self._still = canvas.copy_from_bbox(figure.bbox)

    def draw(self, scene: Scene) -> AnyArray:
        """Return the picture of a scene, uint8 (height, width, 3)."""
        arms, (left, right) = np.arange(scene.pulls.size), scene.reward_bounds
        pulled, allowed = scene.pulls > 0, scene.competitive
        # An interval that holds all rewards says nothing; hundreds of them hide the rest.
        known = ((scene.low > left) | (scene.high < right)) & (arms.size <= _MOST_NAMES)
        self._bands.set_verts(_boxes(arms[allowed], left, np.full(allowed.sum(), right), 0.5))
        self._bars.set_verts(_boxes(arms[pulled], left, scene.means[pulled], 0.34))
        self._bars.set_facecolor(np.where(allowed[pulled], _ALLOWED, _RULED_OUT))
        self._intervals.set_segments(_whiskers(arms[known], scene.low[known], scene.high[known]))
        self._means.set_data(scene.means[pulled], arms[pulled])
        self._last.set_data(*(([-0.015], [scene.last_arm]) if scene.t else ([], [])))
        self._headline.set_text(scene.headline)
        self._canvas.restore_region(self._still)
        renderer = self._canvas.get_renderer()
        self._write_pulls(scene, renderer)
        for artist in self._moving:
            artist.draw(renderer)
        picture: AnyArray = np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()
        return picture

    def _write_pulls(self, scene: Scene, renderer: Any) -> None:
        """Write the counts that changed: text takes most of a picture's time."""
        changed = [arm for arm in self._pulls if self._written.get(arm) != scene.pulls[arm]]
        for arm in changed:
            self._blank.set_xy(_boxes(np.array([arm]), 1.01, np.array([1.2]), 0.5)[0])
            self._blank.draw(renderer)
            self._pulls[arm].set_text(f"{scene.pulls[arm]:,}")
            self._pulls[arm].draw(renderer)
            self._written[arm] = int(scene.pulls[arm])
        if changed:
            self._still = self._canvas.copy_from_bbox(self._axes.figure.bbox)


class Window:
    """A window that shows scenes as pictures, or a terminal that shows them as tables.

    The window needs pygame and a display. Where there is none of them, as on a server, the scenes
    are printed.

    Args:
        frames_per_second: scenes are shown no faster.
    """

    def __init__(self, frames_per_second: int) -> None:
        self._pace = 1 / frames_per_second
        self._next = time.monotonic()
        self._pygame = pygame_with_a_display()
        self._surface: Any = None

    def show(self, scene: Scene, picture: Picture) -> None:
        """Show a scene, when the last one has been seen long enough."""
        if self._pygame is None:
            print(table(scene), flush=True)
        else:
            self._show(picture.draw(scene))
        time.sleep(max(0, self._next - time.monotonic()))
        self._next = time.monotonic() + self._pace

    def _show(self, pixels: AnyArray) -> None:
        display, size = self._pygame.display, (pixels.shape[1], pixels.shape[0])
        if self._surface is None:
            self._surface = display.set_mode(size)
            display.set_caption("cmab-gym")
        self._surface.blit(self._pygame.image.frombuffer(pixels.tobytes(), size, "RGB"), (0, 0))
        self._pygame.event.pump()
        display.flip()

    def close(self) -> None:
        """Close the window."""
        if self._pygame is not None:
            self._pygame.display.quit()


def pygame_with_a_display() -> Any:
    """Return pygame, ready to open a window; None if it is not installed, or has no display."""
    try:
        import pygame
    except ImportError:
        return None
    try:
        pygame.display.init()
    except pygame.error:
        return None
    # Without a display SDL takes a driver that shows nothing, which may also be asked for.
    if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
        pygame.display.quit()
        return None
    return pygame


def _boxes(arms: IntArray, left: float, right: FloatArray, half: float) -> FloatArray:
    """Return the corners of horizontal bars, float64 (number, 4, 2)."""
    start = np.full(arms.size, left)
    x = np.stack([start, right, right, start], axis=1)
    y = np.stack([arms - half, arms - half, arms + half, arms + half], axis=1)
    return np.stack([x, y], axis=2)


def _whiskers(arms: IntArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the lines of horizontal intervals with a stroke at each end, (3 number, 2, 2)."""
    x = np.stack([[low, high], [low, low], [high, high]])
    y = np.stack([[arms, arms], [arms - 0.2, arms + 0.2], [arms - 0.2, arms + 0.2]])
    lines: FloatArray = np.stack([x, y], axis=2).transpose(0, 3, 1, 2).reshape(-1, 2, 2)
    return lines


def _fitting(label: Any) -> str:
    """Return as much of an arm's name as there is room for."""
    name, width = label.get_text(), label.get_window_extent().width
    return _shortened(name, int(len(name) * min(_NAME_PIXELS / max(width, 1), 1)))


def _shortened(name: str, letters: int = _NAME) -> str:
    return name if len(name) <= letters else name[: letters - 1].rstrip() + "…"
