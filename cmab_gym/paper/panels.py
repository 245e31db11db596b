"""The experiments of the paper, as data: what each panel of its figures plays and shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

AGENTS = ("ucb", "ts", "c-ucb", "c-ts")
ROUNDS, TRIALS = 5000, 100
READ_AT = 4800  # the last marker of the curves, at which the published values were read
READING_ERROR = 0.02  # relative, of a published value


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, or an experiment of your own in the same form.

    Args:
        figure: number of the figure.
        letter: of the panel.
        title: what it shows.
        env_id: the environment.
        env_kwargs: its keywords.
        settings: "published", the B and beta of the figures of rated items, or "default".
        regret: the published mean regret at round `READ_AT`, by agent; empty where the paper
            gives no number that can be read.
        competitive: the published C; None where there is none.
        draws: keyword and values of a random choice that the paper does not give; agreement can
            only be expected with the range over them, the panel's own among them.
        note: why exact agreement cannot be expected, "" where it can.
        stand_in: whether other data are played than the paper's.
    """

    figure: int
    letter: str
    title: str
    env_id: str
    env_kwargs: Mapping[str, Any]
    settings: str = "published"
    regret: Mapping[str, float] = field(default_factory=dict)
    competitive: int | None = None
    draws: tuple[str, tuple[Any, ...]] = ("", ())
    note: str = ""
    stand_in: bool = False

    @property
    def name(self) -> str:
        """The panel's name, as in "fig10a"."""
        return f"fig{self.figure}{self.letter}"


_GENRE_DRAWS = ("genre_draw", (0, 1, 2, 3, 4))
_MASK_DRAWS = ("mask_seed", (0, 1, 2, 3, 4))
_GENRE_NOTE = (
    "one of a movie's genres, and the masked entries, are random: see the range over draws"
)
_LATENT_NOTE = "the three functions are a reconstruction: the paper only draws them"
_POETRY_NOTE = (
    "the poetry ratings may not be redistributed: the bundled Goodreads sample stands in, so that "
    "only the order of the agents can agree"
)


def _published(*values: float) -> Mapping[str, float]:
    return MappingProxyType(dict(zip(AGENTS, values, strict=True)) if values else {})


def _tabular(letter: str, title: str, preset: str, competitive: int) -> Panel:
    kwargs = {"preset": preset}
    return Panel(
        5, letter, title, "CMAB-Tabular-v0", kwargs, settings="default", competitive=competitive
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
        competitive=competitive, draws=_GENRE_DRAWS, note=_GENRE_NOTE,
    )  # fmt: skip


def _movie(
    figure: int, letter: str, share: float, pad: float, competitive: int, *regret: float
) -> Panel:
    return Panel(
        figure, letter, f"q = {pad:g}", "CMAB-MovieLens-v0",
        {"task": "movie", "train_share": share, "pad": pad},
        regret=_published(*regret), competitive=competitive,
    )  # fmt: skip


def _poetry(
    figure: int, letter: str, share: float, mask: float, competitive: int, *regret: float
) -> Panel:
    return Panel(
        figure, letter, f"p = {mask:g}, q = 0.1", "CMAB-Goodreads-v0",
        {"train_share": share, "mask": mask, "pad": 0.1, "mask_seed": 0},
        regret=_published(*regret),
        competitive=competitive, draws=_MASK_DRAWS, note=_POETRY_NOTE, stand_in=True,
    )  # fmt: skip


# Regrets of figures 10 to 12 were read from the pictures; C is printed in their captions.
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
