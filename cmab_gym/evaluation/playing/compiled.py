"""`CompiledRun`: environment and agent in one compiled loop, where numba is installed."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError
from types import ModuleType
from typing import Any

import numpy as np
from numpy.random import Generator

from cmab_gym.agents.api import Agent
from cmab_gym.agents.correlated.c_bandit import CBandit
from cmab_gym.agents.correlated.tightened.agent import TightenedCBandit
from cmab_gym.agents.correlated.tightened.kept_vectors import KeptVectors, check_rounds
from cmab_gym.agents.correlated.tightened.vectors import can_be_tightened
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.policies.ts import TS
from cmab_gym.agents.policies.ucb import UCB
from cmab_gym.agents.survey.warm_ts import WarmTS
from cmab_gym.arrays import IntArray, frozen, read_only
from cmab_gym.competitive import significant_pulls
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.evaluation.playing.record import Record
from cmab_gym.models.draws import ContinuousStacks, RewardSource, Stacks
from cmab_gym.problem import BanditProblem, scale_of
from cmab_gym.rows import DenseRows, LazyRows, PseudoRewardRows, SparseStore
from cmab_gym.state import check_names, restored, state_of
from cmab_gym.streams import TrialStreams, standard_normals, uniforms
from cmab_gym.versions import version_of

_SWITCH = "CMAB_GYM_COMPILED"
_ROOM = 8  # arms per trial whose sums have room at the start
_NUMBERS = 1 << 18  # random numbers in memory: many for one call, few enough for the cache
_ROUNDS = 256  # that a trial plays in one call, as far as there are numbers


class CompiledRun:
    """One agent on one environment; the results are bit-identical to `act`, `step` and `update`.

    Args:
        agent: an agent that `supports` accepts.
        env: an environment that it accepts, after its reset.
        streams: the agent's random numbers.
        record: a new one of the model and the trials, whose last checkpoint is the horizon.

    Attributes:
        t: rounds so far.
        record: as given; complete at the horizon.
    """

    def __init__(
        self,
        agent: IndexAgent,
        env: BanditVectorEnv,
        streams: TrialStreams,
        record: Record,
    ) -> None:
        model = env.model
        policy: Any = agent.policy
        trials, self._horizon = env.num_envs, record.checkpoints[-1]
        self.t, self.record = 0, record
        self._source, self._rows = env.reward_source, model.problem.rows
        self._scale = scale_of(policy.B, model.problem)
        self._log_factor = getattr(agent, "log_factor", math.inf)
        self._uniforms = streams.uniform_generators()
        self._normals: Sequence[Generator] | None = None
        if isinstance(policy, TS | WarmTS):
            self._normals = streams.normal_generators(model.n_arms)
        self._kept: KeptVectors | None = None
        if type(agent) is TightenedCBandit and can_be_tightened(model.problem):
            self._kept = KeptVectors(model.problem, trials)
        # The rounds before which linear programs may be due.
        self._checks = check_rounds(self._horizon if self._kept else 0)
        shape, loop = (trials, model.n_arms), _loop()
        pulls = record.pulls if record.pulls.size else np.zeros(shape, np.int64)
        if isinstance(agent, CBandit):
            record.count_competitive()
        self._run = loop.Run(
            loop.ArmStatistics(pulls, np.zeros(shape), np.zeros(shape)),
            _policy(policy, model.problem),
            _bounds(agent, self._rows, trials, self._kept),
            _rewards(self._source, model.problem),
            loop.Scores(
                read_only(model.gaps),
                frozen(model.best_arms),
                np.array(record.checkpoints),
                record.regret,
                record.best_arm_pulls,
                record.reward,
                record.competitive,
                record.last,
            ),
        )
        self._scratch = loop.Scratch(
            *(np.zeros(model.n_arms, kind) for kind in (float,) * 4 + (bool, int, int))
        )

    @classmethod
    def of(
        cls, agent: Agent, env: Any, streams: TrialStreams, record: Record
    ) -> CompiledRun | None:
        """Return the compiled run of an agent on an environment; None if NumPy must run it."""
        if not (isinstance(agent, IndexAgent) and supports(agent, env) and is_enabled()):
            return None
        try:
            run = cls(agent, env, streams, record)
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
        trials, n_rounds, normals = len(self._uniforms), self._horizon - self.t, self._normals
        if self.t == 0 and not self._run.policy.ranks_unpulled:  # the index is not used
            n_rounds, normals = 1, None
        each = 1 if normals is None else 1 + self._rows.n_arms  # random numbers of a round
        most = max(_NUMBERS // (each * trials), min(_ROUNDS, _NUMBERS // each), 1)
        n_rounds = min(n_rounds, most)
        if isinstance(self._source, ContinuousStacks):
            n_rounds = self._source.ready(n_rounds)
        group = max(1, _NUMBERS // (each * n_rounds))
        for first in range(0, trials, group):
            self._play(slice(first, first + group), n_rounds, normals)
        self.t += n_rounds
        return self.t

    def state_dict(self) -> dict[str, Any]:
        """Return the state: see `cmab_gym.state.Stateful.state_dict`."""
        state: dict[str, Any] = state_of({"t": self.t, **self._changing()})
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state: see `cmab_gym.state.Stateful.load_state_dict`."""
        changing = self._changing()
        check_names(self, state, ["t", *changing])
        self.t = state["t"]
        restored(changing, {name: value for name, value in state.items() if name != "t"})
        bounds = self._run.bounds
        if isinstance(self._rows, LazyRows):
            for arm in np.flatnonzero((bounds.slot >= 0).any(axis=0)).tolist():
                self._rows.read(arm)
            bounds = bounds._replace(store=self._rows.store)
        if self._kept is not None:
            bounds = bounds._replace(tightened=_tightened(self._kept, bounds.tightened.counts))
        # Of another size if arms were pulled for which there was no room at the start.
        self._run = self._run._replace(bounds=bounds._replace(sums=state["sums"].copy()))

    def _changing(self) -> dict[str, Any]:
        """Return what changes while the run is played, by name."""
        bounds = self._run.bounds
        return {
            "seen": tuple(self._run.seen),
            "bounds": [bounds.slot, bounds.used, bounds.least, bounds.given, bounds.loose],
            "sums": bounds.sums,
            "counts": bounds.tightened.counts,
            "vectors": self._kept,
            "uniforms": self._uniforms,
            "normals": self._normals,
            "rewards": self._source,
            "record": self.record,
        }

    def _play(
        self, trials: slice, n_rounds: int, normals: Sequence[Generator] | None = None
    ) -> None:
        loop, z, drawn = _loop(), np.empty(0), np.empty((0, 0, 0))
        uniform = uniforms(self._uniforms[trials], n_rounds)
        rounds = np.arange(self.t, self.t + n_rounds + 1)
        if normals is None:
            z = self._scale * np.sqrt(2 * np.log(np.maximum(rounds[:-1], 1)))
        else:
            drawn = standard_normals(normals[trials], n_rounds, self._rows.n_arms)
        done, wanted = np.zeros((2, len(uniform)), dtype=np.int64)
        needed = significant_pulls(rounds, self._rows.n_arms, self._log_factor)
        checked = np.isin(rounds[:-1], self._checks)
        part = loop.Part(trials.start, self.t, uniform, z, drawn, needed, checked, done, wanted)
        while True:
            loop.play_rounds(self._run, part, self._scratch)
            stopped = done < n_rounds
            if not stopped.any():
                break
            self._solve_due(part, np.flatnonzero(stopped & (wanted < 0)))
            bounds = _with_room(self._run.bounds, self._rows, wanted[stopped & (wanted >= 0)])
            self._run = self._run._replace(bounds=bounds)

    def _solve_due(self, part: Any, stopped: IntArray) -> None:
        """Solve the linear programs of those trials of a part that stopped for them."""
        if self._kept is None or not stopped.size:
            return
        trials, bounds = part.trial + stopped, self._run.bounds
        pulls, counts = self._run.seen.pulls[trials], bounds.tightened.counts
        significant = pulls >= part.needed[part.done[stopped], None]
        self._kept.solve_due(trials, significant, pulls, counts[trials])
        # As `LeastBounds.forget`: a new vector may lower a bound, or replace the minimum.
        bounds.least[trials], bounds.loose[trials] = np.inf, True
        bounds = bounds._replace(tightened=_tightened(self._kept, counts))
        self._run = self._run._replace(bounds=bounds)

    def _play_none(self) -> None:
        """Compile or load the loop, so that its time is not counted as that of a round."""
        self._play(slice(0, 1), 0)


