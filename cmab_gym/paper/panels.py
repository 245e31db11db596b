"""The experiments of the paper as data: the problem and the published values of every panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cmab_gym.agents.make import published

AGENTS = ("ucb", "ts", "c-ucb", "c-ts")
ROUNDS, TRIALS = 5000, 100
READ_AT = 4800  # round of the curves' last marker, where the published values were read
READING_ERROR = 0.02  # relative error of a published value


@dataclass(frozen=True)
class Choice:
    """A choice that the paper does not state.

    Args:
        keyword: the keyword argument that makes it.
        options: its possible values; the panel's own is the first.
        about: what is chosen, in words.
        kind: "draws" of a random choice: published values are compared with the range over them,
            widened, since there are others; "variants": compared with the range; or "shown":
            compared with the first only.
        of_agents: whether it is an argument of the correlated agents, not of the environment.
    """

    keyword: str
    options: tuple[Any, ...]
    about: str
    kind: str = "draws"
    of_agents: bool = False

    @property
    def others(self) -> tuple[Any, ...]:
        """The options but the first."""
        return self.options[1:]


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, or an experiment of your own in the same form.

    Args:
        figure: number of the figure.
        letter: letter of the panel.
        title: what the panel shows.
        env_id: the environment.
        env_kwargs: its keyword arguments.
        parameters: the agents' parameters: "published", the B and beta of the figures on rated
            items, or "default".
        regret: the published mean regret at round `READ_AT`, by agent; empty where it cannot be
            read from the figure.
        competitive: the published C; None where there is none.
        choices: those that the paper does not state.
        agent_kwargs: more keyword arguments of the correlated agents.
        note: why exact agreement cannot be expected; "" where it can.
        stand_in: whether other data stand in for the paper's.
    """

    figure: int
    letter: str
    title: str
    env_id: str
    env_kwargs: Mapping[str, Any]
    parameters: str = "published"
    regret: Mapping[str, float] = field(default_factory=dict)
    competitive: int | None = None
    choices: tuple[Choice, ...] = ()
    agent_kwargs: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    stand_in: bool = False

    @property
    def name(self) -> str:
        """The panel's name, as in "fig10a"."""
        return f"fig{self.figure}{self.letter}"

    @property
    def agents(self) -> dict[str, str]:
        """The agents' names with parameters, by name."""
        inside = ", ".join(f"{key}={value!r}" for key, value in self.agent_kwargs.items())
        more = {a: f"{a}({inside})" if inside and a.startswith("c-") else a for a in AGENTS}
        if self.parameters == "published":
            names = published(*more.values())
            return {agent: names[name] for agent, name in more.items()}
        return more

    @property
    def has_draws(self) -> bool:
        """Whether the paper's values belong to one draw of a random choice."""
        return any(choice.kind == "draws" for choice in self.choices)

    def with_option(self, choice: Choice, option: Any) -> Panel:
        """Return the panel with an option of one of its choices."""
        if choice.of_agents:
            return replace(self, agent_kwargs={**self.agent_kwargs, choice.keyword: option})
        return replace(self, env_kwargs={**self.env_kwargs, choice.keyword: option})


_GENRES = Choice(
    "genre_draw", (0, 1, 2, 3, 4), "the genre of a movie that has several, and the masked entries"
)
_MASKS = Choice("mask_seed", (0, 1, 2, 3, 4), "the masked entries")
_USERS = Choice(
    "split",
    ("heavy-users", "heavy-users-smaller-ids"),
    "which of the users with equally many ratings are surveyed: those with the larger ids, or "
    "those with the smaller ids",
    kind="shown",
)
_FIRST_PULLS = Choice(
    "first_pulls",
    ("competitive", "all"),
    "whether C-UCB and C-TS pull each arm once first, as UCB does, or as in Algorithm 1 only "
    "while it is competitive",
    kind="variants",
    of_agents=True,
)
_GENRE_NOTE = (
    "one of a movie's genres, and the masked entries, are random: see the range over draws"
)
_LATENT_NOTE = "the three functions are a reconstruction: the paper only draws them"
_POETRY_NOTE = (
    "the poetry ratings may not be redistributed, so the bundled Goodreads sample stands in"
)


def _published(*values: float) -> Mapping[str, float]:
    return MappingProxyType(dict(zip(AGENTS, values, strict=True)) if values else {})


def _tabular(letter: str, title: str, preset: str, competitive: int) -> Panel:
    kwargs = {"preset": preset}
    return Panel(
        5, letter, title, "CMAB-Tabular-v0", kwargs, parameters="default", competitive=competitive
    )


def _latent(figure: int, letter: str, preset: str, competitive: int, note: str = "") -> Panel:
    return Panel(
        figure, letter, f"C = {competitive}", "CMAB-Latent-v0", {"preset": preset}, "default",
        competitive=competitive, note=note,
    )  # fmt: skip


