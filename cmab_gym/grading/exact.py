"""Exact grading: is each arm one that the reference may pull after the same rewards?

The reference sees the arms and rewards of the submission, so that a wrong arm has no consequences
for the rounds before it. An arm is right if its index is the largest, up to rounding errors. Ties
go to the lowest arm. That is demanded only of arms that gave the same rewards in the same order,
such as none: between others, a submission that keeps running means may see a rounding error where
one that keeps sums sees a tie. For the same reason an arm of a C-Bandit may be pulled or left alone
if only rounding decides whether it is competitive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.make import agent_factory
from cmab_gym.arrays import BoolArray, FloatArray, IntArray
from cmab_gym.grading.assignment import Mistake
from cmab_gym.grading.trials import Trial
from cmab_gym.history import CorrelatedHistory
from cmab_gym.streams import TrialStreams, trial_seed


@dataclass(frozen=True, eq=False)
class WrongRound:
    """The first round in which a submission pulled a wrong arm.

    Args:
        t: the round, from 1.
        arm: what it pulled.
        right: bool (K,), what it could have pulled.
        pulls: int64 (K,), before the round.
        means: float64 (K,).
        index: float64 (K,), the reference's.
        allowed: bool (K,), whether pseudo-rewards allow the arm; all True without them.
        tie: whether only the rule for ties forbids the arm.
    """

    t: int
    arm: int
    right: BoolArray
    pulls: IntArray
    means: FloatArray
    index: FloatArray
    allowed: BoolArray
    tie: bool

    def explained(self) -> str:
        """Say what was pulled, what is right, and why."""
        right = int(np.flatnonzero(self.right)[0])
        lines = [f"Round {self.t}: it pulled arm {self.arm}; arm {right} is right."]
        if self.tie:
            lines.append(
                f"Arms {right} and {self.arm} have the same index: ties go to the lowest arm."
            )
        shown = sorted({right, self.arm, *np.argsort(-self.index, kind="stable")[:6].tolist()})
        lines.append("   arm   pulls      mean     index")
        for arm in shown:
            note = "  <- right" if arm == right else "  <- pulled" if arm == self.arm else ""
            note = note if self.allowed[arm] else f"  not competitive{note}"
            mean = f"{self.means[arm]:10.4f}" if self.pulls[arm] else "         -"
            lines.append(f"{arm:6}{self.pulls[arm]:8}{mean}{self.index[arm]:10.4f}{note}")
        if len(shown) < self.index.size:
            lines.append(f"   ... and {self.index.size - len(shown)} other arms")
        return "\n".join(lines)


class LowestOfTies(TrialStreams):
    """Streams of an agent that breaks ties in favour of the lowest arm, and is not random else."""

    def __init__(self) -> None:
        super().__init__([trial_seed(0, 0, 0)])

    def uniform(self) -> FloatArray:
        """Return 0, which chooses the first of the tied arms."""
        return np.zeros(1)

    def _make(self, *key: int) -> tuple[np.random.Generator, ...]:
        raise ValueError(
            "it draws random numbers: expected an agent that does not; use kind='band'"
        )


def first_wrong_round(agent: IndexAgent, trial: Trial) -> WrongRound | None:
    """Find the first round with a wrong arm; None if all are right.

    Args:
        agent: the reference; it is reset.
        trial: what the submission did.

    Raises:
        ValueError: the reference draws random numbers.
    """
    seen: list[list[float]] = [[] for _ in range(trial.problem.n_arms)]
    steps = _steps(agent, trial)
    for t, (arm, reward, step) in enumerate(zip(trial.arms, trial.rewards, steps, strict=True)):
        best, surely = step
        same = np.flatnonzero((best & surely)[:arm]).tolist()
        lower = [k for k in same if seen[k] == seen[arm]]
        if not best[arm] or lower:
            history, allowed = agent.history, agent.allowed_arms()
            right = best.copy()
            if best[arm]:
                right[:] = False
                right[lower] = True
            return WrongRound(
                t + 1,
                int(arm),
                right,
                history.pulls[0].copy(),
                history.means[0].copy(),
                agent.indices()[0].copy(),
                np.ones_like(right) if allowed is None else allowed[0].copy(),
                bool(best[arm]),
            )
        seen[arm].append(float(reward))
    return None


def likely_mistakes(mistakes: Sequence[Mistake], trial: Trial) -> list[str]:
    """Return the sentences of those mistakes that explain every arm of a trial."""
    return [mistake.sentence for mistake in mistakes if _explains(mistake, trial)]


def _explains(mistake: Mistake, trial: Trial) -> bool:
    agent = agent_factory(mistake.agent)()
    assert isinstance(agent, IndexAgent)  # noqa: S101
    steps = _steps(agent, trial)
    return all(best[arm] for arm, (best, _) in zip(trial.arms, steps, strict=True))


def _steps(agent: IndexAgent, trial: Trial) -> Iterator[tuple[BoolArray, BoolArray]]:
    """Yield `_best_arms` before each round."""
    agent.reset(trial.problem, 1, LowestOfTies())
    for arm, reward in zip(trial.arms, trial.rewards, strict=True):
        yield _best_arms(agent)
        agent.update(np.array([arm]), np.array([reward]))


def _best_arms(agent: IndexAgent) -> tuple[BoolArray, BoolArray]:
    """Return the arms whose index may be the largest, and those that are surely allowed."""
    index, slack = agent.indices()[0], agent.history.problem.tolerance
    surely, perhaps = _allowed(agent, slack)
    best: BoolArray = perhaps & (index >= np.where(surely, index, -np.inf).max() - slack)
    return best, surely


def _allowed(agent: IndexAgent, slack: float) -> tuple[BoolArray, BoolArray]:
    """Return the arms that a C-Bandit surely allows, and those that it may allow."""
    history, allowed = agent.history, agent.allowed_arms()
    if allowed is None or not isinstance(history, CorrelatedHistory):
        every = np.ones(history.problem.n_arms, dtype=np.bool_)
        return every, every
    near = np.abs(history.bounds - history.required_bound)[0] <= slack
    leaders = (history.significant & (history.means >= history.best_mean - slack))[0]
    # Of several leaders, Algorithm 1 adds one to the competitive arms.
    surely = (allowed[0] & ~near & ~leaders) | history.unknown
    return surely | (leaders if leaders.sum() == 1 else False), allowed[0] | near
