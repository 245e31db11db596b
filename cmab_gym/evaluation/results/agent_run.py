"""`AgentRun`: what was recorded of one agent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from traceback import format_exception

import numpy as np

from cmab_gym.arrays import FloatArray, IntArray
from cmab_gym.evaluation.processes.calls import RemoteTraceback
from cmab_gym.evaluation.results.arm_pulls import ArmPulls


def _no_floats() -> FloatArray:
    return np.empty((0, 0))


def _no_counts() -> IntArray:
    return np.empty((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AgentRun:
    """What one agent did in some trials.

    Args:
        label: its name.
        regret: float64 (trials, checkpoints), the sum of gaps so far; no rows after a failure.
        best_arm_pulls: int64 (trials, checkpoints), pulls of a best arm so far.
        seconds: time that its rounds took, summed over workers, without making environment and
            agent.
        failure: why it ended early, naming agent, trial and round; "" if it did not.
        first_trial: index of the trial of the first row.
        cause: the error that the agent raised, if that is the reason; it is not saved.
        reward: float64 (trials, checkpoints), the sum of the rewards so far; empty in files of
            schema 1.
        competitive: int64 (trials, checkpoints), among how many arms the agent chose in the round
            of the checkpoint; empty for an agent that rules no arms out.
        pulls: the pulls of each arm; None if they were not recorded.
        peak_memory: the most memory, in bytes, that the process held until the agent had finished,
            with whatever it held and ran before; of several processes, the largest. 0 if the
            system does not tell.
        told: what the agent was told in addition, a key of `cmab_gym.told_problem.TOLD`; "" for
            nothing. The manifest holds it.
    """

    label: str
    regret: FloatArray
    best_arm_pulls: IntArray
    seconds: float
    failure: str = ""
    first_trial: int = 0
    cause: BaseException | None = None
    reward: FloatArray = field(default_factory=_no_floats)
    competitive: IntArray = field(default_factory=_no_counts)
    pulls: ArmPulls | None = None
    peak_memory: int = 0
    told: str = ""

    @property
    def trials(self) -> range:
        """The indices of its trials; none after a failure."""
        return range(self.first_trial, self.first_trial + len(self.regret))

    @classmethod
    def failed(
        cls,
        label: str,
        failure: str,
        seconds: float = 0.0,
        first_trial: int = 0,
        cause: BaseException | None = None,
    ) -> AgentRun:
        """Return the run of an agent that did not finish, without rows."""
        return cls(label, _no_floats(), _no_counts(), seconds, failure, first_trial, cause)

    def to_send(self) -> AgentRun:
        """Return the same run for another process, where a traceback arrives only as text."""
        if self.cause is None or isinstance(self.cause, RemoteTraceback):
            return self
        return replace(self, cause=RemoteTraceback("\n" + "".join(format_exception(self.cause))))

    @classmethod
    def joined(cls, label: str, parts: Iterable[AgentRun], trials: int) -> AgentRun:
        """Put the runs of one agent on batches of trials together.

        Args:
            label: the agent's; runs of other agents are ignored.
            parts: its runs, in any order.
            trials: how many trials there should be.

        Returns:
            The whole run; if a part failed or is missing, a failed run with the first failure.
        """
        own = sorted((part for part in parts if part.label == label), key=lambda p: p.first_trial)
        seconds = sum(part.seconds for part in own)
        failed = [part for part in own if part.failure]
        if failed:
            return cls.failed(label, failed[0].failure, seconds, cause=failed[0].cause)
        done = sum(len(part.regret) for part in own)
        if done < trials:
            reason = f"interrupted, {done} of {trials} trials had finished"
            return cls.failed(label, f"agent {label!r}: {reason}", seconds)
        return cls(
            label,
            np.concatenate([part.regret for part in own]),
            np.concatenate([part.best_arm_pulls for part in own]),
            seconds,
            first_trial=own[0].first_trial,
            reward=np.concatenate([part.reward for part in own]),
            competitive=np.concatenate([part.competitive for part in own]),
            pulls=_joined_pulls([part.pulls for part in own]),
            peak_memory=max(part.peak_memory for part in own),
            told=own[0].told,
        )


def _joined_pulls(parts: Iterable[ArmPulls | None]) -> ArmPulls | None:
    """Return the pulls of all parts; None if one of them did not record any."""
    known = []
    for part in parts:
        if part is None:
            return None
        known.append(part)
    return ArmPulls.joined(known)
