"""`BanditEnv` and `BanditVectorEnv`: any `BanditModel` as a Gymnasium environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab_gym.envs.rendering import Screen
from cmab_gym.models.base import BanditModel
from cmab_gym.problem import BanditProblem, pseudo_reward_rows
from cmab_gym.streams import RoundStream

Info: TypeAlias = dict[str, Any]
StepInfo: TypeAlias = Literal["row", "table", "none"]
STEP_INFO = ("row", "table", "none")
AUTORESET = ("NextStep", "SameStep")
HORIZON = 5000
FRAMES_PER_SECOND = 30
# Gymnasium 1.0 has no names for the autoreset modes; NEXT_STEP is the only one there.
_AUTORESET = getattr(gym.vector, "AutoresetMode", None)
_STATE = np.int64(0)  # the only state of a bandit


class BanditEnv(gym.Env[np.int64, np.int64]):
    """One trial of a correlated bandit; an episode is a run of `horizon` rounds.

    A family of environments is a subclass with one hook, `build_model`, which takes the family's
    keywords.

    Args:
        horizon: rounds of an episode, 1 or more.
        step_info: what `step` puts into the info: "row", the pseudo-rewards of the pull; "table",
            the whole table too; "none", only index and regret.
        render_mode: None; "ansi", a table of the arms; "rgb_array", a picture of them; "human", the
            picture in a window (needs pygame), or the table in the terminal if there is no display.
        settings: the family's keywords.

    Attributes:
        model: how rewards are drawn. Knows the means: not for players.
        problem: what a player may know.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }
    build_model: ClassVar[Callable[..., BanditModel]]
    _next: int  # row of the block of outcomes that the next round takes
    _outcomes: Any  # the block, (rounds_per_draw, W)
    _prepared: Any  # the same, as `pull_one` wants it

    def __init__(
        self,
        horizon: int = HORIZON,
        step_info: StepInfo = "row",
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        self.horizon = checks.whole_number("horizon", horizon, 1)
        self.step_info = checks.choice("step_info", step_info, STEP_INFO)
        self.model = _build(type(self), settings)
        self.action_space = spaces.Discrete(self.model.n_arms)
        self.observation_space = spaces.Discrete(1)
        self._n_arms = self.model.n_arms
        self._rounds_per_draw = self.model.rounds_per_draw
        self._gaps = self.model.gaps.tolist()
        # One array for each (arm k, reward j): what `step` reports of a pull.
        self._rows = [list(rows) for rows in pseudo_reward_rows(self.problem.pseudo_rewards)]
        self._numbers = list(np.arange(self.problem.reward_support.size))  # int64, for the info
        self._round = self.horizon
        self._regret = 0.0
        self._start_stream()
        self.render_mode = _checked_render_mode(self, render_mode)
        self._screen = Screen(self.model, self.horizon) if self.render_mode else None

    @property
    def problem(self) -> BanditProblem:
        """What a player may know, as `BanditProblem.from_info` reads it, without a copy."""
        return self.model.problem

    @property
    def round_rewards(self) -> FloatArray:
        """What every arm gave in the round played last, float64 (K,). Not for bandit players.

        Raises:
            gymnasium.error.ResetNeeded: no round was played yet.
        """
        if self._outcomes is None:
            raise gym.error.ResetNeeded("no round was played yet: call reset() and step() before")
        outcome = self._outcomes[self._next - 1 : self._next]
        rewards: FloatArray = self.model.pull(outcome, np.arange(self._n_arms)[None, :])[0][0]
        return rewards

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, Info]:
        """Begin an episode; a seed starts the reward stream anew, none continues it."""
        super().reset(seed=seed)
        if seed is not None:
            self._start_stream()
        self._round = 0
        self._regret = 0.0
        if self._screen is not None:
            self._screen.begin()
            self._show()
        return _STATE, reset_info(self.problem)

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, Info]:
        """Pull an arm.

        Raises:
            ValueError: the action is not an arm.
            gymnasium.error.ResetNeeded: the episode is over, or has not begun.
        """
        # A quick check: `action_space.contains` would take half of the time of a step.
        try:
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
        row = self._next
        if row == self._rounds_per_draw:
            self._outcomes = self.model.draw(self.np_random, row)
            self._prepared = self.model.prepare(self._outcomes)
            row = 0
        self._next = row + 1
        self._round = round_number
        self._regret = regret = self._regret + self._gaps[arm]
        reward, index = self.model.pull_one(self._prepared, row, arm)
        if self.step_info == "none":
            info: Info = {"reward_index": self._numbers[index], "regret": regret}
        else:
            info = {
                "reward_index": self._numbers[index],
                "regret": regret,
                "pseudo_reward": self._rows[arm][index].copy(),
            }
            if self.step_info == "table":
                info["pseudo_rewards"] = self.problem.pseudo_rewards.copy()
        if self._screen is not None:
            self._screen.update(np.array([arm]), np.array([reward]), np.array([regret]))
            self._show()
        return _STATE, reward, round_number == self.horizon, False, info

    def render(self) -> Any:
        """Show the history of the episode so far.

        Returns:
            In render mode "ansi" text, in "rgb_array" a picture, uint8 (height, width, 3); in
            "human" None, for `reset` and `step` show what is new, up to 30 times a second.
        """
        if self._screen is None:
            return _render_without_a_mode(self)
        if self.render_mode == "human":
            return self._screen.show(0, self.metadata["render_fps"])
        return self._screen.frame(0, self.render_mode)

    def close(self) -> None:
        """Close the window of render mode "human"; the environment may still be used."""
        if self._screen is not None:
            self._screen.close()

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _start_stream(self) -> None:
        self._next = self._rounds_per_draw
        self._outcomes = self._prepared = None


