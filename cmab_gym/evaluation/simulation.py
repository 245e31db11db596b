"""`Simulation`: rounds of environment and agent in one compiled loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from cmab_gym.agents import fast
from cmab_gym.agents.api import Agent
from cmab_gym.agents.index_agent import Counts, IndexAgent, Known
from cmab_gym.agents.policies.standard_error import StandardErrorPolicy
from cmab_gym.arrays import AnyArray, FloatArray, IntArray
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.models.base import BanditModel, Lookup

# What the loop stands for: there is none where a subclass, or an instance, does one of them anew.
_ENVIRONMENT = ("reset", "step", "_play", "_seed", "_begin_episode")
_AGENT = ("act", "update", "allowed_arms")
_POLICY = ("index", "checked_z", "checked_variance")

# Of a policy: v, n_0, and z of each round, which is None if it samples.
Answers: TypeAlias = tuple[float, float, FloatArray | None]


class Asking(Protocol):
    """A context manager entered while the policy, which may be a user's, is asked for something.

    Attributes:
        round: the round in question.
    """

    round: int

    def __enter__(self) -> object:
        """Begin to ask."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any, /) -> None:
        """Have been answered, or not."""


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
        trials, self._n_arms = env.num_envs, env.model.n_arms
        self.regret = np.zeros((trials, len(checkpoints)))
        self.best_arm_pulls = np.zeros((trials, len(checkpoints)), dtype=np.int64)
        self._agent, self._policy, self._checkpoints = agent, policy, np.array(checkpoints)
        self._counts, self._known = state
        self._lookup, self._gaps, self._best_arms = lookup, env.model.gaps, env.model.best_arms
        self._streams = [env.reward_stream, agent.rng.uniforms]
        self._no_noise: FloatArray | None = None
        if policy.samples:
            self._normals = agent.rng.standard_normals(self._n_arms)
            # Laid out as what will be drawn: numba compiles a loop for each layout.
            rounds = min(2, self._normals.block)
            self._no_noise = np.empty((trials, rounds, self._n_arms)).swapaxes(0, 1)

    @classmethod
    def of(cls, agent: Agent, env: Any, checkpoints: Sequence[int]) -> Simulation | None:
        """Return the simulation that can stand for an agent and an environment; None: none can.

        One can where numba works, for an `IndexAgent` or `CBandit` with a `StandardErrorPolicy`,
        and a model that has a `lookup`, unless one of them has its own way to do what is simulated.
        """
        policy = getattr(agent, "policy", None)
        if not (
            isinstance(agent, IndexAgent)
            and isinstance(policy, StandardErrorPolicy)
            and isinstance(env, BanditVectorEnv)
            and _is_unchanged(env, BanditVectorEnv, _ENVIRONMENT)
            and _is_unchanged(agent, type(agent), _AGENT)
            and _is_unchanged(policy, StandardErrorPolicy, _POLICY)
            and agent.problem is env.model.problem
        ):
            return None
        state, lookup = agent.compiled_state(), _lookup(env.model)
        if state is None or lookup is None:
            return None
        simulation = cls(agent, policy, state, env, lookup, checkpoints)
        return simulation if fast.works(simulation._play_none) else None

    def play(self, asking: Asking) -> int:
        """Play some rounds, before the horizon, and return how many were played so far."""
        t = self._agent.t
        limit, streams = int(self._checkpoints[-1]) - t, self._streams
        if t < self._n_arms:  # until each arm was pulled once, the policy is not asked
            limit = min(limit, self._n_arms - t)
        elif self._policy.samples:
            streams = [*streams, self._normals]
        left = [stream.left() for stream in streams]
        rounds = min(limit, *(len(rows) for rows in left))
        self._play(self._answers(t, rounds, asking), *(rows[:rounds] for rows in left))
        for stream in streams:
            stream.skip(rounds)
        self._agent.t += rounds
        return self._agent.t

    def _answers(self, t: int, rounds: int, asking: Asking) -> Answers:
        policy = self._policy
        if t < self._n_arms:
            return 0.0, 1.0, None if policy.samples else np.zeros(rounds)
        asking.round = t + 1
        with asking:
            z = None if policy.samples else self._z(np.arange(t, t + rounds), asking)
            return *policy.checked_variance(self._agent.problem), z

    def _z(self, t: IntArray, asking: Asking) -> FloatArray:
        self._policy.checked_z(t[:1])  # as `index` asks
        try:
            return self._policy.checked_z(t)
        except Exception:
            # One by one it may work; and where it does not, the round is known.
            each = []
            for place in range(t.size):
                asking.round = int(t[place]) + 1
                each.append(self._policy.checked_z(t[place : place + 1]))
            return np.concatenate(each)

    def _play(
        self,
        answers: Answers,
        outcomes: AnyArray,
        uniform: FloatArray,
        noise: FloatArray | None = None,
    ) -> None:
        t = self._agent.t
        fast.kernels().play_rounds(
            t,
            self._counts,
            *answers,
            self._no_noise if noise is None else noise,
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
        trials, z = len(self.regret), None if self._policy.samples else np.empty(0)
        dtype = np.float64 if self._lookup.table is None else np.int64
        self._play((0.0, 1.0, z), np.empty((0, trials, 1), dtype), np.empty((0, trials)))


def _is_unchanged(thing: Any, kind: type, names: Iterable[str]) -> bool:
    """Tell whether neither a subclass of a kind nor the instance has its own of some methods."""
    return all(
        getattr(getattr(thing, name), "__func__", None) is getattr(kind, name) for name in names
    )


def _lookup(model: BanditModel) -> Lookup | None:
    """Return a model's lookup; a subclass, which may draw or pull otherwise, needs its own."""
    return model.lookup() if "lookup" in vars(type(model)) else None
