"""The suite of the leaderboard and the built-in agents on it, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cmab_gym.agents.registry import agents_by_idea, is_policy
from cmab_gym.envs.independent import REWARDS
from cmab_gym.models.presets import LATENT, TABULAR
from cmab_gym.paper.panels import AGENTS, PANELS

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "tables": "joint probability tables: all presets",
        "latent": "hidden random sources: all presets",
        "genres": "MovieLens genres: the masks of figures 10 and 13",
        "films": "MovieLens films: the pads of figures 11 and 14",
        "books": "Goodreads books: the masks of figures 12 and 15",
        "control": "independent arms, of which correlations say nothing: all laws of rewards",
    }
)
_OF_FIGURE = {10: "genres", 11: "films", 12: "books", 13: "genres", 14: "films", 15: "books"}


@dataclass(frozen=True)
class Task:
    """One environment of a suite.

    Args:
        name: unique in the suite.
        family: a key of `FAMILIES`.
        env_id: the environment.
        env_kwargs: its keyword arguments.
    """

    name: str
    family: str
    env_id: str
    env_kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """What every agent of a leaderboard plays.

    Args:
        tasks: the environments.
        rounds: pulls per trial.
        trials: trials of each task, with the same rewards for all agents.
        seed: decides all random numbers.
    """

    tasks: tuple[Task, ...]
    rounds: int
    trials: int
    seed: int = 0


def _tasks() -> Iterator[Task]:
    for name in TABULAR:
        yield Task(name, "tables", "CMAB-Tabular-v0", {"preset": name})
    for name in LATENT:
        yield Task(name, "latent", "CMAB-Latent-v0", {"preset": name})
    for panel in PANELS:
        if panel.figure in _OF_FIGURE:
            yield Task(panel.name, _OF_FIGURE[panel.figure], panel.env_id, panel.env_kwargs)
    for rewards in REWARDS:
        yield Task(rewards, "control", "CMAB-Independent-v0", {"rewards": rewards})


SUITE = Suite(tuple(_tasks()), rounds=1000, trials=20)
_QUICK_TASKS = ("table1-a", "three-arm-b", "fig10a", "bernoulli")
QUICK = Suite(
    tuple(task for task in SUITE.tasks if task.name in _QUICK_TASKS), rounds=100, trials=5
)

# Built-in agents that the table leaves out, by the reason.
LEFT_OUT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "slow": ("npts", "c-npts", "graves-lai"),
        "the same as without `subsampled-` if arms are few": (
            *("subsampled-ucb", "c-subsampled-ucb"),
            *("subsampled-greedy", "c-subsampled-greedy"),
        ),
        "need factors or classes of a survey, which the bundled tables do not have": (
            *("factor-ts", "c-factor-ts", "v-ids", "c-v-ids"),
            *("class-ts", "c-class-ts", "class-ucb", "c-class-ucb"),
        ),
        "is told the rewards of all arms, which do not exist where rewards pair": ("ucb-n",),
        "pull what `oracle` pulls": ("c-oracle",),
        "need the extra rl": ("ppo", "a2c", "dqn"),
    }
)
# The `tc-` version of most agents differs from the `c-` version on few tasks.
TIGHTENED = ("tc-ucb", "tc-ts", "tc-ucb-tuned", "tc-kl-ucb", "tc-bayes-ucb")
QUICK_AGENTS = ("random", *AGENTS)


def built_in_agents() -> list[str]:
    """List the built-in agents of the table: plain ones, correlated ones, and `TIGHTENED`."""
    left_out = {name for names in LEFT_OUT.values() for name in names}
    names = [
        prefix + name
        for idea, classes in agents_by_idea().items()
        if idea not in ("your own", "from installed packages")
        for name, cls in classes.items()
        for prefix in (("", "c-") if is_policy(cls) else ("",))
    ]
    return [*(name for name in names if name not in left_out), *TIGHTENED]
