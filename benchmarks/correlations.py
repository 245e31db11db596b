"""Measure when correlations pay, and when the means of the survey do as well.

python benchmarks/correlations.py ml-1m.zip

It prints three tables and writes them into docs/when-correlations-pay.md, and some rows into the
README. `--only rivals --agents NAME ...` measures only these rows of the third one.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import page
from learned_pad import LearnedPad
from process import HERE

from cmab_gym import evaluate
from cmab_gym.arrays import FloatArray
from cmab_gym.envs_data import Method, Ratings, Split, Survey, read_ratings, take_survey
from cmab_gym.envs_data.surveys.arms import most_rated_arms

PAGE = HERE.parent / "docs" / "when-correlations-pay.md"
README = HERE.parent / "README.md"
IN_README = ("2,000 films, light users", "3 arms, hidden source")
ROUNDS, TRIALS, TRIALS_TO_CHOOSE = (100, 500, 5000), 20, 10
AGENTS = ("ts", "survey-greedy", "warm-ts", "c-ts", "c-warm-ts")
# The eight segments of MovieLens 1M with the most users, largest first.
SEGMENTS = ("M-25", "M-35", "M-18", "F-25", "M-45", "M-50", "F-35", "F-18")
CHOSEN_ON, REPORTED_ON = SEGMENTS[::2], SEGMENTS[1::2]


class Setting(NamedTuple):
    """An agent, and how the pseudo-rewards are computed."""

    agent: str
    pad: float = 0.1
    method: str = "mean"
    min_support: int = 1

    def __str__(self) -> str:
        """Name the agent, and what differs from the usual pseudo-rewards."""
        usual = Setting._field_defaults
        changed = {
            name: value for name, value in self._asdict().items() if value != usual.get(name)
        }
        return ", ".join(
            f"`{value}`" if name == "agent" else f"`{name}={value}`"
            for name, value in changed.items()
        )


def grid(agent: str, pads: Sequence[float] = (0.1,), **values: Sequence[Any]) -> list[Setting]:
    """Return an agent with all combinations of its parameters and of pads."""
    return [
        Setting(f"{agent}({', '.join(map('{}={}'.format, values, each))})" if each else agent, pad)
        for *each, pad in product(*values.values(), pads)
    ]


TABLES = (
    (0.1, "mean"),
    (0.2, "mean"),
    (0.4, "mean"),
    (0.1, "mean", 20),
    (0.1, "mean", 100),
    (0.1, "hoeffding"),
)
RULES = {"LearnedPad": LearnedPad()}  # agents of this study's own
SETTINGS = {
    "means": [
        Setting(f"warm-ts(weight={weight}, beta={beta})")
        for weight, beta in product((20, 50, 200), (0.0125, 0.025, 0.05, 0.1))
    ],
    "correlations": [
        Setting(agent, *table)
        for agent, table in product(
            ("c-ts", "c-ts(beta=0.1)", "c-ts(beta=0.0125)", "LearnedPad"), TABLES
        )
    ],
    "both": [
        *(Setting("c-warm-ts", *table) for table in TABLES),
        *(Setting(f"c-warm-ts(until={rounds})") for rounds in (50, 200, 1000)),
    ],
}
# Every agent that may know the survey, with the settings among which its best one is chosen.
# A new rival is one line.
RIVALS: dict[str, list[Setting]] = {
    "ts": grid("ts", beta=(1, 0.1, 0.03, 0.0125, 0.005, 0.0025)),
    "ucb": grid("ucb", B=(4, 1, 0.5, 0.25, 0.125, 0.0625)),
    "warm-ts": grid("warm-ts", weight=(20, 50), beta=(0.00625, 0.0125, 0.025, 0.05)),
    "factor-ts": grid("factor-ts", beta=(1, 0.3, 0.1, 0.05, 0.025)),
    "v-ids": grid("v-ids", beta=(1, 0.3, 0.1)),
    "min-ucb": grid("min-ucb", bias=(0.05, 0.1, 0.2), B=(1, 0.5, 0.25, 0.125)),
    "c-ts": grid("c-ts", pads=(0.1, 0.2), beta=(1, 0.1, 0.03, 0.0125)),
    "c-ucb": grid("c-ucb", pads=(0.1, 0.2), B=(4, 1, 0.5, 0.25)),
    "old c-ucb": grid("c-ucb", pads=(0.1, 0.2), reference=("'most-pulled'",), B=(4, 1, 0.5, 0.25)),
    "class-ts": grid("class-ts", deviation=(0, 0.1, 0.2, 0.4), beta=(1, 0.3, 0.1, 0.03)),
    "class-ucb": grid("class-ucb", bias=(0, 0.1, 0.3), B=(4, 1, 0.25)),
    "clipped-ucb": grid("clipped-ucb", pads=(0.1, 0.2), B=(4, 1, 0.5, 0.25, 0.125)),
    "c-warm-ts": grid("c-warm-ts", pads=(0.1, 0.2), until=(50, 200)),
}
SLOW = {"v-ids": 4}  # trials of agents that would take much longer than all others
FACTORS, CLASSES = 4, 16
REFERENCE = "warm-ts"


def regret(agent: str, env_id: str, trials: int = TRIALS, **env_kwargs: Any) -> FloatArray:
    """Return the mean regret after each of ROUNDS."""
    mean: FloatArray = regrets(agent, env_id, trials, **env_kwargs).mean(axis=0)
    return mean


def regrets(agent: str, env_id: str, trials: int, **env_kwargs: Any) -> FloatArray:
    """Return the regret of each trial after each of ROUNDS, (trials, rounds)."""
    trials = 1 if agent == "survey-greedy" else trials  # all its trials are equal
    results = evaluate(
        env_id,
        {agent: RULES.get(agent, agent)},
        ROUNDS[-1],
        trials,
        env_kwargs=env_kwargs,
        checkpoints=ROUNDS,
    )
    found: FloatArray = results.regret(agent)
    return found


@cache
def survey(
    ratings: Ratings, films: int, split: Split, method: Method, factors: int = 0, classes: int = 0
) -> Survey:
    """Survey the films that most users rated."""
    arms, stars = most_rated_arms(ratings, films), (1, 2, 3, 4, 5)
    return take_survey(ratings, arms, split, method, stars, factors=factors, classes=classes)


def over_segments(
    ratings: Ratings,
    films: int,
    setting: Setting,
    segments: Sequence[str],
    trials: int = TRIALS,
) -> FloatArray:
    """Return the mean regret over trials and segments after each of ROUNDS."""
    mean: FloatArray = each_segment(ratings, films, setting, segments, trials).mean(axis=(0, 1))
    return mean


def each_segment(
    ratings: Ratings, films: int, setting: Setting, segments: Sequence[str], trials: int
) -> FloatArray:
    """Return the regret in each segment and trial after each of ROUNDS, (segment, trial, round)."""
    method = Method(setting.method, min_support=setting.min_support)
    return np.array(
        [
            regrets(
                setting.agent,
                "CMAB-Ratings-v0",
                trials,
                data=survey(ratings, films, Split(segment=segment), method, FACTORS, CLASSES),
                pad=setting.pad,
            )
            for segment in segments
        ]
    )


def cases(ratings: Ratings) -> Iterator[Sequence[str]]:
    """Show the regret of each agent where the survey is nearer to the new users, and further."""
    split = {films: survey(ratings, films, Split(), Method()) for films in (50, 2000)}
    known = {
        "18 genres, light users": ("CMAB-MovieLens-v0", {"task": "genre"}),
        "50 films, light users": ("CMAB-Ratings-v0", {"data": split[50], "pad": 0.1}),
        "2,000 films, light users": ("CMAB-Ratings-v0", {"data": split[2000], "pad": 0.1}),
    }
    tables = {
        "2 arms, joint table": ("CMAB-Tabular-v0", {"preset": "table1-a"}),
        "3 arms, hidden source": ("CMAB-Latent-v0", {"preset": "three-arm-a"}),
    }
    yield "case", "rounds", *(f"`{agent}`" for agent in AGENTS)
    for name, (env_id, env_kwargs) in known.items():
        yield from rows(name, {each: regret(each, env_id, **env_kwargs) for each in AGENTS})
    for films in (50, 200):
        found = {each: over_segments(ratings, films, Setting(each), SEGMENTS) for each in AGENTS}
        yield from rows(f"{films} films, eight segments", found)
    for name, (env_id, env_kwargs) in tables.items():
        agents = ("ts", "c-ts")
        yield from rows(name, {each: regret(each, env_id, **env_kwargs) for each in agents})


def rows(name: str, found: dict[str, FloatArray]) -> Iterator[Sequence[str]]:
    """Show the regret of the agents that can play, after each of ROUNDS."""
    print(name, {each: numbers.round(1).tolist() for each, numbers in found.items()}, flush=True)
    for at, rounds in enumerate(ROUNDS):
        numbers = (f"{found[each][at]:,.1f}" if each in found else "" for each in AGENTS)
        yield name, f"{rounds:,}", *numbers


def settings(ratings: Ratings) -> Iterator[Sequence[str]]:
    """Show the settings that are best on CHOSEN_ON, and their regret on REPORTED_ON."""
    yield "films", "uses", "setting", *(f"{rounds:,} rounds" for rounds in ROUNDS), "by default"
    for films, (uses, choices) in product((50, 200), SETTINGS.items()):
        chosen = [
            over_segments(ratings, films, each, CHOSEN_ON, TRIALS_TO_CHOOSE)[-1] for each in choices
        ]
        best = choices[int(np.argmin(chosen))]
        print(films, uses, *zip(map(str, choices), np.round(chosen), strict=True), flush=True)
        default = Setting({"means": "warm-ts", "correlations": "c-ts", "both": "c-warm-ts"}[uses])
        numbers = (f"{each:,.1f}" for each in over_segments(ratings, films, best, REPORTED_ON))
        plain = over_segments(ratings, films, default, REPORTED_ON)[-1]
        yield f"{films}", uses, str(best), *numbers, f"{plain:,.1f}"


def rivals(ratings: Ratings, agents: Sequence[str]) -> Iterator[Sequence[str]]:
    """Show each agent at its best setting on CHOSEN_ON, and its regret on REPORTED_ON."""
    reference = Setting(REFERENCE)
    for films in (50, 200):
        warm = each_segment(ratings, films, reference, REPORTED_ON, TRIALS)
        for agent in agents:
            chosen = best_setting(ratings, films, agent)
            found = each_segment(ratings, films, chosen, REPORTED_ON, SLOW.get(agent, TRIALS))
            more = (found - warm[:, : found.shape[1]])[:, :, -1]
            error = (more.var(axis=1, ddof=1).mean() / more.size) ** 0.5
            numbers = (f"{each:,.1f}" for each in found.mean(axis=(0, 1)))
            yield f"{films}", str(chosen), *numbers, f"{more.mean():+,.1f} ± {error:.1f}"


def best_setting(ratings: Ratings, films: int, agent: str) -> Setting:
    """Return the setting of a rival with the least regret on CHOSEN_ON."""
    choices, trials = RIVALS[agent], SLOW.get(agent, TRIALS_TO_CHOOSE)
    found = [over_segments(ratings, films, each, CHOSEN_ON, trials)[-1] for each in choices]
    print(films, *zip(map(str, choices), np.round(found), strict=True), flush=True)
    return choices[int(np.argmin(found))]


def with_others(table: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Add the rows of other agents that the page has; sort by films and regret over `warm-ts`."""

    def key(row: Sequence[str]) -> tuple[str, str]:
        """Return the number of films, and the agent without its numbers."""
        return row[0], re.sub(r"\w+=[\d.]+|[(),` ]", "", row[1])

    rows = {key(row): row for row in [*page.rows("rivals", PAGE), *table]}
    return sorted(rows.values(), key=lambda row: (int(row[0]), float(re.sub(" .*|,", "", row[5]))))


def for_readme(table: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Choose the first and the last row of a case with a survey, and the last of one without."""
    header, *body = table
    films, source = ([row for row in body if row[0] == case] for case in IN_README)
    yield from (header, films[0], films[-1], source[-1])


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="path of ml-1m.zip")
    parser.add_argument("--only", choices=("cases", "settings", "rivals"))
    parser.add_argument("--agents", nargs="+", choices=RIVALS, default=list(RIVALS))
    chosen = parser.parse_args()
    ratings = read_ratings(chosen.data)
    for name, measure in {"cases": cases, "settings": settings}.items():
        if chosen.only in (None, name):
            table = list(measure(ratings))
            print(page.markdown(table), flush=True)
            page.replace({name: page.markdown(table)}, PAGE)
            if name == "cases":
                page.replace({"correlations": page.markdown(for_readme(table))}, README)
    if chosen.only in (None, "rivals"):
        header = ("films", "agent", *(f"{rounds:,} rounds" for rounds in ROUNDS), "over `warm-ts`")
        rivals_table = [header, *with_others(list(rivals(ratings, chosen.agents)))]
        print(page.markdown(rivals_table), flush=True)
        page.replace({"rivals": page.markdown(rivals_table)}, PAGE)


if __name__ == "__main__":
    main()
