"""`Learner`: runs stable-baselines3's `learn()` one round at a time.

`learn()` calls `env.step(action)` and needs the reward at once; the evaluation calls `act()` and,
later, `update()`. So `learn()` runs in a separate thread, on an environment whose `step` passes the
action to the main thread and waits for the reward. Only one of the two threads runs at any time.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from cmab_gym.agents.rl.random_state import GlobalRandomState

MakeModel: TypeAlias = Callable[[gym.Env[Any, Any]], Any]


class Learner:
    """A model of stable-baselines3 that learns while it plays.

    The learner's thread ends when the learner is deleted or closed, when the model raises an error,
    or when Python ends.

    Args:
        make: function of an environment that makes the model; called in the learner's thread.
        n_arms: K.
        horizon: rounds of a trial, for the model's schedules. A longer trial continues with another
            `learn()` of the same model.
        seed: 0 or more; decides everything random.
    """

    def __init__(self, make: MakeModel, n_arms: int, horizon: int, seed: int) -> None:
        import torch

        # The learner's thread sets its number of torch threads to 1, and with it the default of
        # new threads, which is restored below.
        threads = torch.get_num_threads()
        self._random_state = GlobalRandomState(seed)
        self._env = _ExchangeEnv(n_arms)
        self._env.action_space.seed(seed)
        # The thread must not refer to the learner, which could then never be deleted.
        thread = threading.Thread(
            target=_learn, args=(self._env, make, horizon), name="Learner", daemon=True
        )
        thread.start()
        self.close = weakref.finalize(self, _end, self._env, thread)
        self._env.players_turn.acquire()  # wait until the thread is ready
        torch.set_num_threads(threads)

    def next_arm(self, reward: float) -> int:
        """Let the model learn from the reward of its last arm and choose the next arm.

        Args:
            reward: the last arm's reward; ignored before the first arm.

        Raises:
            RuntimeError: the learner has ended.
            BaseException: any error of the model; it ends the learner.
        """
        if not self.close.alive:
            raise RuntimeError("this learner has ended: begin a new trial with reset()")
        with self._random_state.in_use():
            try:
                return self._env.next_action(reward)
            except BaseException:
                # After Ctrl-C the model still runs: end it before the user's state is restored.
                self.close()
                raise


class _ExchangeEnv(gym.Env[np.int64, np.int64]):
    """An endless bandit that exchanges actions for rewards with another thread.

    Args:
        n_arms: K.
    """

    def __init__(self, n_arms: int) -> None:
        self.action_space = gym.spaces.Discrete(n_arms)
        self.observation_space = gym.spaces.Discrete(1)
        self.stopped = False
        self.error: BaseException | None = None
        self._action, self._reward = 0, 0.0
        self.players_turn, self.learners_turn = threading.Semaphore(0), threading.Semaphore(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Return the only observation; there is no state to reset."""
        return np.int64(0), {}

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Pass an action to the player and wait for its reward; for the learner's thread."""
        self._action = int(action)
        self.players_turn.release()
        self.wait()
        return np.int64(0), self._reward, False, False, {}

    def wait(self) -> None:
        """Wait for the learner's turn.

        Raises:
            _Stopped: the learner was closed.
        """
        self.learners_turn.acquire()
        if self.stopped:
            raise _Stopped

    def next_action(self, reward: float) -> int:
        """Pass a reward to the learner and wait for its next action; for the player's thread.

        Raises:
            BaseException: any error of the learner.
        """
        self._reward = reward
        self.learners_turn.release()
        self.players_turn.acquire()
        if self.error is not None:
            try:
                raise self.error
            finally:
                self.error = None  # its traceback refers to this object: break the cycle
        return self._action


class _Stopped(BaseException):
    """Ends `learn()`. It is not an `Exception`, so that no handler of those catches it."""


def _learn(env: _ExchangeEnv, make: MakeModel, horizon: int) -> None:
    """Learn until stopped."""
    import torch

    # One thread: networks this small are slower on several, and evaluations use the other cores.
    # The first call makes the thread read the default, which would otherwise overwrite the 1 later.
    torch.get_num_threads()
    torch.set_num_threads(1)
    env.players_turn.release()
    try:
        env.wait()
        model = make(env)
        while True:
            model.learn(horizon, log_interval=None, reset_num_timesteps=False)
    except _Stopped:
        pass
    except BaseException as error:
        env.error = error
    finally:
        env.players_turn.release()


def _end(env: _ExchangeEnv, thread: threading.Thread) -> None:
    env.stopped = True
    env.learners_turn.release()
    thread.join()