def _genre(
    figure: int, letter: str, share: float, mask: float, competitive: int, *regret: float
) -> Panel:
    return Panel(
        figure, letter, f"p = {mask:g}", "CMAB-MovieLens-v0",
        {"task": "genre", "train_share": share, "mask": mask, "genre_draw": 0},
        regret=_published(*regret),
        competitive=competitive, choices=(_GENRES,), note=_GENRE_NOTE,
    )  # fmt: skip


def _movie(
    figure: int, letter: str, share: float, pad: float, competitive: int, *regret: float
) -> Panel:
    return Panel(
        figure, letter, f"q = {pad:g}", "CMAB-MovieLens-v0",
        {"task": "movie", "train_share": share, "pad": pad},
        regret=_published(*regret), competitive=competitive,
        choices=(_USERS, _FIRST_PULLS) if regret else (_USERS,),
    )  # fmt: skip


def _poetry(
    figure: int, letter: str, share: float, mask: float, competitive: int, *regret: float
) -> Panel:
    return Panel(
        figure, letter, f"p = {mask:g}, q = 0.1", "CMAB-Goodreads-v0",
        {"train_share": share, "mask": mask, "pad": 0.1, "mask_seed": 0},
        regret=_published(*regret),
        competitive=competitive, choices=(_MASKS,), note=_POETRY_NOTE, stand_in=True,
    )  # fmt: skip


# The regrets of figures 10 to 12 were read from the pictures; C is printed in the captions.
PANELS: tuple[Panel, ...] = (
    _tabular("a", "Table 1 (a): bounded regret", "table1-a", 1),
    _tabular("b", "Table 1 (b): all arms competitive", "table1-b", 2),
    _latent(7, "a", "two-arm-a", 1),
    _latent(7, "b", "two-arm-b", 2),
    _latent(9, "a", "three-arm-a", 1, _LATENT_NOTE),
    _latent(9, "b", "three-arm-b", 2, _LATENT_NOTE),
    _latent(9, "c", "three-arm-c", 3, _LATENT_NOTE),
    _genre(10, "a", 0.5, 0.25, 4, 1817, 879, 262, 211),
    _genre(10, "b", 0.5, 0.50, 11, 1817, 862, 870, 422),
    _genre(10, "c", 0.5, 0.70, 13, 1817, 820, 1453, 667),
    _movie(11, "a", 0.5, 0.1, 6, 1893, 1391, 222, 174),
    _movie(11, "b", 0.5, 0.4, 24, 1893, 1372, 676, 560),
    _movie(11, "c", 0.5, 0.6, 39, 1880, 1357, 1279, 1044),
    _poetry(12, "a", 0.5, 0.1, 8, 1271, 739, 189, 142),
    _poetry(12, "b", 0.5, 0.3, 11, 1271, 733, 372, 207),
    _genre(13, "a", 0.1, 0.25, 5),
    _genre(13, "b", 0.1, 0.50, 11),
    _genre(13, "c", 0.1, 0.70, 15),
    _movie(14, "a", 0.1, 0.1, 14),
    _movie(14, "b", 0.1, 0.4, 29),
    _movie(14, "c", 0.1, 0.6, 42),
    _poetry(15, "a", 0.1, 0.1, 7),
    _poetry(15, "b", 0.1, 0.3, 12),
)
FIGURES: Mapping[int, str] = MappingProxyType(
    {
        5: "Known pseudo-rewards: Table 1",
        7: "Latent source, two arms",
        9: "Latent source, three arms",
        10: "MovieLens genres",
        11: "MovieLens movies",
        12: "Goodreads poetry",
        13: "MovieLens genres, a tenth of the data for learning",
        14: "MovieLens movies, a tenth of the data for learning",
        15: "Goodreads poetry, a tenth of the data for learning",
    }
)


def find_panels(*names: str) -> list[Panel]:
    """Return the panels with the given names, in the order of `PANELS`.

    Args:
        names: panels ("10a", "fig10a") or figures ("10", all of its panels); none selects all.

    Raises:
        ValueError: there is no such panel or figure.
    """
    keys = [name.removeprefix("fig") for name in names]
    known = {f"{panel.figure}{panel.letter}": panel for panel in PANELS}
    for key in keys:
        if key not in known and key not in map(str, FIGURES):
            raise ValueError(
                f"no panel {key!r}: expected figures ({', '.join(map(str, FIGURES))}) or panels "
                f"({', '.join(known)})"
            )
    return [
        panel
        for key, panel in known.items()
        if not keys or key in keys or str(panel.figure) in keys
    ]


def on_ratings(panels: Sequence[Panel], data: str | Path) -> list[Panel]:
    """Use real ratings in the panels whose data are a stand-in.

    Args:
        panels: any panels; those without a stand-in stay as they are.
        data: path of the ratings, such as `goodreads_interactions_poetry.json.gz`.
    """
    return [
        replace(
            panel,
            env_kwargs={**panel.env_kwargs, "data": str(data)},
            stand_in=False,
            note="the masked entries are random: see the range over draws",
        )
        if panel.stand_in
        else panel
        for panel in panels
    ]
