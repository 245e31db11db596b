"""`compare`: which agents differ in final regret, and which differences the trials can show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cmab_gym import checks
from cmab_gym.arrays import FloatArray
from cmab_gym.evaluation.comparison.statistics import (
    all_pairs,
    compare_paired,
    describe,
    fewest_trials,
    holm,
)
from cmab_gym.evaluation.results.joining import what_decides
from cmab_gym.evaluation.results.results import WIDEST_NAME, Results, listed, short_labels
from cmab_gym.evaluation.results.results_file import TABLE
from cmab_gym.text import shown

if TYPE_CHECKING:
    import pandas as pd

ERROR = 0.05  # probability that any of the pairs is called different where none is
RESAMPLES = 9999


@dataclass(frozen=True)
class Pair:
    """Two agents compared on the same trials.

    Args:
        first, second: their names, as in `Comparison`.
        trials: number of trials.
        difference: mean final regret of the first minus that of the second.
        low, high: its interval; those of all pairs, at all looks of `evaluate_until`, hold
            together with probability 95 % (Bonferroni); NaN for one trial.
        p: p value of the sign-flip test, corrected for all pairs by Holm's method, and for looks.
        win_rate: share of trials in which the first has less regret; ties count one half.
        ratio: mean of the first over mean of the second; NaN if the second is 0.
        ratio_low, ratio_high: its interval, at the same level.
        detectable: the smallest difference that so many trials show with a power of 80 %, at the
            level of the intervals; infinite if they are too few to show any.
        needed: the fewest trials that could show a difference.
    """

    first: str
    second: str
    trials: int
    difference: float
    low: float
    high: float
    p: float
    win_rate: float
    ratio: float
    ratio_low: float
    ratio_high: float
    detectable: float
    needed: int

    @property
    def better(self) -> str | None:
        """The agent with less regret; None unless its interval and its p value both show it."""
        if self.p > ERROR or not (self.low > 0 or self.high < 0):
            return None
        return self.first if self.high < 0 else self.second

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        first, second = self.first, self.second
        if self.trials < self.needed:
            count = "1 trial" if self.trials == 1 else f"{self.trials} trials"
            return (
                f"{first} and {second}: {count} cannot show a difference; "
                f"use at least {self.needed}"
            )
        if self.detectable == 0 == self.difference:
            return f"{first} and {second} have equal regret in each of {self.trials} trials"
        smallest = rounded(self.detectable)
        can_show = f"{self.trials} trials can show a difference of {smallest}"
        if self.better is None:
            interval = _interval(self.low, self.high)
            return f"{first} and {second}: no difference is shown ({interval}); {can_show}"
        if self.better == first:
            less = _interval(-self.high, -self.low)
            return f"{first} has {less} less regret than {second}; {can_show}"
        return f"{second} has {_interval(self.low, self.high)} less regret than {first}; {can_show}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """All pairs of agents on one environment, by final regret.

    Args:
        title: the environment and its keyword arguments.
        labels: the agents' labels, without the path of a file unless two would become equal.
        regret: float64 (agents, trials), the final regret in the trials that all agents have.
        pairs: one for every two agents, in the order of the labels.
        notes: sentences about agents and trials that were left out.
    """

    title: str
    labels: tuple[str, ...]
    regret: FloatArray
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        agents = self.agents()
        agents["agent"] = agents["agent"].map(partial(shown, most=WIDEST_NAME))
        table = agents.to_string(index=False, float_format="%.1f")
        sentences = [shown(pair.sentence) for pair in self.pairs]
        return "\n".join([self.title, *map(shown, self.notes), table, *sentences])

    def agents(self) -> pd.DataFrame:
        """Return one row per agent: agent, mean, iqm, quantiles and worst_tenth of final regret.

        The interquartile mean (iqm) leaves out the lowest and the highest quarter of the trials;
        worst_tenth is the mean of the worst tenth.
        """
        import pandas as pd

        rows = zip(self.labels, self.regret, strict=True)
        return pd.DataFrame([{"agent": label, **describe(own)} for label, own in rows])

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per pair, with the attributes of `Pair`."""
        import pandas as pd

        return pd.DataFrame([{**vars(pair), "better": pair.better} for pair in self.pairs])


def compare(
    results: Results | Sequence[Results], *, seed: int = 0, n_resamples: int = RESAMPLES
) -> Comparison:
    """Compare every two agents by their final regret, on the trials that all agents have.

    Args:
        results: those of one environment; several may differ in agents and seeds. Trials are the
            same if their seed and their index are. Agents that failed are left out. Results of
            `evaluate_until` are corrected for its looks.
        seed: seed of the resamples.
        n_resamples: resamples of the bootstrap, and random flips of signs, 100 or more.

    Raises:
        TypeError: the results are a folder: load it.
        ValueError: the results are of different environments, there are fewer than two agents, they
            have no trial in common, an agent has two results for a trial, or there are more pairs
            than so few resamples can compare.

    Examples:
        >>> import cmab_gym
        >>> results = cmab_gym.evaluate("CMAB-Tabular-v0", ["random", "ucb"], 500, 20)
        >>> print(cmab_gym.compare(results).pairs[0].sentence)
        ucb has 29.8 to 34.8 less regret than random; 20 trials can show a difference of 3.9
    """
    seed = checks.whole_number("seed", seed, 0)
    n_resamples = checks.whole_number("n_resamples", n_resamples, 100)
    every = listed(results)
    groups = by_environment(every)
    if len(groups) > 1:
        what = what_differs(groups[0][0], groups[1][0])
        raise ValueError(
            f"results that differ in their {what}: expected the same rewards for every agent; "
            "compare each environment alone"
        )
    trials = _trials_by_agent(every)
    labels = tuple(short_labels([*trials]))
    if len(labels) < 2:
        raise ValueError(f"results of {len(labels)} agents ({', '.join(labels)}): expected two")
    common = sorted(set.intersection(*map(set, trials.values())))
    if not common:
        raise ValueError(
            f"{', '.join(labels)} have no trial in common: expected trials with the same seed; run "
            "all agents with one seed"
        )
    regret = np.array([[own[trial] for trial in common] for own in trials.values()])
    looks = max(int(results.manifest.get("looks", 1)) for results in every)
    pairs = _pairs(labels, regret, looks, n_resamples, seed)
    notes = tuple(_notes(every, trials, len(common), looks))
    return Comparison(shown(every[0].title), labels, regret, pairs, notes)


