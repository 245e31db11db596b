"""`BanditEnv` and `BanditVectorEnv`: any `BanditModel` as a Gymnasium environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab_gym.models.base import ROUNDS_PER_DRAW, BanditModel
from cmab_gym.problem import BanditProblem
from cmab_gym.streams import RoundStream

Info: TypeAlias = dict[str, Any]
StepInfo: TypeAlias = Literal["row", "table", "none"]
STEP_INFO = ("row", "table", "none")
HORIZON = 5000
# Gymnasium 1.0 has no names for the autoreset modes; NEXT_STEP is the only one there.
_AUTORESET = getattr(gym.vector, "AutoresetMode", None)


class BanditEnv(gym.Env[np.int64, np.int64]):
    """One trial of a correlated bandit; an episode is a run of `horizon` rounds.

    A family of environments is a subclass with one hook, `build_model`, which takes the family's
    keywords.

    Args:
        horizon: rounds of an episode, 1 or more.
        step_info: what `step` puts into the info: "row", the pseudo-rewards of the pull; "table",
            the whole table too; "none", only index and regret.
        render_mode: None; there is nothing to render yet.
        settings: the family's keywords.

    Attributes:
        model: how rewards are drawn. Knows the means: not for players.
        problem: what a player may know.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]
    build_model: ClassVar[Callable[..., BanditModel]]

    def __init__(
        self,
        horizon: int = HORIZON,
        step_info: StepInfo = "row",
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        self.horizon = checks.whole_number("horizon", horizon, 1)
        self.step_info = checks.choice("step_info", step_info, STEP_INFO)
        self.render_mode = render_mode
        self.model = _build(type(self), settings)
        self.action_space = spaces.Discrete(self.model.n_arms)
        self.observation_space = spaces.Discrete(1)
        self._gaps = self.model.gaps.tolist()
        self._every_arm = np.arange(self.model.n_arms)[None, :]
        self._round = self.horizon
        self._regret = 0.0
        self._start_stream()

    @property
    def problem(self) -> BanditProblem:
        """What a player may know, as `BanditProblem.from_info` reads it, without a copy."""
        return self.model.problem

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, Info]:
        """Begin an episode; a seed starts the reward stream anew, none continues it."""
        super().reset(seed=seed)
        if seed is not None:
            self._start_stream()
        self._round = 0
        self._regret = 0.0
        return np.int64(0), reset_info(self.problem)

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, Info]:
        """Pull an arm.

        Raises:
            ValueError: the action is not an arm.
            gymnasium.error.ResetNeeded: the episode is over, or has not begun.
        """
        if not self.action_space.contains(action):
            raise ValueError(
                f"arm {action!r}: expected an integer from 0 to {self.model.n_arms - 1}"
            )
        if self._round >= self.horizon:
            raise gym.error.ResetNeeded(
                f"no episode is running (horizon={self.horizon}): call reset() before step()"
            )
        if self._next == ROUNDS_PER_DRAW:
            self._draw()
        arm = int(action)
        reward = float(self._rewards[self._next, arm])
        index = self._index[self._next, arm]
        self._next += 1
        self._round += 1
        self._regret += self._gaps[arm]
        info: Info = {"reward_index": index, "regret": self._regret}
        if self.step_info != "none":
            info["pseudo_reward"] = self.problem.pseudo_rewards[:, arm, index].copy()
        if self.step_info == "table":
            info["pseudo_rewards"] = self.problem.pseudo_rewards.copy()
        return np.int64(0), reward, self._round == self.horizon, False, info

    def _start_stream(self) -> None:
        self._next = ROUNDS_PER_DRAW

    def _draw(self) -> None:
        """Draw a block of rounds, and look up every arm's reward in it at once."""
        outcomes = self.model.draw(self.np_random, ROUNDS_PER_DRAW)
        self._rewards, self._index = self.model.pull(outcomes, self._every_arm)
        self._next = 0


