"""Rendering of environments: a table of the arms, a picture of them, or a window."""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium as gym
import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.envs.picture import Picture
from cmab_gym.envs.scene import NAME_WIDTH, Scene, intervals, table
from cmab_gym.history import CorrelatedHistory
from cmab_gym.models.base import BanditModel
from cmab_gym.problem import scale_of
from cmab_gym.text import shown, write

FRAMES_PER_SECOND = 30


def checked_render_mode(env: Any, render_mode: str | None) -> str | None:
    """Return a render mode of the environment, or None.

    Raises:
        ValueError: the environment has no such mode.
    """
    if render_mode is None:
        return None
    return checks.choice("render_mode", render_mode, env.metadata["render_modes"])


def warn_of_missing_render_mode(env: Any) -> None:
    """Warn that `render` was called on an environment that was made without a render mode."""
    gym.logger.warn(
        f"render() of {env} without a render mode: expected one of "
        f"{env.metadata['render_modes']}; pass it to gym.make, as render_mode='rgb_array'"
    )


class Screen:
    """Records B trials of a bandit and shows them.

    Args:
        model: the bandit.
        horizon: rounds of an episode.
        trials: B.
    """

    def __init__(self, model: BanditModel, horizon: int, trials: int = 1) -> None:
        self._model, self._horizon, self._trials = model, horizon, trials
        self._names = tuple(shown(name, most=NAME_WIDTH) for name in model.arm_names)
        self._picture: Picture | None = None
        self._window: Window | None = None
        self.begin()

    def begin(self) -> None:
        """Begin new episodes: forget the recorded rounds."""
        self._history = CorrelatedHistory(self._model.problem, self._trials)
        self._regret: FloatArray = np.zeros(self._trials)

    def update(self, arms: IntArray, rewards: FloatArray) -> None:
        """Add a round: arms and their rewards, each (B,)."""
        self._history.update(arms, rewards)
        self._regret += self._model.gaps[arms]

    def scene(self, trial: int) -> Scene:
        """Return the current scene of a trial."""
        history, bounds = self._history, self._model.problem.reward_bounds
        pulls, means = history.pulls[trial], history.means[trial]
        low, high = intervals(pulls, means, bounds, scale_of(None, self._model.problem))
        return Scene(
            self._names,
            self._model.reward_unit,
            bounds,
            pulls.copy(),
            np.where(pulls > 0, means, np.nan),
            low,
            high,
            history.competitive[trial],
            int(history.last_arm[trial]),
            history.t,
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
        # A copy draws its own picture and opens its own window.
        return {**self.__dict__, "_picture": None, "_window": None}


class Window:
    """A window that shows scenes as pictures, or a terminal that shows them as tables.

    The window needs pygame and a display. Without them, as on a server, the scenes are printed.

    Args:
        frames_per_second: the most scenes shown in a second.
    """

    def __init__(self, frames_per_second: int) -> None:
        self._pace = 1 / frames_per_second
        self._next = time.monotonic()
        self._pygame = pygame_with_a_display()
        self._surface: Any = None

    def show(self, scene: Scene, picture: Picture) -> None:
        """Show a scene, and wait until the next one may be shown."""
        if self._pygame is None:
            write(table(scene))
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
    """Return pygame with its display initialised; None without pygame or without a display."""
    try:
        import pygame
    except ImportError:
        return None
    try:
        pygame.display.init()
    except pygame.error:
        return None
    # Without a display, SDL falls back on its driver "offscreen"; a user may also ask for it.
    if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
        pygame.display.quit()
        return None
    return pygame