def _pairs(
    labels: Sequence[str], regret: FloatArray, looks: int, n_resamples: int, seed: int
) -> tuple[Pair, ...]:
    first, second = all_pairs(len(labels))
    error = ERROR / len(first) / looks
    if n_resamples < 1 / error:  # the smallest p value of the test is 1 / (n_resamples + 1)
        raise ValueError(
            f"n_resamples={n_resamples}: expected at least {np.ceil(1 / error):.0f} for "
            f"{len(first)} pairs of agents{_at(looks)}; compare fewer agents, or take more "
            "resamples"
        )
    found = compare_paired(regret[first], regret[second], error, n_resamples, seed)
    columns = {**vars(found), "p": np.minimum(looks * holm(found.p), 1)}
    return tuple(
        Pair(
            labels[i],
            labels[j],
            regret.shape[1],
            **{name: float(column[row]) for name, column in columns.items()},
            needed=fewest_trials(error),
        )
        for row, (i, j) in enumerate(zip(first, second, strict=True))
    )


def _trials_by_agent(every: Iterable[Results]) -> dict[str, dict[tuple[int, int], float]]:
    """Return each agent's final regret by seed and index of the trial."""
    found: dict[str, dict[tuple[int, int], float]] = {}
    for results in every:
        seed = int(results.manifest.get("seed", 0))
        for run in results.finished:
            own = found.setdefault(run.label, {})
            for trial, regret in zip(run.trials, run.regret[:, -1].tolist(), strict=True):
                if own.setdefault((seed, trial), regret) != regret:
                    raise ValueError(
                        f"agent {run.label!r} has two different results for trial {trial} of seed "
                        f"{seed}: expected one; give the agents different names"
                    )
    return found


def _at(looks: int) -> str:
    return f" and {looks} looks" if looks > 1 else ""


def _notes(
    every: Iterable[Results],
    trials: dict[str, dict[tuple[int, int], float]],
    common: int,
    looks: int,
) -> Iterator[str]:
    for failure in dict.fromkeys(text for results in every for text in results.failures.values()):
        yield f"left out: {failure}"
    most = max(map(len, trials.values()))
    if most > common:
        yield f"compared on the {common} trials that all agents have; some have {most}"
    if looks > 1:
        yield (
            f"the trials were added until the intervals were narrow, with up to {looks} looks: "
            "intervals and p values are corrected for them"
        )


def by_environment(every: Iterable[Results]) -> list[list[Results]]:
    """Group results whose trials with the same seed have the same rewards."""
    groups: dict[str, list[Results]] = {}
    for results in every:
        groups.setdefault(_environment(results), []).append(results)
    return list(groups.values())


def what_differs(one: Results, other: Results) -> str:
    """Return what first differs between results of two groups of `by_environment`, in words."""
    pairs = zip(_decides(one).items(), _decides(other).values(), strict=True)
    return next(what for (what, mine), theirs in pairs if mine != theirs)


def _environment(results: Results) -> str:
    return json.dumps(_decides(results))


def _decides(results: Results) -> dict[str, str]:
    return what_decides(results.manifest, results.checkpoints[-1])


def results_in(folder: str | Path) -> list[Results]:
    """Read the results of a `run`, or those of all finished tasks of a `sweep`.

    Raises:
        FileNotFoundError: the folder has neither.
        ValueError: a table is damaged.
    """
    folder = Path(folder)
    found = sorted([*folder.glob(TABLE), *folder.glob(f"*/{TABLE}")])
    if not found:
        raise FileNotFoundError(
            f"{folder} has no {TABLE}, and neither has a folder in it: expected a folder that "
            "`cmab-gym run` or `cmab-gym sweep` wrote"
        )
    return [Results.load(path.parent) for path in found]


def _interval(low: float, high: float) -> str:
    ends = dict.fromkeys(map(rounded, (low, high)))
    return " to ".join(ends)


def rounded(regret: float) -> str:
    """Write a difference in regret: with one decimal, or two digits if it is below 1.

    Examples:
        >>> [rounded(each) for each in (1234.56, -34.0, 0.996, 0.95, 0.0456, 0.0)]
        ['1,234.6', '-34.0', '1.0', '0.95', '0.046', '0']
    """
    return f"{regret:,.1f}" if abs(regret) >= 0.995 else f"{regret:.2g}"
