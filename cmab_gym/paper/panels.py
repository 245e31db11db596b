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
        about: what is chosen, in words after "the paper does not say".
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


_GENRE_DRAWS = Choice(
    "genre_draw",
    (0, 1, 2, 3, 4),
    "under which of its genres a movie counts, and which entries are masked",
)
_MASKS = Choice("mask_seed", (0, 1, 2, 3, 4), "which entries are masked")
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

# What panels share: `_panel` sets figure and letter, and fills keywords and C into the title.
_LATENT = Panel(7, "", "C = {competitive}", "CMAB-Latent-v0", {}, parameters="default")
_RECONSTRUCTED = replace(
    _LATENT, note="the three functions are a reconstruction: the paper only draws them"
)
_GENRE = Panel(
    10,
    "",
    "p = {mask:g}",
    "CMAB-MovieLens-v0",
    {"task": "genre", "genre_draw": 0},
    choices=(_GENRE_DRAWS,),
    note="the genre under which a movie counts and the masked entries are random; see the range "
    "over draws",
)
_MOVIE = Panel(
    11, "", "q = {pad:g}", "CMAB-MovieLens-v0", {"task": "movie"}, choices=(_USERS, _FIRST_PULLS)
)
_POETRY = Panel(
    12,
    "",
    "p = {mask:g}, q = {pad:g}",
    "CMAB-Goodreads-v0",
    {"pad": 0.1, "mask_seed": 0},
    choices=(_MASKS,),
    note="the poetry ratings may not be redistributed, so the bundled Goodreads sample stands in",
    stand_in=True,
)


def _panel(
    shared: Panel, figure: int, letter: str, competitive: int, *regret: float, **env_kwargs: Any
) -> Panel:
    """Return a panel with what it shares with others, its C, and the regret of `AGENTS`, if any."""
    env_kwargs = {**shared.env_kwargs, **env_kwargs}
    return replace(
        shared,
        figure=figure,
        letter=letter,
        title=shared.title.format(competitive=competitive, **env_kwargs),
        env_kwargs=env_kwargs,
        regret=MappingProxyType(dict(zip(AGENTS, regret, strict=True)) if regret else {}),
        competitive=competitive,
        choices=tuple(choice for choice in shared.choices if regret or not choice.of_agents),
    )


def _table_1(letter: str, about: str, competitive: int) -> Panel:
    shared = Panel(5, "", f"Table 1 ({letter}): {about}", "CMAB-Tabular-v0", {}, "default")
    return _panel(shared, 5, letter, competitive, preset=f"table1-{letter}")


# The regrets of figures 10 to 12 were read from the pictures; C is printed in the captions.
PANELS: tuple[Panel, ...] = (
    _table_1("a", "bounded regret", 1),
    _table_1("b", "all arms competitive", 2),
    _panel(_LATENT, 7, "a", 1, preset="two-arm-a"),
    _panel(_LATENT, 7, "b", 2, preset="two-arm-b"),
    _panel(_RECONSTRUCTED, 9, "a", 1, preset="three-arm-a"),
    _panel(_RECONSTRUCTED, 9, "b", 2, preset="three-arm-b"),
    _panel(_RECONSTRUCTED, 9, "c", 3, preset="three-arm-c"),
    _panel(_GENRE, 10, "a", 4, 1817, 879, 262, 211, train_share=0.5, mask=0.25),
    _panel(_GENRE, 10, "b", 11, 1817, 862, 870, 422, train_share=0.5, mask=0.50),
    _panel(_GENRE, 10, "c", 13, 1817, 820, 1453, 667, train_share=0.5, mask=0.70),
    _panel(_MOVIE, 11, "a", 6, 1893, 1391, 222, 174, train_share=0.5, pad=0.1),
    _panel(_MOVIE, 11, "b", 24, 1893, 1372, 676, 560, train_share=0.5, pad=0.4),
    _panel(_MOVIE, 11, "c", 39, 1880, 1357, 1279, 1044, train_share=0.5, pad=0.6),
    _panel(_POETRY, 12, "a", 8, 1271, 739, 189, 142, train_share=0.5, mask=0.1),
    _panel(_POETRY, 12, "b", 11, 1271, 733, 372, 207, train_share=0.5, mask=0.3),
    _panel(_GENRE, 13, "a", 5, train_share=0.1, mask=0.25),
    _panel(_GENRE, 13, "b", 11, train_share=0.1, mask=0.50),
    _panel(_GENRE, 13, "c", 15, train_share=0.1, mask=0.70),
    _panel(_MOVIE, 14, "a", 14, train_share=0.1, pad=0.1),
    _panel(_MOVIE, 14, "b", 29, train_share=0.1, pad=0.4),
    _panel(_MOVIE, 14, "c", 42, train_share=0.1, pad=0.6),
    _panel(_POETRY, 15, "a", 7, train_share=0.1, mask=0.1),
    _panel(_POETRY, 15, "b", 12, train_share=0.1, mask=0.3),
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


def figure_title(figure: int) -> str:
    """Return the number of a figure, with its name if it is one of the paper's."""
    return f"Figure {figure}: {FIGURES[figure]}" if figure in FIGURES else f"Figure {figure}"


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
            note="the masked entries are random; see the range over draws",
        )
        if panel.stand_in
        else panel
        for panel in panels
    ]
