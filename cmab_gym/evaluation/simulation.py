"""`Simulation`: rounds of environment and agent in one compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from cmab_gym.agents import fast
from cmab_gym.agents.api import Agent
from cmab_gym.agents.index_agent import Counts, IndexAgent, Known
from cmab_gym.agents.standard_error import StandardErrorPolicy
from cmab_gym.arrays import AnyArray, FloatArray
from cmab_gym.envs.base import BanditVectorEnv
from cmab_gym.models.base import BanditModel, Lookup

# If an environment has none of these of its own, a step is no more than a pull of the model.
_STEPS = ("reset", "step", "_play", "_seed", "_begin_episode")


class Simulation:
    """Plays what `act`, `step` and `update` would, to the bit, without returning to Python.

    Args:
        agent: the agent, after its reset.
        policy: its policy.
        state: the agent's, which is changed.
        env: the environment, after its reset.
        lookup: its model's.
        checkpoints: the rounds at which scores are recorded, increasing; the last is the horizon.

    Attributes:
        regret: float64 (B, C), the sum of gaps at each checkpoint.
        best_arm_pulls: int64 (B, C), pulls of a best arm at each.
    """

    def __init__(
        self,
        agent: IndexAgent,
        policy: StandardErrorPolicy,
        state: tuple[Counts, Known | None],
        env: BanditVectorEnv,
        lookup: Lookup,
        checkpoints: Sequence[int],
    ) -> None:
        shape = env.num_envs, len(checkpoints)
        self.regret, self.best_arm_pulls = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        self._agent, self._policy, self._n_arms = agent, policy, env.model.n_arms
        self._variance = float(policy.variance(agent.problem))
        self._samples = self._z(0, 1) is None
        self._counts, self._known = state
        self._streams = [env.reward_stream, agent.rng.uniforms]
        self._lookup, self._gaps, self._best_arms = lookup, env.model.gaps, env.model.best_arms
        self._checkpoints = np.array(checkpoints)

    @classmethod
    def of(cls, agent: Agent, env: Any, checkpoints: Sequence[int]) -> Simulation | None:
        """Return the simulation that can stand for an agent and an environment; None: none can.

        One can where numba works, for an `IndexAgent` or `CBandit` with a `StandardErrorPolicy`,
        and a model that has a `lookup`; unless a subclass has its own way to do what is simulated.
        """
        policy = getattr(agent, "policy", None)
        if not (
            isinstance(agent, IndexAgent)
            and isinstance(policy, StandardErrorPolicy)
            and type(policy).index is StandardErrorPolicy.index
            and 0 < policy.variance(agent.problem) < np.inf
            and isinstance(env, BanditVectorEnv)
            and all(getattr(type(env), name) is getattr(BanditVectorEnv, name) for name in _STEPS)
        ):
            return None
        state, lookup = agent.compiled_state(), _lookup(env.model)
        if state is None or lookup is None:
            return None
        simulation = cls(agent, policy, state, env, lookup, checkpoints)
        return simulation if fast.works(simulation._play_none) else None

    def play(self, asking: AbstractContextManager[None]) -> int:
        """Play some rounds, before the horizon, and return how many were played so far.

        Args:
            asking: entered while the policy, which may be a user's, is asked for z.

        Raises:
            ValueError: z is NaN.
        """
        t, n_arms = self._agent.t, self._n_arms
        limit, streams = int(self._checkpoints[-1]) - t, self._streams
        if t < n_arms:  # until each arm was pulled once, the policy is not asked
            limit = min(limit, n_arms - t)
        elif self._samples:
            streams = [*streams, self._agent.rng.standard_normals(n_arms)]
        left = [stream.left() for stream in streams]
        rounds = min(limit, *(len(rows) for rows in left))
        with asking:
            z = self._z(t, rounds)
        self._play(z, *(rows[:rounds] for rows in left))
        for stream in streams:
            stream.skip(rounds)
        self._agent.t += rounds
        return self._agent.t

    def _z(self, t: int, rounds: int) -> FloatArray | None:
        # Before the policy is asked its z is not read, but tells which kind of z it has.
        z = self._policy.z(np.maximum(np.arange(t, t + rounds), self._n_arms))
        if z is None:
            return None
        if np.isnan(z).any():
            raise ValueError(f"z() of {self._policy!r} is nan: expected numbers; check the policy")
        return np.zeros(rounds) + z  # of each round, also where the policy has one for all

    def _play(
        self,
        z: FloatArray | None,
        outcomes: AnyArray,
        uniform: FloatArray,
        noise: FloatArray | None = None,
    ) -> None:
        t = self._agent.t
        if z is None and noise is None:  # it is not read, but decides which loop is taken
            noise = np.empty((0, len(self.regret), self._n_arms)).swapaxes(0, 1)
        fast.kernels().play_rounds(
            t,
            self._counts,
            self._variance,
            self._policy.prior_pulls,
            z,
            noise,
            uniform,
            self._known,
            outcomes,
            self._lookup,
            self._gaps,
            self._best_arms,
            self._checkpoints,
            np.searchsorted(self._checkpoints, t, side="right"),
            self.regret,
            self.best_arm_pulls,
        )

    def _play_none(self) -> None:
        """Let the loop be compiled or loaded, which is no round's time."""
        dtype = np.float64 if self._lookup.table is None else np.int64
        trials = len(self.regret)
        z = None if self._samples else np.empty(0)
        self._play(z, np.empty((0, trials, 1), dtype), np.empty((0, trials)))


def _lookup(model: BanditModel) -> Lookup | None:
    """Return a model's lookup; none if a subclass changed how rewards are pulled alone."""
    first = next(each for each in type(model).__mro__ if {"pull", "lookup"} & vars(each).keys())
    return model.lookup() if "lookup" in vars(first) else None
