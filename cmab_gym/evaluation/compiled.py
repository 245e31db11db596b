"""`CompiledRun`: environment and agent in one compiled loop, where numba is installed."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError
from types import ModuleType
from typing import Any

import numpy as np

from cmab_gym.agents.api import Agent
from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.policies.ts import TS
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.agents.survey.warm_ts import WarmTS
from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.models.draws import ContinuousStacks, RewardSource, Stacks
from cmab_gym.problem import BanditProblem, scale_of
from cmab_gym.rows import DenseRows, LazyRows, PseudoRewardRows
from cmab_gym.streams import RoundStream, TrialStreams
from cmab_gym.versions import version_of

_SWITCH = "CMAB_GYM_COMPILED"
_ROOM = 8  # arms per trial whose sums have room at the start


class CompiledRun:
    """One agent on one environment; the results are bit-identical to `act`, `step` and `update`.

    Args:
        agent: an agent that `supports` accepts.
        env: an environment that it accepts, after its reset.
        streams: the agent's random numbers.
        checkpoints: the rounds at which scores are recorded, increasing; the last is the horizon.

    Attributes:
        t: rounds so far.
        regret: float64 (B, C), the sum of gaps at each checkpoint.
        best_arm_pulls: int64 (B, C), pulls of a best arm at each.
    """

    def __init__(
        self,
        agent: IndexAgent,
        env: BanditVectorEnv,
        streams: TrialStreams,
        checkpoints: Sequence[int],
    ) -> None:
        loop, model = _loop(), env.model
        policy: Any = agent.policy
        shape, n_checkpoints = (env.num_envs, model.n_arms), len(checkpoints)
        self.t = 0
        self.regret: FloatArray = np.zeros((env.num_envs, n_checkpoints))
        self.best_arm_pulls: IntArray = np.zeros((env.num_envs, n_checkpoints), dtype=np.int64)
        self._n_arms, self._horizon = model.n_arms, checkpoints[-1]
        self._source = env.reward_source
        self._rewards = _rewards(self._source, model.problem)
        self._seen = loop.ArmStatistics(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))
        self._scale = scale_of(policy.B, model.problem)
        self._width = loop.IndexWidth(1.0, 0.0)
        self._rows = model.problem.rows
        self._bounds = _bounds(self._rows, env.num_envs) if type(agent) is CBandit else None
        self._scores = loop.Scores(
            model.gaps, model.best_arms, np.array(checkpoints), self.regret, self.best_arm_pulls
        )
        self._uniforms = streams.uniforms
        self._normals: RoundStream | None = None
        self._prior: Any = None
        if isinstance(policy, TS | WarmTS):
            self._width = loop.IndexWidth(float(policy.beta) * self._scale, 1.0)
            self._normals = streams.standard_normals(model.n_arms)
        if isinstance(policy, WarmTS):
            self._width = loop.IndexWidth(
                float(policy.beta) * self._scale, float(policy.weight) + 1
            )
            self._prior = loop.Prior(policy.prior_sums(model.problem), float(policy.weight))

    @classmethod
    def of(
        cls, agent: Agent, env: Any, streams: TrialStreams, checkpoints: Sequence[int]
    ) -> CompiledRun | None:
        """Return the compiled run of an agent on an environment; None if NumPy must run it."""
        if not (isinstance(agent, IndexAgent) and supports(agent, env) and is_enabled()):
            return None
        try:
            run = cls(agent, env, streams, checkpoints)
            run._play_none()
        # Any error, such as a damaged or full cache on the disk, falls back to NumPy.
        except Exception as error:
            what = str(error).partition("\n")[0]
            warnings.warn(
                f"numba does not work here ({type(error).__name__}: {what}): agents use NumPy "
                "instead; install versions that fit, empty the folder of numba's cache "
                f"(__pycache__ next to {__name__}, or NUMBA_CACHE_DIR), or set {_SWITCH}=0",
                stacklevel=2,
            )
            return None
        return run

    def play(self) -> int:
        """Play some rounds, at most up to the horizon, and return how many were played so far."""
        limit, streams = self._horizon - self.t, [self._uniforms]
        if self.t == 0 and self._prior is None:  # no arm has a pull: the index is not used
            limit = 1
        elif self._normals is not None:
            streams = [*streams, self._normals]
        left = [stream.left() for stream in streams]
        n_rounds = min(limit, *(len(rows) for rows in left))
        if isinstance(self._source, ContinuousStacks):
            n_rounds = self._source.ready(n_rounds)
        self._play(n_rounds, *(rows[:n_rounds] for rows in left))
        for stream in streams:
            stream.skip(n_rounds)
        self.t += n_rounds
        return self.t

    def _play(self, n_rounds: int, uniform: FloatArray, normals: FloatArray | None = None) -> None:
        z = None
        if self._normals is None:
            t = np.maximum(np.arange(self.t, self.t + n_rounds), 1)
            z = self._scale * np.sqrt(2 * np.log(t))
        elif normals is None:  # laid out like `standard_normals`, since numba compiles for a layout
            shape = (len(self.regret), min(2, self._normals.block), self._n_arms)
            normals = np.empty(shape).swapaxes(0, 1)
        loop = _loop()
        noise = loop.Noise(uniform, z, normals)
        done, wanted = np.zeros((2, len(self.regret)), dtype=np.int64)
        while True:
            policy = (self._width, self._prior, self._bounds)
            loop.play_rounds(
                self.t, done, wanted, self._seen, *policy, noise, self._rewards, self._scores
            )
            stopped = np.flatnonzero(done < n_rounds)
            if not stopped.size:
                break
            self._bounds = _with_room(self._bounds, self._rows, wanted[stopped])

    def _play_none(self) -> None:
        """Compile or load the loop, so that its time is not counted as that of a round."""
        self._play(0, np.empty((0, len(self.regret))))


def supports(agent: object, env: Any) -> bool:
    """Return whether the compiled loop supports an agent on an environment.

    It supports exactly `IndexAgent` and `CBandit` (with its default options) with exactly `UCB`,
    `TS` or `WarmTS`, on environments that draw rewards by pulls and whose class declares
    `compiled_loop`. A subclass, or an object with a method of its own, may do something else.
    """
    policy = getattr(agent, "policy", None)
    return (
        not any(_has_own_methods(each) for each in (agent, policy, env))
        and (type(agent) is IndexAgent or (type(agent) is CBandit and _is_plain(agent)))
        and type(policy) in (UCB, TS, WarmTS)
        and bool(vars(type(env)).get("compiled_loop"))
        and getattr(env, "draws", None) == "pulls"
        and (type(policy) is not WarmTS or env.problem.survey_means is not None)  # else it raises
    )


def _is_plain(agent: CBandit) -> bool:
    plain = agent.first_pulls == "competitive" and not agent.lower_bounds
    return plain and agent.log_factor == agent.until == math.inf


def _has_own_methods(thing: object) -> bool:
    """Return whether an attribute of the object hides a method of its class."""
    return any(
        callable(getattr(type(thing), name, None)) for name in getattr(thing, "__dict__", ())
    )


def is_enabled() -> bool:
    """Return whether numba is installed and the environment variable CMAB_GYM_COMPILED is not 0.

    Loading the loop takes half a second. Compiling it takes 2 to 4 seconds, once on a machine.
    """
    off = os.environ.get(_SWITCH) == "0" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    return not off and _is_installed()


@cache
def _is_installed() -> bool:
    try:
        version_of("numba")
    except PackageNotFoundError:
        return False
    return True


def _loop() -> ModuleType:
    from cmab_gym.evaluation import compiled_loop

    return compiled_loop


def _rewards(source: RewardSource, problem: BanditProblem) -> Any:
    """Return the environment's rewards for the loop."""
    support = problem.reward_support
    if isinstance(source, Stacks):
        return _loop().Rewards(source.taken, support, source.keys, source.thresholds, None, None)
    if isinstance(source, ContinuousStacks):
        return _loop().Rewards(source.taken, support, None, None, source.rewards, source.cuts)
    raise TypeError(f"{type(source).__name__}: expected rewards by pulls")


def _bounds(rows: PseudoRewardRows, trials: int) -> Any:
    """Return the state of a C-Bandit before the first pull."""
    shape = (trials, rows.n_arms)
    dense = isinstance(rows, DenseRows)
    return _loop().Bounds(
        np.empty(trials * rows.n_arms * min(rows.n_arms, _ROOM) if dense else 0),
        np.full(shape, -1),
        np.zeros(1, np.int64),
        rows.rows if isinstance(rows, DenseRows) else None,
        rows.store if isinstance(rows, LazyRows) else None,
        rows.unknown,
        np.full(shape, np.inf),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.bool_),
    )


def _with_room(bounds: Any, rows: PseudoRewardRows, arms: IntArray) -> Any:
    """Return the state with room for the sums given more arms, one for each trial that stopped."""
    sizes = [rows.read(arm) if isinstance(rows, LazyRows) else rows.n_arms for arm in arms.tolist()]
    used = int(bounds.used[0])
    needed, sums = used + sum(sizes), bounds.sums
    if needed > sums.size:
        sums = np.empty(max(needed, sums.size * 5 // 4))
        sums[:used] = bounds.sums[:used]
    return bounds._replace(sums=sums, store=rows.store if isinstance(rows, LazyRows) else None)
