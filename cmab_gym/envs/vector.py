"""`BanditVectorEnv`: many trials of any `BanditModel` as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab_gym.envs.family import HORIZON, build_model, with_defaults
from cmab_gym.envs.info import (
    NO_JOINT_OUTCOME,
    STEP_INFO,
    Info,
    StepInfo,
    repeated,
    reset_info,
    with_masks,
)
from cmab_gym.envs.observer import RoundObserver
from cmab_gym.envs.rendering import (
    FRAMES_PER_SECOND,
    Screen,
    checked_render_mode,
    warn_of_missing_render_mode,
)
from cmab_gym.late_rewards import Arrivals
from cmab_gym.models.base import BanditModel
from cmab_gym.models.draws import (
    DRAW_KINDS,
    DrawKind,
    JointOutcomes,
    RewardSource,
    reward_source_of,
)
from cmab_gym.problem import BanditProblem
from cmab_gym.state import Stateful
from cmab_gym.streams import environment_generator

AUTORESET = ("NextStep", "SameStep", "Disabled")
# Gymnasium 1.0 has no enumeration of the autoreset modes; its only mode is NEXT_STEP.
_AUTORESET = getattr(gym.vector, "AutoresetMode", None)


class BanditVectorEnv(VectorEnv[IntArray, IntArray, AnyArray], Stateful):
    """Many independent trials of one correlated bandit in lockstep.

    Sub-environment i with seed s gives the same rewards as `BanditEnv` with seed s. All episodes
    end in the same step. The next ones begin as in Gymnasium's `SyncVectorEnv`:

    - autoreset mode NEXT_STEP: the step after the end begins them. It plays no round: its rewards
      are 0, and its info is that of `reset`;
    - SAME_STEP: the last step begins them. Its info is that of `reset`; final_obs and final_info
      hold the last observations and info of the episodes that ended;
    - DISABLED: `reset` begins them, all together.

    Every info has the keys of `step`, with the same dtypes. Where no round was played, their masks
    (`_regret` and so on) are False, reward_index is -1, and the other values are 0.

    Args:
        num_envs: number of trials, 1 or more.
        horizon, step_info, draws, env_kwargs: as in `BanditEnv`.
        render_mode: as in `BanditEnv`, without "human"; Gymnasium's vector wrapper `HumanRendering`
            shows the pictures of "rgb_array" (needs OpenCV).
        autoreset_mode: "NextStep", "SameStep" or "Disabled", or that member of
            `gymnasium.vector.AutoresetMode` (which Gymnasium 1.0 does not have; its own wrappers
            expect NEXT_STEP).

    Attributes:
        model, problem: as in `BanditEnv`.
        env_kwargs: all keyword arguments of the family, including the defaults of those not given.
        observers, arrivals: as in `BanditEnv`.

    Raises:
        ValueError: an argument is unknown or out of range.

    Examples:
        >>> import gymnasium as gym
        >>> import numpy as np
        >>> import cmab_gym
        >>> envs = gym.make_vec("CMAB-Tabular-v0", num_envs=3)  # gaps 0 and 0.2
        >>> observations, info = envs.reset(seed=0)
        >>> info["pseudo_rewards"].shape
        (3, 2, 2, 2)
        >>> observations, rewards, _, _, info = envs.step(np.array([0, 1, 1]))
        >>> info["regret"].round(1)
        array([0. , 0.2, 0.2])
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (each instance has its own)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }
    build_model: ClassVar[Callable[..., BanditModel]]
    # True in a class that overrides nothing but `build_model`: see `evaluation.playing.compiled`.
    compiled_loop: ClassVar[bool] = False
    _changing = ("_round", "_round_played", "_regret", "_reward_source")

    def __init__(
        self,
        num_envs: int = 1,
        horizon: int = HORIZON,
        step_info: StepInfo = "row",
        render_mode: str | None = None,
        autoreset_mode: Any = "NextStep",
        draws: DrawKind = "rounds",
        **env_kwargs: Any,
    ) -> None:
        self.num_envs = checks.whole_number("num_envs", num_envs, 1)
        self.horizon = checks.whole_number("horizon", horizon, 1)
        self.step_info = checks.choice("step_info", step_info, STEP_INFO)
        self.draws = checks.choice("draws", draws, DRAW_KINDS)
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        self.autoreset_mode = checks.choice("autoreset_mode", mode, AUTORESET)
        self.metadata = dict(self.metadata)
        if _AUTORESET is not None:
            self.metadata["autoreset_mode"] = _AUTORESET(self.autoreset_mode)
        self.model = build_model(type(self), env_kwargs)
        self.env_kwargs = with_defaults(type(self), env_kwargs)
        self.single_action_space = spaces.Discrete(self.model.n_arms)
        self.single_observation_space = spaces.Discrete(1)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._gaps = self.model.gaps
        self._all = np.ones(self.num_envs, np.bool_)
        if self.step_info == "table":
            self.problem.rows.table("step_info='table'")
        self._generators: tuple[Generator, ...] = ()
        self._seeds: tuple[int | None, ...] = ()
        self._reward_source: RewardSource | None = None
        self._round = -1
        self._round_played = False
        self.render_mode = checked_render_mode(self, render_mode)
        self._screen = Screen(self.model, self.horizon, self.num_envs) if self.render_mode else None
        self.arrivals = Arrivals()
        self.observers: list[RoundObserver] = [self._screen] if self._screen is not None else []

    @property
    def problem(self) -> BanditProblem:
        """What a player may know."""
        return self.model.problem

    @property  # type: ignore[misc]
    def np_random(self) -> Any:
        """The generators behind the rewards, one for each sub-environment."""
        return self._generators

    @property
    def np_random_seed(self) -> Any:
        """The seeds of the sub-environments; None where the system chose one."""
        return self._seeds

    @property
    def reward_source(self) -> RewardSource:
        """The rewards of the next rounds.

        Raises:
            gymnasium.error.ResetNeeded: `reset` was never called.
        """
        if self._reward_source is None:
            raise gym.error.ResetNeeded("no episode is running: call reset() first")
        return self._reward_source

    @property
    def round_rewards(self) -> FloatArray:
        """The reward of every arm in the last round, float64 (num_envs, K).

        Raises:
            ValueError: rewards are drawn by pulls.
            gymnasium.error.ResetNeeded: the last step played no round.
        """
        source = self._reward_source
        if self.draws != "rounds":
            raise ValueError(NO_JOINT_OUTCOME)
        if not self._round_played or not isinstance(source, JointOutcomes):
            raise gym.error.ResetNeeded("the last step played no round: call step() first")
        return source.of_all_arms()

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[IntArray, Info]:
        """Begin an episode in every sub-environment.

        Args:
            seed: an integer s for the seeds s, s + 1, ...; or one for each sub-environment; None
                continues the reward streams.
            options: {"info": False} returns an empty info, which saves memory: with many arms the
                info's copies of the table are larger than everything else. "reset_mask" must be
                True for every sub-environment. Other options are ignored.

        Raises:
            ValueError: there is not one seed for each sub-environment, or reset_mask is not True
                for each.
        """
        everywhere = np.ones(self.num_envs, np.bool_)
        if options and not np.array_equal(options.get("reset_mask", everywhere), everywhere):
            raise ValueError(
                f"reset_mask={options['reset_mask']}: expected True for each of the "
                f"{self.num_envs} sub-environments, since their episodes run in lockstep, in the "
                "same round; leave it out, or make the environment with "
                'vectorization_mode="sync"'
            )
        self._seed(seed)
        self._round_played = False
        self._begin_episode()
        wanted = options is None or options.get("info", True)
        return self._observation(), self._reset_info() if wanted else {}

    def step(self, actions: IntArray) -> tuple[IntArray, FloatArray, BoolArray, BoolArray, Info]:
        """Pull an arm in each sub-environment.

        Args:
            actions: int64 (num_envs,).

        Raises:
            ValueError: the actions are not arms.
            gymnasium.error.ResetNeeded: `reset` was never called; or the episodes are over, in
                autoreset mode DISABLED.
        """
        arms = checks.arms_in_range("actions", actions, self.num_envs, self.model.n_arms)
        source = self.reward_source
        if self._round == self.horizon and self.autoreset_mode == "Disabled":
            raise gym.error.ResetNeeded(
                f"the episodes are over (horizon={self.horizon}): call reset() before step()"
            )
        self._round_played = self._round < self.horizon
        if self._round_played:
            rewards, info = self._play(source, arms)
        else:
            self._begin_episode()
            rewards, info = np.zeros(self.num_envs), self._info_without_a_round()
        over = np.full(self.num_envs, self._round == self.horizon)
        if self._round == self.horizon and self.autoreset_mode == "SameStep":
            self._begin_episode()
            info = {**self._info_without_a_round(), **self._final(info)}
        return self._observation(), rewards, over, np.zeros(self.num_envs, np.bool_), info

    def render(self) -> tuple[Any, ...] | None:
        """Show the episode of each sub-environment so far: see `BanditEnv.render`."""
        if self._screen is None:
            warn_of_missing_render_mode(self)
            return None
        return tuple(self._screen.frame(i, self.render_mode) for i in range(self.num_envs))

    def _play(self, source: RewardSource, arms: IntArray) -> tuple[FloatArray, Info]:
        rewards, reward_index = source.take(arms)
        self._round += 1
        self._regret += self._gaps[arms]
        info: Info = {"reward_index": reward_index, "regret": self._regret.copy()}
        if self.step_info != "none":
            info["pseudo_reward"] = self.problem.rows.of_each(arms, reward_index)
        if self.step_info == "table":
            info["pseudo_rewards"] = repeated(self.problem.pseudo_rewards, self.num_envs)
        for observer in self.observers:
            observer.update(arms, rewards)
        return rewards, with_masks(info, self._all)

    def _info_without_a_round(self) -> Info:
        """Return the info of `reset`, and the keys of `step` with masks that are False."""
        empty: Info = {
            "reward_index": np.full(self.num_envs, -1),
            "regret": np.zeros(self.num_envs),
        }
        if self.step_info != "none":
            empty["pseudo_reward"] = np.zeros((self.num_envs, self.model.n_arms))
        return {**with_masks(empty, ~self._all), **self._reset_info()}

    def _final(self, info: Info) -> Info:
        """Return what SAME_STEP adds at the end, in the layout of `SyncVectorEnv`."""
        final_obs = np.empty(self.num_envs, dtype=object)
        final_obs[:] = list(self._observation())
        return with_masks({"final_obs": final_obs, "final_info": info}, self._all)

    def _reset_info(self) -> Info:
        return with_masks(reset_info(self.problem, self.num_envs), self._all)

    def _seed(self, seed: int | Sequence[int] | None) -> None:
        if seed is None and self._reward_source is not None:
            return
        seeds: list[int | None] = [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray) and np.ndim(seed) > 0:
            if len(seed) != self.num_envs or None in seed:
                raise ValueError(
                    f"seed={seed!r}: expected one seed for each of {self.num_envs} "
                    "sub-environments, a single integer, or None"
                )
            seeds = [checks.whole_number(f"seed[{i}]", each, 0) for i, each in enumerate(seed)]
        elif seed is not None:
            first = checks.whole_number("seed", seed, 0, "or pass one for each sub-environment")
            seeds = [first + i for i in range(self.num_envs)]
        self._seeds = tuple(seeds)
        self._generators = tuple(environment_generator(each) for each in seeds)
        self._reward_source = reward_source_of(self.model, self.draws, self._generators)

    def _begin_episode(self) -> None:
        self._round = 0
        self._regret = np.zeros(self.num_envs)
        for observer in self.observers:
            observer.begin()

    def _observation(self) -> IntArray:
        return np.zeros(self.num_envs, dtype=np.int64)
