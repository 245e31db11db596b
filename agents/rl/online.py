"""`ppo`, `a2c`, `dqn`: agents that learn while their regret counts, one new learner a trial."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
from numpy.random import Generator

from cmab_gym import checks
from cmab_gym.agents.one_trial import Copies
from cmab_gym.agents.rl.extra import stable_baselines3
from cmab_gym.agents.rl.learner import Learner, MakeModel
from cmab_gym.agents.rl.settings import TUNED
from cmab_gym.features import scaled_rewards
from cmab_gym.problem import BanditProblem

# Decided here: they say where the algorithm plays, and who sees what it does.
_OURS = ("policy", "env", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model")


class OnlineTrial:
    """One trial of an algorithm that learns while it plays.

    Args:
        make: makes the algorithm's model on an environment.
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
            raise ValueError(f"update() of arm {arm}: expected {self._arm}, which act() chose")
        self._reward = float(scaled_rewards(reward, self._bounds))


class OnlineAgent(Copies):
    """An algorithm of stable-baselines3 that learns while its regret counts.

    Every trial has a new model. It sees a constant, as a bandit has no state, and rewards scaled
    to [0, 1] by the problem's bounds.

    Args:
        settings: "tuned", those of `cmab_gym.agents.rl.settings`; or "default", those of
            stable-baselines3.
        horizon: rounds of a trial, for schedules, such as that of DQN's exploration.
        changes: keywords of the algorithm in stable-baselines3, to win over the settings.

    Raises:
        ValueError: stable-baselines3 is not installed, or has no such keyword.
    """

    algorithm: ClassVar[str]

    def __init__(self, settings: str = "tuned", horizon: int = 5000, **changes: Any) -> None:
        cls = getattr(stable_baselines3(), self.algorithm)
        checks.choice("settings", settings, ("tuned", "default"))
        horizon = checks.whole_number("horizon", horizon, 1)
        known = [name for name in inspect.signature(cls).parameters if name not in _OURS]
        for name in changes:
            if name not in known:
                raise ValueError(checks.unknown(f"setting of {self.algorithm}", name, known))
        tuned = TUNED[self.algorithm] if settings == "tuned" else {}
        if "batch_size" in known and "n_steps" in changes and "n_steps" in tuned:
            tuned = {**tuned, "batch_size": changes["n_steps"]}  # PPO's batch is a whole rollout
        self.settings = {**tuned, **changes}
        given = {"settings": settings, "horizon": horizon, **changes}
        self._described = ", ".join(f"{key}={value!r}" for key, value in given.items())
        super().__init__(partial(OnlineTrial, partial(_model, cls, self.settings), horizon))

    def __repr__(self) -> str:
        return f"{self.algorithm}({self._described})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave the trials out: a copy begins its own."""
        return {key: value for key, value in vars(self).items() if key != "_copies"}


class PPO(OnlineAgent):
    """Proximal policy optimization, learning while it plays (stable-baselines3).

    Source: Schulman et al. (2017).
    """

    algorithm = "PPO"


class A2C(OnlineAgent):
    """Advantage actor-critic, learning while it plays (stable-baselines3).

    Source: Mnih et al. (2016).
    """

    algorithm = "A2C"


class DQN(OnlineAgent):
    """Deep Q-network, epsilon-greedy, learning while it plays (stable-baselines3).

    Source: Mnih et al. (2015).
    """

    algorithm = "DQN"


def _model(cls: Any, settings: dict[str, Any], env: gym.Env[Any, Any]) -> Any:
    """Make a model that neither prints nor writes."""
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.vec_env import DummyVecEnv

    model = cls("MlpPolicy", DummyVecEnv([lambda: env]), device="cpu", **settings)
    model.set_logger(Logger(None, []))
    return model
