"""`Picture`: a scene as an image, drawn with Matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.envs.scene import Scene
from cmab_gym.text import display_width, drawn

_NAME_WIDTH = 210  # pixels for an arm's name
_UNIT_WIDTH = 30  # columns of a terminal for the rewards' unit at most
_MOST_NAMES = 60  # with more arms, only some are named
_COMPETITIVE, _RULED_OUT, _INK = "#1f77b4", "#8f8f8f", "#222222"
_PALEST = 0.2  # colour strength of a bar whose mean is unknown


class Picture:
    """Draws scenes of one bandit on one figure: what never changes is drawn only once.

    Args:
        scene: any scene of the bandit.
    """

    def __init__(self, scene: Scene) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        n_arms = len(scene.names)
        layout = _Layout.of(n_arms)
        named = range(0, n_arms, math.ceil(n_arms / _MOST_NAMES))
        # Any: Matplotlib's types are too narrow here.
        figure: Any = Figure(figsize=(layout.width / 100, layout.height / 100), dpi=100)
        canvas: Any = FigureCanvasAgg(figure)
        self._axes: Any = figure.add_axes(layout.axes)
        _style_axes(self._axes, scene, named, layout.font_size)
        self._headline = _add_captions(figure, layout)
        self._pulls = _add_counts(self._axes, named, layout)
        self._written: dict[int, int] = {}  # the counts in the picture, by arm
        self._add_marks()
        for artist in (*self._moving, *self._pulls.values(), self._eraser):
            artist.set_animated(True)
        canvas.draw()
        self._canvas, self._still = canvas, canvas.copy_from_bbox(figure.bbox)

    def _add_marks(self) -> None:
        """Add what shows the arms' state: bars, intervals, means and the arm pulled last."""
        from matplotlib.collections import LineCollection, PolyCollection

        axes = self._axes
        row_transform = axes.get_yaxis_transform()  # x in widths of the axes, y in arms
        (self._eraser,) = axes.fill([1.01, 1.01, 1.2, 1.2], [0] * 4, "white", clip_on=False)
        self._eraser.set_transform(row_transform)
        (self._last,) = axes.plot([], [], ">", color=_INK, markersize=6, clip_on=False)
        self._last.set_transform(row_transform)
        (self._means,) = axes.plot([], [], "o", color=_INK, markersize=3.5, clip_on=False)
        self._bands: Any = PolyCollection([], facecolor=_COMPETITIVE, alpha=0.13)
        self._bars: Any = PolyCollection([])
        self._intervals: Any = LineCollection([], color=_INK, linewidth=1)
        collections = (self._bands, self._bars, self._intervals)
        for collection in collections:
            axes.add_collection(collection, autolim=False)
        self._moving = (*collections, self._means, self._last, self._headline)

    def draw(self, scene: Scene) -> AnyArray:
        """Return the picture of a scene, uint8 (height, width, 3)."""
        self._move_marks(scene)
        self._canvas.restore_region(self._still)
        renderer = self._canvas.get_renderer()
        self._write_pulls(scene, renderer)
        for artist in self._moving:
            artist.draw(renderer)
        picture: AnyArray = np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()
        return picture

    def _move_marks(self, scene: Scene) -> None:
        arms, (left, right) = np.arange(scene.pulls.size), scene.reward_bounds
        pulled, competitive = scene.pulls > 0, scene.competitive
        # Hundreds of intervals hide the rest.
        known = pulled & (arms.size <= _MOST_NAMES)
        ends = np.full(competitive.sum(), right)
        self._bands.set_verts(_boxes(arms[competitive], left, ends, 0.5))
        self._bars.set_verts(_boxes(arms[pulled], left, scene.means[pulled], 0.34))
        self._bars.set_facecolor(_bar_colors(scene)[pulled])
        self._intervals.set_segments(_whiskers(arms[known], scene.low[known], scene.high[known]))
        self._means.set_data(scene.means[pulled], arms[pulled])
        self._last.set_data(*(([-0.015], [scene.last_arm]) if scene.t else ([], [])))
        self._headline.set_text(scene.headline)

    def _write_pulls(self, scene: Scene, renderer: Any) -> None:
        """Write only the counts that changed: text takes most of a picture's time."""
        changed = [arm for arm in self._pulls if self._written.get(arm) != scene.pulls[arm]]
        for arm in changed:
            self._eraser.set_xy(_boxes(np.array([arm]), 1.01, np.array([1.2]), 0.5)[0])
            self._eraser.draw(renderer)
            self._pulls[arm].set_text(f"{scene.pulls[arm]:,}")
            self._pulls[arm].draw(renderer)
            self._written[arm] = int(scene.pulls[arm])
        if changed:
            self._still = self._canvas.copy_from_bbox(self._axes.figure.bbox)