def supports(agent: object, env: Any) -> bool:
    """Return whether the compiled loop supports an agent on an environment.

    It supports exactly `IndexAgent`, `CBandit` and `TightenedCBandit` (without `lower_bounds`, and
    with significant arms as the reference) with exactly `UCB`, `TS` or `WarmTS`, on environments
    that draw rewards by pulls and whose class declares `compiled_loop`. A subclass, or an object
    with a method of its own, may do something else.
    """
    policy = getattr(agent, "policy", None)
    return (
        not any(_has_own_methods(each) for each in (agent, policy, env))
        and (type(agent) is IndexAgent or _is_plain_c_bandit(agent))
        and type(policy) in (UCB, TS, WarmTS)
        and bool(vars(type(env)).get("compiled_loop"))
        and getattr(env, "draws", None) == "pulls"
        and not _raises(agent, env.problem)
    )


def _is_plain_c_bandit(agent: object) -> bool:
    return (
        (type(agent) is CBandit or type(agent) is TightenedCBandit)
        and not agent.lower_bounds
        and agent.reference == "significant"
    )


def _raises(agent: Any, problem: BanditProblem) -> bool:
    """Return whether the agent refuses the problem; its `reset` explains why."""
    if type(agent) is TightenedCBandit and isinstance(problem.rows, LazyRows):
        return can_be_tightened(problem)
    return type(agent.policy) is WarmTS and problem.survey_means is None


