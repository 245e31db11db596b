"""`Learner`: stable-baselines3's `learn()` turned inside out, so that others decide the rewards.

`learn()` calls `env.step(action)` and wants the reward back; the evaluation calls `act()` and,
later, `update()`. So `learn()` runs in a thread of its own, on an environment whose `step` hands
the action over and waits for the reward. One of the two threads runs at any time, never both.
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

    Its thread ends when the learner is dropped or closed, when it raises an error, and at the
    latest when Python ends.

    Args:
        make: makes the model on an environment; called in the learner's thread.
        n_arms: K.
        horizon: rounds of a trial, for the model's schedules. A longer trial goes on with another
            `learn()` of the same model.
        seed: 0 or more, decides all that is random.
    """

    def __init__(self, make: MakeModel, n_arms: int, horizon: int, seed: int) -> None:
        import torch

        # torch's number of threads is a thread's own, but setting it sets the default of new ones
        # too: the learner's 1 is not to be that.
        threads = torch.get_num_threads()
        self._random_state = GlobalRandomState(seed)
        self._env = _HandOver(n_arms)
        self._env.action_space.seed(seed)
        # The thread must not know the learner, which then could not be dropped.
        thread = threading.Thread(
            target=_learn, args=(self._env, make, horizon), name="Learner", daemon=True
        )
        thread.start()
        self.close = weakref.finalize(self, _end, self._env, thread)
        self._env.players_turn.acquire()  # the thread is ready
        torch.set_num_threads(threads)

    def next_arm(self, reward: float) -> int:
        """Let the model learn from the reward of its last arm, and choose the next one.

        Args:
            reward: ignored before the first arm.

        Raises:
            RuntimeError: the learner has ended.
            BaseException: whatever the model raised; the learner has then ended.
        """
        if not self.close.alive:
            raise RuntimeError("this learner has ended: begin a new trial by reset()")
        with self._random_state.lent():
            try:
                return self._env.next_action(reward)
            except BaseException:
                # After Ctrl-C the model still runs: let it end before the user's state is back.
                self.close()
                raise


class _HandOver(gym.Env[np.int64, np.int64]):
    """An environment without end whose rewards come from another thread; sees what a bandit does.

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
        """Begin; there is nothing to be reset."""
        return np.int64(0), {}

    def step(self, action: Any) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Hand an action over and wait for its reward: the learner's side."""
        self._action = int(action)
        self.players_turn.release()
        self.wait()
        return np.int64(0), self._reward, False, False, {}

    def wait(self) -> None:
        """Wait for the learner's turn.

        Raises:
            _Stopped: there will be none.
        """
        self.learners_turn.acquire()
        if self.stopped:
            raise _Stopped

    def next_action(self, reward: float) -> int:
        """Hand a reward over and wait for the next action: the player's side.

        Raises:
            BaseException: whatever the learner raised.
        """
        self._reward = reward
        self.learners_turn.release()
        self.players_turn.acquire()
        if self.error is not None:
            try:
                raise self.error
            finally:
                self.error = None  # whose traceback holds this object: neither would be dropped
        return self._action


class _Stopped(BaseException):
    """Ends `learn()`; no `Exception`, which someone might handle."""


def _learn(env: _HandOver, make: MakeModel, horizon: int) -> None:
    """Learn until stopped."""
    import torch

    # Networks this small are slower on several; and the trials are spread over processes. A new
    # thread first takes over the default, at the latest when it computes: so that is asked for.
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


def _end(env: _HandOver, thread: threading.Thread) -> None:
    env.stopped = True
    env.learners_turn.release()
    thread.join()
