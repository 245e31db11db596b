"""`leaderboard`: rank agents by their normalised regret on the tasks that all of them play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import BoolArray, FloatArray
from cmab_gym.evaluation.results.results import short_labels
from cmab_gym.leaderboard.records import Records, Row
from cmab_gym.leaderboard.scores import (
    STATISTICS,
    interval,
    mean,
    places,
    resampled,
    task_ranks,
    wins,
)
from cmab_gym.leaderboard.suite import FAMILIES

if TYPE_CHECKING:
    import pandas as pd

RESAMPLES = 1000


def leaderboard(
    records: Records, *, by: str = "iqm", n_resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Rank agents, the best first; then those without a place.

    Agents that play all tasks and are told nothing more have a place. Others have none; of those
    that play some tasks, `would_be` says which place their regret has on these tasks.

    Args:
        records: of the agents.
        by: "iqm" or "mean": what of the normalised regret decides the place.
        n_resamples: resamples of the bootstrap, 100 or more.
        seed: decides the resamples.

    Returns:
        One row for each agent that played a task. Columns: place and would_be, NaN if there is
        none; agent, its short name, and name, that in the records; tasks, how many it played; iqm,
        the interquartile mean of its normalised regret over all trials of these tasks, and mean;
        low and high, the 95 % interval of the one that decides the place; place_low and place_high,
        that of the place; mean_rank over tasks, by mean regret; the mean in each family of tasks,
        under the family's name; microseconds per round of a trial; told, what it was told more;
        missing, why it does not play all tasks; and made, how the row was made.

    Raises:
        ValueError: no agent has a place, or an argument is out of range.
    """
    import pandas as pd

    by = checks.choice("by", by, STATISTICS)
    n_resamples = checks.whole_number("n_resamples", n_resamples, 100)
    seed = checks.whole_number("seed", seed, 0)
    labels = dict(zip(records.agents, short_labels(records.agents), strict=True))
    ranked = ranked_rows(records)
    others = [row for row in records.rows if row not in ranked and row.played.any()]
    scores = _scores(ranked, ranked, by, n_resamples, seed)
    for row in others:
        against = [] if row.told else ranked
        (own,) = _scores([row], against, by, n_resamples, seed)
        scores.append(own)
    table = pd.DataFrame(
        [
            {"agent": labels[row.agent], "name": row.agent, **own, **_described(row, records)}
            for row, own in zip([*ranked, *others], scores, strict=True)
        ]
    )
    full = table["tasks"] == len(records.suite.tasks)
    return (
        table.assign(some=~full)
        .sort_values(["place", "some", by, "agent"], na_position="last")
        .drop(columns="some")
        .reset_index(drop=True)
    )


def ranked_rows(records: Records) -> list[Row]:
    """Return the rows of the agents that have a place.

    Raises:
        ValueError: no agent has one.
    """
    ranked = [row for row in records.rows if row.played.all() and not row.told]
    if not ranked:
        raise ValueError(
            "no agent has a place: expected one that played all tasks and was told nothing more; "
            "see the rows' failures"
        )
    return ranked


def _scores(
    rows: Sequence[Row], ranked: Sequence[Row], by: str, n_resamples: int, seed: int
) -> list[dict[str, Any]]:
    """Return the scores of rows that play the same tasks, and their places among ranked ones."""
    among = [*rows, *(row for row in ranked if row not in rows)]
    regret = stacked(among, rows[0].played)
    values = {name: statistic(regret) for name, statistic in STATISTICS.items()}
    samples = resampled(regret, STATISTICS[by], n_resamples, seed)
    (low, high), place = interval(samples), places(values[by])
    place_low, place_high = interval(places(samples))
    ranks = task_ranks(regret).mean(axis=1)
    has_place, compared = rows[0] in ranked, bool(ranked)
    return [
        {
            "place": place[i] if has_place else np.nan,
            "would_be": place[i] if compared and not has_place else np.nan,
            "tasks": int(rows[0].played.sum()),
            **{name: value[i] for name, value in values.items()},
            "low": low[i],
            "high": high[i],
            "place_low": place_low[i] if compared else np.nan,
            "place_high": place_high[i] if compared else np.nan,
            "mean_rank": ranks[i] if compared else np.nan,
        }
        for i in range(len(rows))
    ]


def stacked(rows: Sequence[Row], tasks: BoolArray) -> FloatArray:
    """Return the regret of rows on some tasks, float64 (rows, tasks, trials)."""
    return np.stack([row.regret[tasks] for row in rows])


def _described(row: Row, records: Records) -> dict[str, Any]:
    suite, played = records.suite, row.played
    families = np.array([task.family for task in suite.tasks])
    means = {
        family: row.regret[played & (families == family)].mean()
        if (played & (families == family)).any()
        else np.nan
        for family in FAMILIES
    }
    rounds = suite.rounds * suite.trials * played.sum()
    return {
        **means,
        "microseconds": 1e6 * row.seconds[played].sum() / rounds,
        "told": row.told,
        "missing": row.failure,
        "made": made_by(row),
    }


def made_by(row: Row) -> str:
    """Say how a row was made, in one line."""
    versions = row.made["versions"]
    files = [f"{name} (SHA-256 {digest[:12]}...)" for name, digest in row.made["files"].items()]
    packages = [f"{name} {versions[name]}" for name in ("cmab-gym", "numpy") if name in versions]
    loop = "compiled where possible" if "numba" in versions else "NumPy"
    seconds = f"{row.seconds[row.played].sum():.1f} seconds of rounds, {loop}"
    python = f"Python {versions['python']}"
    return ", ".join([row.agent, *files, *packages, python, row.made["started"], seconds])


def neighbours(
    records: Records,
    table: pd.DataFrame,
    agent: str,
    *,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[str]:
    """Compare an agent that has a place with those above and below it, in words.

    Args:
        records: of the agents.
        table: that of `leaderboard`.
        agent: its name in the records.
        n_resamples: resamples of the bootstrap.
        seed: decides the resamples.
    """
    order = table.loc[table["place"].notna(), "name"].tolist()
    if agent not in order:
        return []
    rows = {row.agent: row for row in records.rows}
    labels = dict(zip(table["name"], table["agent"], strict=True))
    at = order.index(agent)
    sentences = []
    for other in order[max(at - 1, 0) : at] + order[at + 1 : at + 2]:
        better = wins(rows[agent].regret, rows[other].regret)[np.newaxis]
        low, high = interval(resampled(better, mean, n_resamples, seed))
        sentences.append(
            f"{labels[agent]} has less regret than {labels[other]} in {100 * better.mean():.0f} % "
            f"of the trials ({100 * low[0]:.0f} to {100 * high[0]:.0f} %; ties count one half)"
        )
    return sentences
