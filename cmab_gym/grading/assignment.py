"""`Assignment`: what students are asked to write, and how it is graded, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from cmab_gym import checks
from cmab_gym.agents.index_agent import IndexAgent
from cmab_gym.agents.make import agent_factory, make_agent
from cmab_gym.evaluation.playing.batch import find_model
from cmab_gym.models.base import BanditModel

KINDS = ("exact", "band", "at-most")


@dataclass(frozen=True)
class Instance:
    """A bandit on which submissions are graded.

    Args:
        name: what students are told.
        env_id: a registered environment ("CMAB-Independent-v0").
        env_kwargs: its keyword arguments.
        hidden: whether students learn only if they passed, and not the details.
        shuffled: whether the arms are numbered at random, in another order in each trial.
        drawn: the keyword argument that is drawn from the grader's seed, such as "problem_seed", so
            that those who do not know the seed do not know the bandit; "" draws none.
    """

    name: str
    env_id: str
    env_kwargs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    hidden: bool = False
    shuffled: bool = False
    drawn: str = ""

    def kwargs(self, seed: int) -> dict[str, Any]:
        """Return the keyword arguments of the environment, given the seed of the trials."""
        drawn = int(np.random.SeedSequence(seed).generate_state(1)[0])
        return {**self.env_kwargs, **({self.drawn: drawn} if self.drawn else {})}

    def model(self, seed: int) -> BanditModel:
        """Return the bandit, given the seed of the trials.

        Raises:
            ValueError: the environment or an argument is unknown or wrong.
        """
        return find_model(self.env_id, self.kwargs(seed))


@dataclass(frozen=True)
class Mistake:
    """A mistake that students make: the agent that makes it, and what to tell them.

    Args:
        sentence: what is probably wrong.
        agent: as for `cmab_gym.agents.make.agent_factory`; an agent that pulls the arm with the
            largest index.
    """

    sentence: str
    agent: Any


@dataclass(frozen=True)
class Assignment:
    """An agent that students write, and the bandits on which it is graded.

    Args:
        name: its name, in reports.
        text: what students are asked to write. It is the docstring of the template.
        reference: name of the agent that does it right ("ucb", "c-ucb", "ts(beta=0.5)").
        instances: the bandits; each is a test.
        kind: "exact": each arm must be one that the reference may pull after the same rewards.
            "band": the regret must be that of the reference, neither larger nor smaller than by
            chance. "at-most": it must not be larger.
        rounds: pulls per trial.
        trials: trials on each instance.
        points: for all tests together; each has the same share.
        mistakes: mistakes that are recognised, for the kind "exact".

    Raises:
        ValueError: an argument is wrong, or for the kind "exact" the reference or the agent of a
            mistake has no index.
    """

    name: str
    text: str
    reference: str
    instances: tuple[Instance, ...]
    kind: str = "exact"
    rounds: int = 300
    trials: int = 3
    points: float = 10.0
    mistakes: tuple[Mistake, ...] = ()

    def __post_init__(self) -> None:
        checks.choice("kind", self.kind, KINDS)
        checks.whole_number("rounds", self.rounds, 1)
        checks.whole_number("trials", self.trials, 1)
        checks.positive("points", self.points)
        names = [instance.name for instance in self.instances]
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"instances with the names {names}: expected one or more, all distinct"
            )
        agent = make_agent(self.reference)
        if self.kind == "exact" and not isinstance(agent, IndexAgent):
            raise ValueError(
                f"reference={self.reference!r} with kind='exact': expected an agent that has an "
                "index, such as 'c-ucb'; use kind='band' for others"
            )
        for mistake in self.mistakes:
            if not isinstance(agent_factory(mistake.agent)(), IndexAgent):
                raise ValueError(
                    f"the mistake {mistake.sentence!r} of agent {mistake.agent!r}: expected an "
                    "agent that has an index, such as 'ucb(B=1)'"
                )
