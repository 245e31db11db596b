"""`BanditEnv`: any `BanditModel` as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from operator import index as as_index
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.envs.family import HORIZON, build_model
from cmab_gym.envs.info import NO_JOINT_OUTCOME, STEP_INFO, Info, StepInfo, reset_info
from cmab_gym.envs.observer import RoundObserver
from cmab_gym.envs.rendering import (
    FRAMES_PER_SECOND,
    Screen,
    checked_render_mode,
    warn_of_missing_render_mode,
)
from cmab_gym.late_rewards import Arrivals
from cmab_gym.models.base import BanditModel
from cmab_gym.models.draws import DRAW_KINDS, DrawKind, RewardSource, reward_source_of
from cmab_gym.problem import BanditProblem
from cmab_gym.rows import DenseRows
from cmab_gym.streams import environment_generator

_STATE = np.int64(0)  # the only state of a bandit


class BanditEnv(gym.Env[np.int64, np.int64]):
    """One trial of a correlated bandit; an episode is `horizon` rounds.

    A family of environments is a subclass with one hook, `build_model`, which takes the family's
    keyword arguments and returns a `BanditModel`.

    Args:
        horizon: rounds of an episode, 1 or more.
        step_info: what `step` adds to reward_index and regret in its info: "row", the
            pseudo-rewards of the pull; "table", the whole table as well; "none", nothing.
        render_mode: None; "ansi", a table of the arms; "rgb_array", a picture of them; "human", the
            picture in a window (needs pygame), or the table in the terminal without a display.
        draws: "rounds": each round has a joint outcome of all arms; or "pulls": the n-th pull of an
            arm gives its n-th reward, as in `evaluate`. A player that sees one arm a round cannot
            tell them apart.
        env_kwargs: the family's keyword arguments.

    Attributes:
        model: how rewards are drawn. It holds the true means, which players must not see.
        problem: what a player may know.
        observers: called in every episode and round: this package's wrappers, and the screen.
        arrivals: when observations show rewards; the wrapper `LateFeedback` sets it.

    Raises:
        ValueError: an argument is unknown or out of range.

    Examples:
        >>> from cmab_gym.envs import BanditEnv
        >>> from cmab_gym.models import TabularModel
        >>> class CoinsEnv(BanditEnv):
        ...     @staticmethod
        ...     def build_model(heads=0.5):
        ...         return TabularModel([[0, 1], [1, 1]], [1 - heads, heads])
        >>> env = CoinsEnv(heads=0.9, horizon=2)
        >>> observation, info = env.reset(seed=0)
        >>> sorted(info)
        ['pseudo_rewards', 'reward_bounds', 'reward_support']
        >>> observation, reward, terminated, truncated, info = env.step(1)
        >>> reward, terminated, truncated
        (1.0, False, False)
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }
    build_model: ClassVar[Callable[..., BanditModel]]
    _next: int  # row of the block of outcomes that the next round takes
    _outcomes: Any  # the block, (rounds_per_draw, W)
    _prepared: Any  # the same, in the form that `pull_one` reads

    def __init__(
        self,
        horizon: int = HORIZON,
        step_info: StepInfo = "row",
        render_mode: str | None = None,
        draws: DrawKind = "rounds",
        **env_kwargs: Any,
    ) -> None:
        self.horizon = checks.whole_number("horizon", horizon, 1)
        self.step_info = checks.choice("step_info", step_info, STEP_INFO)
        self.draws = checks.choice("draws", draws, DRAW_KINDS)
        self.model = build_model(type(self), env_kwargs)
        self.action_space = spaces.Discrete(self.model.n_arms)
        self.observation_space = spaces.Discrete(1)
        self._n_arms = self.model.n_arms
        self._by_pulls = self.draws == "pulls"
        self._rounds_per_draw = self.model.rounds_per_draw
        self._gaps = self.model.gaps.tolist()
        # Lists of arrays, which `step` reads faster than one array: [arm][reward index].
        rows = self.problem.rows
        self._rows = [list(own) for own in rows.rows] if isinstance(rows, DenseRows) else None
        if self.step_info == "table":
            rows.table("step_info='table'")
        self._reward_indices = list(np.arange(self.problem.reward_support.size))
        self._round = self.horizon
        self._regret = 0.0
        self._start_stream()
        self.render_mode = checked_render_mode(self, render_mode)
        self._screen = Screen(self.model, self.horizon) if self.render_mode else None
        self.arrivals = Arrivals()
        self.observers: list[RoundObserver] = [self._screen] if self._screen is not None else []

    @property
    def problem(self) -> BanditProblem:
        """What a player may know: `BanditProblem.from_info(info)`, without a copy."""
        return self.model.problem

    @property
    def round_rewards(self) -> FloatArray:
        """The reward of every arm in the last round, float64 (K,). Not for bandit players.

        Raises:
            ValueError: rewards are drawn by pulls.
            gymnasium.error.ResetNeeded: no round was played yet.
        """
        if self.draws != "rounds":
            raise ValueError(NO_JOINT_OUTCOME)
        if self._outcomes is None or not self._round:
            raise gym.error.ResetNeeded("no round was played yet: call reset() and step() first")
        outcome = self._outcomes[self._next - 1 : self._next]
        rewards: FloatArray = self.model.pull(outcome, np.arange(self._n_arms)[None, :])[0][0]
        return rewards

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, Info]:
        """Begin an episode.

        Args:
            seed: restarts the rewards; None continues them. Their generator, `np_random`, is a
                child of the seed, independent of a player's generator with the same seed.
            options: ignored.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._np_random = environment_generator(seed)
            self._start_stream()
        self._round = 0
        self._regret = 0.0
        for observer in self.observers:
            observer.begin()
        if self.render_mode == "human":
            self.render()
        return _STATE, reset_info(self.problem)

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, Info]:
        """Pull an arm.

        Raises:
            ValueError: the action is not an arm.
            gymnasium.error.ResetNeeded: the episode is over, or has not begun.
        """
        try:  # `action_space.contains` would double the time of a step
            arm = as_index(action)
        except TypeError:
            arm = -1
        if not 0 <= arm < self._n_arms:
            raise ValueError(f"arm {action!r}: expected an integer from 0 to {self._n_arms - 1}")
        round_number = self._round + 1
        if round_number > self.horizon:
            raise gym.error.ResetNeeded(
                f"no episode is running (horizon={self.horizon}): call reset() before step()"
            )
        if self._by_pulls:
            reward, index = self._take(arm)
        else:
            row = self._next
            if row == self._rounds_per_draw:
                self._outcomes = self.model.draw(self.np_random, row)
                self._prepared = self.model.prepare(self._outcomes)
                row = 0
            self._next = row + 1
            reward, index = self.model.pull_one(self._prepared, row, arm)
        self._round = round_number
        self._regret = regret = self._regret + self._gaps[arm]
        info: Info = {"reward_index": self._reward_indices[index], "regret": regret}
        if self.step_info != "none":
            own = self._rows[arm][index] if self._rows else self.problem.rows.of(arm, index)
            info["pseudo_reward"] = own.copy()
            if self.step_info == "table":
                info["pseudo_rewards"] = self.problem.pseudo_rewards.copy()
        if self.observers:
            self._observe(arm, reward)
        return _STATE, reward, round_number == self.horizon, False, info

    def render(self) -> Any:
        """Show the episode so far.

        Returns:
            Text in render mode "ansi"; a picture, uint8 (height, width, 3), in "rgb_array"; None
            in "human", where `reset` and `step` already show each round, up to 30 times a second.
        """
        if self._screen is None:
            return warn_of_missing_render_mode(self)
        if self.render_mode == "human":
            return self._screen.show(0, self.metadata["render_fps"])
        return self._screen.frame(0, self.render_mode)

    def close(self) -> None:
        """Close the window of render mode "human"; the environment can still be used."""
        if self._screen is not None:
            self._screen.close()

    def _observe(self, arm: int, reward: float) -> None:
        """Pass a round to the observers; in mode "human", show it."""
        arms, rewards = np.array([arm]), np.array([reward])
        for observer in self.observers:
            observer.update(arms, rewards)
        if self.render_mode == "human":
            self.render()

    def _start_stream(self) -> None:
        self._next = self._rounds_per_draw
        self._outcomes = self._prepared = None
        self._reward_source: RewardSource | None = None
        self._source_generator: Generator | None = None

    def _take(self, arm: int) -> tuple[float, int]:
        """Take the next reward of an arm, by pulls."""
        if self._reward_source is None or self._source_generator is not self.np_random:
            self._source_generator = self.np_random
            self._reward_source = reward_source_of(self.model, self.draws, [self.np_random])
        reward, index = self._reward_source.take(np.array([arm]))
        return float(reward[0]), int(index[0])