class BanditVectorEnv(VectorEnv[IntArray, IntArray, AnyArray]):
    """Many independent trials of one correlated bandit in lockstep.

    Sub-environment i with seed s gives the same rewards as `BanditEnv` with seed s. All episodes
    end together, and new ones begin by themselves, as in Gymnasium's `SyncVectorEnv`:

    - autoreset mode NEXT_STEP: the step after the end begins them. It plays no round: its rewards
      are 0, and its info is that of `reset`;
    - SAME_STEP: the last step begins them. Its info is that of `reset`, and the last observations
      and info of the episodes that ended are in final_obs and final_info.

    The keys of `step` are in every info, with the same dtype. Where an info says nothing of a round
    the masks (`_regret` and so on) are False, reward_index is -1, and the others are 0.

    Args:
        num_envs: number of trials, 1 or more.
        horizon, step_info, settings: as in `BanditEnv`.
        render_mode: as in `BanditEnv`, but for "human"; Gymnasium's vector `HumanRendering` shows
            the pictures of "rgb_array" (needs OpenCV).
        autoreset_mode: "NextStep" or "SameStep", or that member of `gymnasium.vector.AutoresetMode`
            (which Gymnasium 1.0 does not have: its own wrappers expect NEXT_STEP).

    Attributes:
        model, problem: as in `BanditEnv`.
        round_played: whether the last step played a round.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (each instance has its own)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }
    # Declared by a class that overrides nothing but `build_model`: see `evaluation.whole_rounds`.
    whole_rounds: ClassVar[bool] = False
    build_model: ClassVar[Callable[..., BanditModel]]

    def __init__(
        self,
        num_envs: int = 1,
        horizon: int = HORIZON,
        step_info: StepInfo = "row",
        render_mode: str | None = None,
        autoreset_mode: Any = "NextStep",
        **settings: Any,
    ) -> None:
        self.num_envs = checks.whole_number("num_envs", num_envs, 1)
        self.horizon = checks.whole_number("horizon", horizon, 1)
        self.step_info = checks.choice("step_info", step_info, STEP_INFO)
        mode = getattr(autoreset_mode, "value", autoreset_mode)
        self.autoreset_mode = checks.choice("autoreset_mode", mode, AUTORESET)
        self.metadata = dict(self.metadata)
        if _AUTORESET is not None:
            self.metadata["autoreset_mode"] = _AUTORESET(self.autoreset_mode)
        self.model = _build(type(self), settings)
        self.settings = _resolved(type(self), settings)
        self.single_action_space = spaces.Discrete(self.model.n_arms)
        self.single_observation_space = spaces.Discrete(1)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._gaps = self.model.gaps
        self._all = np.ones(self.num_envs, np.bool_)
        rows = pseudo_reward_rows(self.problem.pseudo_rewards)
        self._n_rewards, self._rows = rows.shape[1], rows.reshape(-1, self.model.n_arms)
        self._stream: RoundStream | None = None
        self._round = -1
        self.round_played = False
        self.render_mode = _checked_render_mode(self, render_mode)
        self._screen = Screen(self.model, self.horizon, self.num_envs) if self.render_mode else None

    @property
    def problem(self) -> BanditProblem:
        """What a player may know."""
        return self.model.problem

    @property
    def reward_stream(self) -> RoundStream:
        """What nature fixes in the rounds that were not played yet, as the model draws it.

        Raises:
            gymnasium.error.ResetNeeded: `reset` was never called.
        """
        if self._stream is None:
            raise gym.error.ResetNeeded("no episode is running: call reset() before")
        return self._stream

    @property
    def round_rewards(self) -> FloatArray:
        """What every arm gave in the round played last, float64 (num_envs, K).

        Raises:
            gymnasium.error.ResetNeeded: the last step played no round.
        """
        if not self.round_played:
            raise gym.error.ResetNeeded("the last step played no round: call step() before")
        return self.model.pull(self._outcomes, np.arange(self.model.n_arms)[None, :])[0]

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[IntArray, Info]:
        """Begin an episode in every sub-environment.

        Args:
            seed: an integer s, for the seeds s, s + 1, ...; or one for each sub-environment; None
                continues the reward streams.
            options: {"info": False} leaves the info empty: with many arms and sub-environments its
                copies of the table take most of the memory. "reset_mask" may not leave a
                sub-environment out. Others are ignored.

        Raises:
            ValueError: the number of seeds is not the number of sub-environments, or a
                sub-environment is left out.
        """
        if options and not np.all(options.get("reset_mask", True)):
            raise ValueError(
                f"reset_mask={options['reset_mask']}: expected True for all, since the episodes "
                "are played in lockstep; leave it out"
            )
        self._seed(seed)
        self.round_played = False
        self._begin_episode()
        wanted = options is None or options.get("info", True)
        return self._observation(), self._reset_info() if wanted else {}

    def step(self, actions: IntArray) -> tuple[IntArray, FloatArray, BoolArray, BoolArray, Info]:
        """Pull an arm in each sub-environment.

        Args:
            actions: int64 (num_envs,).

        Raises:
            ValueError: the actions are not arms.
            gymnasium.error.ResetNeeded: `reset` was never called.
        """
        arms = checks.arms_in_range("actions", actions, self.num_envs, self.model.n_arms)
        if self._stream is None:
            raise gym.error.ResetNeeded("no episode is running: call reset() before step()")
        self.round_played = self._round < self.horizon
        over = np.zeros(self.num_envs, np.bool_)
        if self.round_played:
            rewards, info = self._play(self._stream, arms)
        else:
            self._begin_episode()
            rewards, info = np.zeros(self.num_envs), self._between_episodes()
        if self._round == self.horizon:
            over[:] = True
            if self.autoreset_mode == "SameStep":
                self._begin_episode()
                info = {**self._between_episodes(), **self._final(info)}
        return self._observation(), rewards, over, np.zeros(self.num_envs, np.bool_), info

    def render(self) -> tuple[Any, ...] | None:
        """Show the history of each sub-environment's episode so far, as `BanditEnv.render`."""
        if self._screen is None:
            _render_without_a_mode(self)
            return None
        return tuple(self._screen.frame(i, self.render_mode) for i in range(self.num_envs))

    def _play(self, stream: RoundStream, arms: IntArray) -> tuple[FloatArray, Info]:
        self._outcomes = stream.next()
        all_rewards, all_index = self.model.pull(self._outcomes, arms[:, None])
        rewards, reward_index = all_rewards[:, 0].copy(), all_index[:, 0].copy()
        self._round += 1
        self._regret += self._gaps[arms]
        info: Info = {"reward_index": reward_index, "regret": self._regret.copy()}
        if self.step_info != "none":
            info["pseudo_reward"] = self._rows.take(arms * self._n_rewards + reward_index, axis=0)
        if self.step_info == "table":
            info["pseudo_rewards"] = _repeated(self.problem.pseudo_rewards, self.num_envs)
        if self._screen is not None:
            self._screen.update(arms, rewards, self._regret)
        return rewards, with_masks(info, self._all)

    def _between_episodes(self) -> Info:
        """Return the info of a reset, with the keys of a step that say nothing."""
        nothing: Info = {
            "reward_index": np.full(self.num_envs, -1),
            "regret": np.zeros(self.num_envs),
        }
        if self.step_info != "none":
            nothing["pseudo_reward"] = np.zeros((self.num_envs, self.model.n_arms))
        return {**with_masks(nothing, ~self._all), **self._reset_info()}

    def _final(self, info: Info) -> Info:
        """Return what SAME_STEP adds at the end, as `SyncVectorEnv` lays it out."""
        final_obs = np.empty(self.num_envs, dtype=object)
        final_obs[:] = list(self._observation())
        return with_masks({"final_obs": final_obs, "final_info": info}, self._all)

    def _reset_info(self) -> Info:
        return with_masks(reset_info(self.problem, self.num_envs), self._all)

    def _seed(self, seed: int | Sequence[int] | None) -> None:
        if seed is None and self._stream is not None:
            return
        if seed is None:
            generators = [seeding.np_random()[0] for _ in range(self.num_envs)]
        else:
            if isinstance(seed, int | np.integer):
                super().reset(seed=int(seed))
                seed = [int(seed) + i for i in range(self.num_envs)]
            if len(seed) != self.num_envs or None in seed:
                raise ValueError(
                    f"seed={seed!r}: expected one seed for each of {self.num_envs} "
                    "sub-environments, or a single one, or None"
                )
            generators = [seeding.np_random(int(each))[0] for each in seed]
        self._stream = RoundStream(generators, self.model.draw_trials, self.model.rounds_per_draw)

    def _begin_episode(self) -> None:
        self._round = 0
        self._regret = np.zeros(self.num_envs)
        if self._screen is not None:
            self._screen.begin()

    def _observation(self) -> IntArray:
        return np.zeros(self.num_envs, dtype=np.int64)