@dataclass(frozen=True)
class _Layout:
    """Where the parts of a picture are.

    Attributes:
        width, height: the size of the picture, in pixels.
        left, right: ends of the axes, as shares of the width.
        top, bottom: the same, as shares of the height, from below.
        font_size: the font size of the arms' names and counts.
    """

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    font_size: int

    @classmethod
    def of(cls, n_arms: int) -> _Layout:
        row = min(max(520 / n_arms, 15), 44)  # pixels
        rows = row * min(n_arms, _MOST_NAMES)
        width, height = 960, 2 * round(rows / 2) + 124  # even, as video encoders need
        return cls(
            width,
            height,
            left=240 / width,
            right=880 / width,
            top=1 - 50 / height,
            bottom=1 - (50 + rows) / height,
            font_size=8 if row < 20 else 10,
        )

    @property
    def axes(self) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of the axes, as Matplotlib takes them."""
        return self.left, self.bottom, self.right - self.left, self.top - self.bottom

    @property
    def counts_end(self) -> float:
        """The right end of the column of counts, as a share of the width."""
        return 955 / self.width


def _style_axes(axes: Any, scene: Scene, named: Sequence[int], font_size: int) -> None:
    """Set limits, grid and labels of the axes, with one row for each arm."""
    axes.set(xlim=scene.reward_bounds, ylim=(len(scene.names) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0, pad=14, labelsize=font_size)
    names = [scene.names[arm] for arm in named]
    axes.set_yticks(named, [drawn(name) for name in names])
    labels = zip(axes.get_yticklabels(), names, strict=True)
    axes.set_yticklabels([_fitting(label, name) for label, name in labels])
    axes.tick_params(axis="x", labelsize=9)
    unit = "" if scene.unit == "reward" else f" ({drawn(scene.unit, most=_UNIT_WIDTH)})"
    axes.set_xlabel(f"mean reward{unit}, with 95 % interval", fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _add_captions(figure: Any, layout: _Layout) -> Any:
    """Add the legend and the title of the counts; return the headline, which is empty."""
    left, top, height = layout.left, layout.top, layout.height
    legend = "blue: empirically competitive; pale: few pulls"
    figure.text(left, 12 / height, legend, fontsize=9, color=_COMPETITIVE)
    style = {"ha": "right", "fontsize": layout.font_size, "color": "#666666"}
    figure.text(layout.counts_end, top + 8 / height, "pulls", **style)
    return figure.text(left, top + 18 / height, "", fontsize=11, fontweight="bold")


def _add_counts(axes: Any, named: Sequence[int], layout: _Layout) -> dict[int, Any]:
    """Add an empty text for the pulls of each named arm, right of the axes."""
    edge = (layout.counts_end - layout.left) / (layout.right - layout.left)
    style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": layout.font_size}
    style["transform"] = axes.get_yaxis_transform()
    return {arm: axes.text(edge, arm, "", **style) for arm in named}


def _bar_colors(scene: Scene) -> FloatArray:
    """Return the colour of each arm's bar, paler for a wider interval, float64 (K, 3)."""
    from matplotlib.colors import to_rgb

    left, right = scene.reward_bounds
    certainty = 1 - (scene.high - scene.low) / ((right - left) or 1.0)
    strength = (_PALEST + (1 - _PALEST) * certainty)[:, None]
    colors = np.where(scene.competitive[:, None], to_rgb(_COMPETITIVE), to_rgb(_RULED_OUT))
    blended: FloatArray = 1 - strength * (1 - colors)
    return blended


def _boxes(arms: IntArray, left: float, right: FloatArray, half: float) -> FloatArray:
    """Return the corners of horizontal bars, float64 (n, 4, 2)."""
    start = np.full(arms.size, left)
    x = np.stack([start, right, right, start], axis=1)
    y = np.stack([arms - half, arms - half, arms + half, arms + half], axis=1)
    return np.stack([x, y], axis=2)


def _whiskers(arms: IntArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the lines of n horizontal intervals with a stroke at each end, (3 n, 2, 2)."""
    x = np.stack([[low, high], [low, low], [high, high]])
    y = np.stack([[arms, arms], [arms - 0.2, arms + 0.2], [arms - 0.2, arms + 0.2]])
    lines: FloatArray = np.stack([x, y], axis=2).transpose(0, 3, 1, 2).reshape(-1, 2, 2)
    return lines


def _fitting(label: Any, name: str) -> str:
    """Shorten an arm's name to the room that it has; `label` shows it in full."""
    share = min(_NAME_WIDTH / max(label.get_window_extent().width, 1), 1)
    return drawn(name, most=int(display_width(name) * share))
