"""`ppo`, `a2c`, `dqn`: agents that learn while they play, with a new model in each trial."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.agents.one_trial import Copies
from cmab_gym.agents.rl.extra import stable_baselines3
from cmab_gym.agents.rl.learner import Learner, MakeModel
from cmab_gym.agents.rl.settings import TUNED, check_names
from cmab_gym.problem import BanditProblem, scaled_rewards


class OnlineTrial:
    """One trial of an algorithm that learns while it plays.

    Args:
        make: function of an environment that makes the algorithm's model.
        horizon: rounds of a trial, for the algorithm's schedules.
    """

    def __init__(self, make: MakeModel, horizon: int) -> None:
        self._make, self._horizon = make, horizon

    def reset(self, problem: BanditProblem, rng: Generator) -> None:
        """Begin a trial with a new model."""
        self._bounds = problem.reward_bounds
        seed = int(rng.integers(2**32))
        self._learner = Learner(self._make, problem.n_arms, self._horizon, seed)
        self._arm, self._reward = -1, 0.0

    def act(self) -> int:
        """Learn from the last reward, and choose an arm."""
        self._arm = self._learner.next_arm(self._reward)
        return self._arm

    def update(self, arm: int, reward: float) -> None:
        """Keep the reward for the next `act()`, scaled to [0, 1].

        Raises:
            ValueError: the arm is not the one that act() chose.
        """
        if arm != self._arm:
            raise ValueError(f"update() with arm {arm}: expected {self._arm}, the arm of act()")
        self._reward = float(scaled_rewards(reward, self._bounds))


class OnlineAgent(Copies):
    """An algorithm of stable-baselines3 that learns while it plays.

    Every trial has a new model. Its observation is constant, since a bandit has no state, and its
    rewards are scaled to [0, 1] by the problem's bounds.

    Args:
        settings: "tuned", the values in `cmab_gym.agents.rl.settings`; or "default", those of
            stable-baselines3.
        horizon: rounds of a trial, for schedules such as that of DQN's exploration. An evaluation
            does not change it.
        overrides: keyword arguments of the algorithm's class in stable-baselines3, which override
            the settings.

    Attributes:
        keyword_arguments: dict of those in use.
        extra: the optional dependencies of this package that the agent needs.

    Raises:
        ValueError: stable-baselines3 is not installed, or an argument is unknown or out of range.
    """

    algorithm: ClassVar[str]
    extra: ClassVar[str] = "rl"
    needs_rewards_at_once: ClassVar[bool] = True

    def __init__(self, settings: str = "tuned", horizon: int = 5000, **overrides: Any) -> None:
        algorithm_class = getattr(stable_baselines3(), self.algorithm)
        checks.choice("settings", settings, ("tuned", "default"))
        horizon = checks.whole_number("horizon", horizon, 1)
        check_names(algorithm_class, overrides)
        tuned = TUNED[self.algorithm] if settings == "tuned" else {}
        if "n_steps" in overrides and {"n_steps", "batch_size"} <= tuned.keys():
            tuned = {**tuned, "batch_size": overrides["n_steps"]}  # PPO's batch is a whole rollout
        self.keyword_arguments = {**tuned, **overrides}
        given = {"settings": settings, "horizon": horizon, **overrides}
        self._described = ", ".join(f"{key}={value!r}" for key, value in given.items())
        make = partial(_model, algorithm_class, self.keyword_arguments)
        super().__init__(partial(OnlineTrial, make, horizon))

    def __repr__(self) -> str:
        return f"{self.algorithm}({self._described})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the running trials: a copy starts its own."""
        return {key: value for key, value in vars(self).items() if key != "_copies"}


class PPO(OnlineAgent):
    """Proximal policy optimization that learns while it plays (stable-baselines3).

    Source: Schulman et al. (2017).
    """

    algorithm = "PPO"


class A2C(OnlineAgent):
    """Advantage actor-critic that learns while it plays (stable-baselines3).

    Source: Mnih et al. (2016).
    """

    algorithm = "A2C"


class DQN(OnlineAgent):
    """Epsilon-greedy deep Q-network that learns while it plays (stable-baselines3).

    Source: Mnih et al. (2015).
    """

    algorithm = "DQN"


def _model(algorithm_class: Any, keyword_arguments: dict[str, Any], env: gym.Env[Any, Any]) -> Any:
    """Make a model that prints and writes nothing."""
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import DummyVecEnv

    vec_env = DummyVecEnv([lambda: env])
    model = algorithm_class("MlpPolicy", vec_env, device="cpu", **keyword_arguments)
    model.set_logger(Logger(None, []))
    return model