def reset_info(problem: BanditProblem, num_envs: int | None = None) -> Info:
    """Return the info of `reset`: fresh copies of what a player may know.

    Keys: pseudo_rewards float64 (K, K, R); reward_support (R,); reward_bounds (2,), low and high;
    where rewards are continuous, reward_edges (R + 1,); where they are known, pseudo_lower_bounds
    (K, K, R). With num_envs, that axis comes first.
    """
    arrays = {
        "pseudo_rewards": problem.pseudo_rewards,
        "reward_support": problem.reward_support,
        "reward_bounds": np.array(problem.reward_bounds),
    }
    if problem.reward_edges is not None:
        arrays["reward_edges"] = problem.reward_edges
    if problem.pseudo_lower_bounds is not None:
        arrays["pseudo_lower_bounds"] = problem.pseudo_lower_bounds
    if num_envs is None:
        return {key: array.copy() for key, array in arrays.items()}
    return {key: _repeated(array, num_envs) for key, array in arrays.items()}


def _repeated(array: FloatArray, times: int) -> FloatArray:
    copies: FloatArray = np.broadcast_to(array, (times, *array.shape)).copy()
    return copies


def with_masks(info: Info, present: BoolArray) -> Info:
    """Add Gymnasium's masks, which say of which sub-environments the info is, (num_envs,)."""
    for key in tuple(info):
        info["_" + key] = present.copy()
    return info


def _checked_render_mode(env: Any, render_mode: str | None) -> str | None:
    if render_mode is None:
        return None
    return checks.choice("render_mode", render_mode, env.metadata["render_modes"])


def _render_without_a_mode(env: Any) -> None:
    gym.logger.warn(
        f"render() of {env} without a render mode: expected one of "
        f"{env.metadata['render_modes']}; pass it to gym.make, as render_mode='rgb_array'"
    )


def _resolved(cls: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Return all keywords of the family, the defaults of those not given included."""
    parameters = inspect.signature(cls.build_model).parameters.values()
    return {each.name: settings.get(each.name, each.default) for each in parameters}


def _build(cls: Any, settings: dict[str, Any]) -> BanditModel:
    """Call the family's hook, with a clear error for a keyword it does not have."""
    known = list(inspect.signature(cls.build_model).parameters)
    for name in settings:
        if name not in known:
            raise ValueError(
                checks.unknown(
                    f"keyword of {_family(cls)}",
                    name,
                    [*known, "horizon", "step_info", "render_mode"],
                )
            )
    model: BanditModel = cls.build_model(**settings)
    return model


def _family(cls: Any) -> str:
    return str(cls.__name__).removesuffix("Env").removesuffix("Vector")