def _has_own_methods(thing: object) -> bool:
    """Return whether an attribute of the object hides a method of its class."""
    return any(
        callable(getattr(type(thing), name, None)) for name in getattr(thing, "__dict__", ())
    )


def is_enabled() -> bool:
    """Return whether numba is installed and the environment variable CMAB_GYM_COMPILED is not 0.

    Loading the loop takes half a second. Compiling it takes about ten seconds, once on a machine.
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
    from cmab_gym.evaluation.playing import compiled_loop

    return compiled_loop


def _policy(policy: UCB | TS | WarmTS, problem: BanditProblem) -> Any:
    """Return the policy's index for the loop."""
    no_prior = read_only(np.zeros(problem.n_arms)), 0.0
    if isinstance(policy, UCB):
        return _loop().Policy(1.0, 0.0, *no_prior, False)
    variance = float(policy.beta) * scale_of(policy.B, problem)
    if isinstance(policy, TS):
        return _loop().Policy(variance, 1.0, *no_prior, False)
    weight = float(policy.weight)
    return _loop().Policy(variance, weight + 1, read_only(policy.prior_sums(problem)), weight, True)


def _rewards(source: RewardSource, problem: BanditProblem) -> Any:
    """Return the environment's rewards for the loop."""
    support = problem.reward_support
    if isinstance(source, Stacks):
        return _loop().Rewards(
            source.taken,
            support,
            source.keys,
            read_only(source.thresholds),
            np.empty((0, 0, 0)),
            read_only([]),
        )
    if isinstance(source, ContinuousStacks):
        return _loop().Rewards(
            source.taken,
            support,
            np.empty((0, 0), np.uint64),
            read_only(np.empty((0, 0))),
            source.rewards,
            read_only(source.cuts),
        )
    raise TypeError(f"{type(source).__name__}: expected rewards by pulls")


def _bounds(
    agent: IndexAgent, rows: PseudoRewardRows, trials: int, kept: KeptVectors | None
) -> Any:
    """Return the state of a C-Bandit before the first pull; empty for an agent without bounds."""
    correlated, until, all_first = False, 0.0, False
    if isinstance(agent, CBandit):
        correlated, until, all_first = True, float(agent.until), agent.first_pulls == "all"
    n_arms = rows.n_arms if correlated else 0
    shape = (trials, n_arms)
    return _loop().Bounds(
        correlated,
        until,
        all_first,
        np.empty((trials * min(n_arms, _ROOM), n_arms)),
        np.full(shape, -1),
        np.zeros(1, np.int64),
        rows.rows if isinstance(rows, DenseRows) else read_only(np.empty((0, 0, 0))),
        rows.store if isinstance(rows, LazyRows) else SparseStore.empty(),
        rows.unknown,
        np.full(shape, np.inf),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.bool_),
        _tightened(kept, np.zeros((trials, rows.n_arms, rows.n_rewards), np.int64))
        if kept
        else _not_tightened(trials),
    )


def _tightened(kept: KeptVectors, counts: IntArray) -> Any:
    """Return the vectors of a tightened C-Bandit and counts of the rewards, (B, K, R)."""
    return _loop().Tightened(
        counts, kept.next_solve, kept.slot, kept.vectors, kept.sums, kept.least
    )


def _not_tightened(trials: int) -> Any:
    """Return the empty arrays of other agents."""
    return _loop().Tightened(
        np.empty((trials, 0, 0), np.int64),
        np.empty((trials, 0)),
        np.empty((trials, 0), np.int64),
        np.empty((0, 0, 0, 0)),
        np.empty((0, 0, 0)),
        np.empty((0, 0)),
    )


def _with_room(bounds: Any, rows: PseudoRewardRows, arms: IntArray) -> Any:
    """Return the state with room for the sums given more arms, one for each trial that stopped."""
    used, sums = int(bounds.used[0]), bounds.sums
    if used + arms.size > len(sums):
        sums = np.empty((max(used + arms.size, len(sums) * 5 // 4), rows.n_arms))
        sums[:used] = bounds.sums[:used]
    if not isinstance(rows, LazyRows):
        return bounds._replace(sums=sums)
    for arm in arms.tolist():
        rows.read(arm)
    return bounds._replace(sums=sums, store=rows.store)
