"""The bundled tables, and how to build them from the raw archives."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import as_file, files
from os.path import isfile
from pathlib import Path
from types import MappingProxyType

from cmab_gym import checks
from cmab_gym.envs_data.downloads.cache import locate
from cmab_gym.envs_data.ratings import Ratings
from cmab_gym.envs_data.readers.archive import stamp
from cmab_gym.envs_data.readers.reader import read_ratings
from cmab_gym.envs_data.surveys.arms import Arms, genre_arms, most_rated_arms
from cmab_gym.envs_data.surveys.methods import Method
from cmab_gym.envs_data.surveys.split import Split, segment_name
from cmab_gym.envs_data.surveys.survey import Survey
from cmab_gym.envs_data.surveys.taking import take_survey


@dataclass(frozen=True)
class Source:
    """A source of ratings.

    Args:
        archive: possible file names of the raw archive, first that of the data set to fetch.
        licence: the terms that the provenance of the tables states.
        name: the first word of the names of its data sets.
    """

    archive: tuple[str, ...]
    licence: str
    name: str

    @property
    def remedy(self) -> str:
        """What to do for a table that is not bundled."""
        dataset = Path(self.archive[0]).stem
        return f"run `cmab-gym data fetch {dataset}`, and pass data={dataset!r} or its path"


SOURCES = MappingProxyType(
    {
        "movielens": Source(
            ("ml-1m.zip",),
            "GroupLens terms of use: research, no redistribution of the ratings; only aggregates "
            "are kept here. Cite Harper and Konstan (2015), doi:10.1145/2827872",
            "MovieLens",
        ),
        "goodreads": Source(
            ("goodbooks-10k.zip", "goodbooks-10k-sample.zip"),
            "CC BY-SA 4.0: goodbooks-10k by Zygmunt Zajac, https://github.com/zygmuntz/goodbooks-10k",
            "Goodreads",
        ),
    }
)


@dataclass(frozen=True)
class SurveySpec:
    """The arguments of a bundled survey.

    Args:
        source: a key of `SOURCES`.
        task: "genre", "movie" or "book".
        train_share: share of the ratings that training users gave.
        draw: the number of the genre draw; 0 for other tasks.
        segment: the segment of the test users, see `Split`; "" for none.
        split: the order of the users, see `Split`.

    Raises:
        ValueError: the source is unknown, or the segment is not a name.
    """

    source: str
    task: str
    train_share: float
    draw: int = 0
    segment: str = ""
    split: str = "heavy-users"

    def __post_init__(self) -> None:
        checks.choice("source", self.source, SOURCES)
        object.__setattr__(self, "segment", segment_name(self.segment))

    @property
    def name(self) -> str:
        """The name of the survey's file, without the extension."""
        draw = f"-draw{self.draw}" if self.task == "genre" else ""
        order = self.split.removeprefix("heavy-users")
        return f"{self.source}-{self.task}{draw}-train{round(100 * self.train_share):02d}{order}"

    def arms(self, ratings: Ratings) -> Arms:
        """Choose the arms of the task."""
        if self.task == "genre":
            return genre_arms(ratings, "random", self.draw)
        return most_rated_arms(ratings, {"movie": 50, "book": 25}[self.task])

    def take(self, ratings: Ratings) -> Survey:
        """Take the survey."""
        licence = SOURCES[self.source].licence
        return take_survey(
            ratings,
            self.arms(ratings),
            Split(self.train_share, self.split, segment=self.segment),
            Method(min_support=5 if self.task == "book" else 1),
            reward_support=(1, 2, 3, 4, 5),
            provenance={"task": self.task, "genre_draw": self.draw, "licence": licence},
        )


_SHARES = (0.5, 0.1)
_GENRE_DRAWS = 5
_SPLITS = ("heavy-users", "heavy-users-smaller-ids")  # of the movies


def bundled_specs() -> tuple[SurveySpec, ...]:
    """List the surveys that come with the package."""
    return (
        *(
            SurveySpec("movielens", "genre", s, draw)
            for s in _SHARES
            for draw in range(_GENRE_DRAWS)
        ),
        *(SurveySpec("movielens", "movie", s, split=split) for s in _SHARES for split in _SPLITS),
        *(SurveySpec("goodreads", "book", s) for s in _SHARES),
    )


@cache
def bundled_survey(spec: SurveySpec) -> Survey:
    """Load a survey that comes with the package.

    Raises:
        ValueError: the survey is not bundled.
    """
    if spec not in bundled_specs():
        raise ValueError(f"{_not_bundled(spec)}; for others, {SOURCES[spec.source].remedy}")
    with as_file(files("cmab_gym.envs_data") / "bundled" / f"{spec.name}.npz") as path:
        return Survey.load(path)


def _not_bundled(spec: SurveySpec) -> str:
    """Name the argument for which no survey is bundled, and the values for which one is."""
    if spec.segment:
        return f"segment={spec.segment!r} without data: expected none, as in the bundled tables"
    if replace(spec, split="heavy-users") in bundled_specs():
        return (
            f"split={spec.split!r} without data: expected 'heavy-users', or for movies "
            "'heavy-users-smaller-ids'"
        )
    shares = " or ".join(f"{share:g}" for share in sorted(_SHARES))
    given, expected = [f"train_share={spec.train_share:g}"], [f"train_share {shares}"]
    if spec.task == "genre":
        given.append(f"genre_draw={spec.draw}")
        expected.append(f"genre_draw from 0 to {_GENRE_DRAWS - 1}")
    return f"{' and '.join(given)} without data: expected {' and '.join(expected)}"


def survey_of(spec: SurveySpec, data: str | Path | None = None) -> Survey:
    """Load a bundled survey, or take any survey of a raw archive.

    Args:
        spec: the arguments of the survey.
        data: path of the raw archive, or name of a data set in the cache; None takes the bundled
            survey.

    Raises:
        ValueError: without `data`, the survey is not bundled; or the archive holds other ratings.
        FileNotFoundError: `data` does not exist.
    """
    checks.number_between("train_share", spec.train_share, 0, 1, "it is a share of the ratings")
    if data is None:
        return bundled_survey(spec)
    path = locate(data).resolve()
    return _taken(spec, path, stamp(path))


@lru_cache(maxsize=16)
def _taken(spec: SurveySpec, path: Path, _: Hashable) -> Survey:
    """Take a survey, again only when the archive has changed."""
    ratings = read_ratings(path)
    wanted = SOURCES[spec.source].name
    if not ratings.source.startswith(wanted):
        raise ValueError(
            f"{path} holds {ratings.source}: expected {wanted}; for other ratings use "
            "CMAB-Ratings-v0"
        )
    return spec.take(ratings)


def build_tables(raw: str | Path, out: str | Path) -> Iterator[Path]:
    """Build every bundled table from the raw archives in a folder, and yield the files written.

    Args:
        raw: folder with `ml-1m.zip` and `goodbooks-10k.zip` (or its sample).
        out: folder for the tables; it is created if needed.

    Raises:
        FileNotFoundError: an archive is missing; nothing is written.
    """
    archives = {name: _archive(Path(raw), source) for name, source in SOURCES.items()}
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, archive in archives.items():
        ratings = read_ratings(archive)
        for spec in bundled_specs():
            if spec.source == name:
                path = Path(out) / f"{spec.name}.npz"
                spec.take(ratings).save(path)
                yield path


def _archive(raw: Path, source: Source) -> Path:
    for name in source.archive:
        if isfile(raw / name):
            return raw / name
    raise FileNotFoundError(f"{raw} has no {' or '.join(source.archive)}: put the archive there")