class BanditVectorEnv(VectorEnv[IntArray, IntArray, AnyArray]):
    """Many independent trials of one correlated bandit in lockstep.

    Sub-environment i with seed s gives the same rewards as `BanditEnv` with seed s. All episodes
    end together; the step after the end begins new ones (autoreset mode NEXT_STEP). That step
    plays no round: its rewards are 0, and its info says so by reward_index -1, regret 0,
    pseudo-rewards 0 and masks (`_regret` and so on) that are False.

    Args:
        num_envs: number of trials, 1 or more.
        horizon, step_info, render_mode, settings: as in `BanditEnv`.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": [],
        **({"autoreset_mode": _AUTORESET.NEXT_STEP} if _AUTORESET else {}),
    }
    build_model: ClassVar[Callable[..., BanditModel]]

    def __init__(
        self,
        num_envs: int = 1,
        horizon: int = HORIZON,
        step_info: StepInfo = "row",
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        self.num_envs = checks.whole_number("num_envs", num_envs, 1)
        self.horizon = checks.whole_number("horizon", horizon, 1)
        self.step_info = checks.choice("step_info", step_info, STEP_INFO)
        self.render_mode = render_mode
        self.model = _build(type(self), settings)
        self.settings = _resolved(type(self), settings)
        self.single_action_space = spaces.Discrete(self.model.n_arms)
        self.single_observation_space = spaces.Discrete(1)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._gaps = self.model.gaps
        # One row for each (arm k, reward j), contiguous: what `step` reports of the pulls.
        self._rows = np.ascontiguousarray(self.problem.pseudo_rewards.transpose(1, 2, 0))
        self._stream: RoundStream | None = None
        self._round = -1

    @property
    def problem(self) -> BanditProblem:
        """What a player may know."""
        return self.model.problem

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
            options: ignored.

        Raises:
            ValueError: the number of seeds is not the number of sub-environments.
        """
        self._seed(seed)
        self._begin_episode()
        info = reset_info(self.problem, self.num_envs)
        return self._observation(), {**info, **_masks(info, np.ones(self.num_envs, np.bool_))}

    def step(self, actions: IntArray) -> tuple[IntArray, FloatArray, BoolArray, BoolArray, Info]:
        """Pull an arm in each sub-environment.

        Args:
            actions: int64 (num_envs,).

        Raises:
            ValueError: the actions are not arms.
            gymnasium.error.ResetNeeded: `reset` was never called.
        """
        arms = checks.arms_in_range(actions, (self.num_envs,), self.model.n_arms)
        if self._stream is None:
            raise gym.error.ResetNeeded("no episode is running: call reset() before step()")
        if self._round == self.horizon:
            self._begin_episode()
            return self._step_result(np.zeros(self.num_envs), None, arms)
        outcomes = self._stream.next()
        rewards, index = self.model.pull(outcomes, arms[:, None])
        self._round += 1
        self._regret += self._gaps[arms]
        return self._step_result(rewards[:, 0].copy(), index[:, 0].copy(), arms)

    def _step_result(
        self, rewards: FloatArray, index: IntArray | None, arms: IntArray
    ) -> tuple[IntArray, FloatArray, BoolArray, BoolArray, Info]:
        played = index is not None
        over = np.full(self.num_envs, played and self._round == self.horizon)
        info: Info = {
            "reward_index": np.full(self.num_envs, -1) if index is None else index,
            "regret": self._regret.copy(),
        }
        if self.step_info != "none":
            info["pseudo_reward"] = (
                np.zeros((self.num_envs, self.model.n_arms))
                if index is None
                else self._rows[arms, index]
            )
        if self.step_info == "table":
            info["pseudo_rewards"] = _repeated(self.problem.pseudo_rewards, self.num_envs)
        info.update(_masks(info, np.full(self.num_envs, played)))
        return self._observation(), rewards, over, np.zeros(self.num_envs, np.bool_), info

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
        self._stream = RoundStream(generators, self.model.draw, ROUNDS_PER_DRAW)

    def _begin_episode(self) -> None:
        self._round = 0
        self._regret = np.zeros(self.num_envs)

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


def _masks(info: Info, mask: BoolArray) -> Info:
    return {f"_{key}": mask.copy() for key in info}


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
                checks.unknown(f"keyword of {_family(cls)}", name, [*known, "horizon", "step_info"])
            )
    model: BanditModel = cls.build_model(**settings)
    return model


def _family(cls: Any) -> str:
    return str(cls.__name__).removesuffix("Env").removesuffix("Vector")
