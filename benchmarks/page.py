"""Write the tables of `docs/performance.md` from `results.json`.

Each table stands between `<!-- name -->` and `<!-- /name -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import authors
import limits
import numpy as np
import peers
from process import HERE
from speed import ARMS, TRIALS

from cmab_gym.arrays import FloatArray

PAGE = HERE.parent / "docs" / "performance.md"
Rows = Iterable[Sequence[str]]


def write(results: dict[str, Any], page: Path = PAGE) -> None:
    """Replace the tables for which there are results."""
    replace(tables(results), page)


def replace(tables: dict[str, str], page: Path) -> None:
    """Replace the tables of a page, by their names.

    Raises:
        ValueError: the page does not have a table of this name.
    """
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        start, end = _find(name, text, page).span()
        text = f"{text[:start]}\n{table}\n{text[end:]}"
    page.write_text(text, encoding="utf-8")


def rows(name: str, page: Path) -> list[list[str]]:
    """Read the rows of a table of a page, without its header."""
    lines = _find(name, page.read_text(encoding="utf-8"), page)[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def _find(name: str, text: str, page: Path) -> re.Match[str]:
    """Find what stands between the comments of a table."""
    found = re.search(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", text, flags=re.DOTALL)
    if found is None:
        raise ValueError(f"{page} has no table between <!-- {name} --> and <!-- /{name} -->")
    return found


def with_error(values: FloatArray, digits: int = 1, sign: str = "") -> str:
    """Write the mean over trials with its standard error; no digits if that is 10 or more."""
    if not values.any():
        return "0"
    error = values.std(ddof=1) / np.sqrt(values.size)
    digits = 0 if error >= 10 else digits
    return f"{values.mean():{sign},.{digits}f} ± {error:,.{digits}f}"


def tables(results: dict[str, Any]) -> dict[str, str]:
    """Return the tables for which there are results, as Markdown."""
    return {
        name: markdown(make(results))
        for name, (make, parts) in TABLES.items()
        if parts <= set(results)
    }


def markdown(rows: Rows) -> str:
    """Return a Markdown table; columns of numbers are right-aligned."""
    header, *body = [list(row) for row in rows]
    numeric = [
        all(re.fullmatch(r"([-+]?[\d.,]+)?", row[column]) for row in body)
        for column in range(len(header))
    ]
    lines = [header, ["---:" if each else "---" for each in numeric], *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def machine(results: dict[str, Any]) -> Rows:
    """Show the machine, the versions and the dates."""
    dates = sorted(part["date"] for part in results["measured"].values())
    yield "measured", " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    for name, value in results["machine"].items():
        yield name, str(value)


def waits(results: dict[str, Any]) -> Rows:
    """Show the seconds that a user waits, each in a new process."""
    yield "what", "seconds"
    found = {
        "`import cmab_gym`, beyond Gymnasium": ("startup", "import_seconds_beyond_gymnasium"),
        "the README's main job: 4 agents, 100 trials, 5000 rounds": ("startup", "main_job_seconds"),
        "`ml-1m.zip` to the MovieLens tables": ("movielens_tables", "seconds"),
        "the paper's 23 panels, `--quick`": ("paper", "quick_seconds"),
        "the paper's 23 panels, in full, all cores": ("paper", "full_seconds"),
    }
    for what, (part, name) in found.items():
        if part in results:
            yield what, f"{results[part][name]:.2f}"


def speed(results: dict[str, Any]) -> Rows:
    """Show rounds a second of each agent by arms and trials, with both kinds of loops."""
    yield "agent", "arms", "loops", *(f"{n} trial{'s' * (n > 1)}" for n in TRIALS)
    forms = results["speed"]
    for agent, by_arms in forms["NumPy"].items():
        for arms in by_arms:
            for form, found in forms.items():
                if agent not in found:
                    continue
                speeds = found[agent][arms].values()
                yield agent, arms, form, *("" if each is None else f"{each:,}" for each in speeds)


def environments(results: dict[str, Any]) -> Rows:
    """Show steps a second of each environment, and of an empty one for comparison."""
    yield "environment", "steps/s, one", "share of an empty one", "steps/s, 100 native"
    for name, found in results["environments"].items():
        scalar, vector = f"{found['scalar']:,}", f"{found['vector_of_100']:,}"
        yield name, scalar, f"{found['scalar_ratio']:.2f}", vector


def reading(results: dict[str, Any]) -> Rows:
    """Show the seconds and the memory that each reader needs for large files."""
    yield "file", "reader", "seconds", "peak, GB"
    for name, readers in results["large_files"].items():
        kind, rows, _ = name.split("_")
        for reader, found in readers.items():
            numbers = [f"{found.get(key, '')}" for key in ("seconds", "peak_gigabytes")]
            yield f"{kind}, {int(rows):,} rows", reader, *numbers


def growth(results: dict[str, Any]) -> Rows:
    """Show the time of a round relative to 50 arms, and what linear growth would give."""
    yield "agent", "loops", *(f"{each} arms" for each in ARMS)
    yield "linear in K", "", *(f"{each / 50:.2f}" for each in ARMS)
    for form, found in results["growth"]["seconds_per_round"].items():
        for agent, seconds in found.items():
            yield agent, form, *(f"{seconds[str(each)] / seconds['50']:.2f}" for each in ARMS)


def memory(results: dict[str, Any]) -> Rows:
    """Show the peak memory by arms, by rounds, and in the large case."""
    found = results["growth"]
    yield "case", "peak", "to compare with"
    for arms, peak in found["memory_of_c_ucb"].items():
        bound = f"{peak['bound']} GB if all arms are pulled"
        yield f"c-ucb, {arms} arms, 20 trials, the agent", f"{peak['agent']} GB", bound
    for rounds, gigabytes in found["peak_gigabytes_by_rounds"].items():
        name = f"c-ucb, {int(rounds):,} rounds, 10 arms, 10 trials, all of the process"
        yield name, f"{gigabytes} GB", "the same for any number of rounds"
    large = found["c_ucb_1000_arms_100000_rounds_10_trials"]
    name = "c-ucb, 1,000 arms, 100,000 rounds, 10 trials, all of the process"
    peak = large.get("failed") or f"{large['peak_gigabytes']} GB, {large['seconds']:.0f} s"
    yield name, peak, "2 GB, 120 s"


def catalogues(results: dict[str, Any]) -> Rows:
    """Show the time and the memory of an environment and of trials of a catalogue."""
    yield "case", "arms", "arms pulled", "environment", "peak", "trials", "more memory"
    cases = {
        "2,000 films of MovieLens 1M, 100 trials": results["films"],
        **{
            f"25 million ratings, `{name}`, 1 trial": found
            for name, found in results["all_items"].items()
        },
    }
    for name, found in cases.items():
        seconds = [
            f"{found[f'{part}_seconds']:.0f} s ({found[f'{part}_processor_seconds']:.0f} s)"
            for part in ("environment", "trials")
        ]
        peak, more = found["environment_peak_gigabytes"], found["trials_more_gigabytes"]
        pulled = f"{found['arms_pulled_in_any_trial']:,}"
        yield (
            *(name, f"{found['arms']:,}", pulled),
            *(seconds[0], f"{peak} GB", seconds[1], f"{more} GB"),
        )


def limit(results: dict[str, Any]) -> Rows:
    """Show each agent's speed and the limit of the machine."""
    yield "agent", "rounds/s", "limit", "limit is faster by"
    for agent in limits.NEEDS:
        ours = results["speed"]["compiled"][agent]["50"]["100"]
        most = limits.rounds_per_second(agent, results["limits"])
        yield agent, f"{ours:,}", f"{most:,.0f}", f"{most / ours:.1f}"


def theirs(results: dict[str, Any]) -> Rows:
    """Show the speed of the authors' code."""
    return authors.table(results["authors"])


def others(results: dict[str, Any]) -> Rows:
    """Show the speed of other libraries."""
    return peers.table(results["peers"])


# Each table, with the parts of the results that it shows.
TABLES: dict[str, tuple[Callable[[dict[str, Any]], Rows], set[str]]] = {
    "machine": (machine, {"machine", "measured"}),
    "waits": (waits, {"startup"}),
    "speed": (speed, {"speed"}),
    "environments": (environments, {"environments"}),
    "reading": (reading, {"large_files"}),
    "growth": (growth, {"growth"}),
    "memory": (memory, {"growth"}),
    "catalogues": (catalogues, {"films", "all_items"}),
    "limits": (limit, {"limits", "speed"}),
    "peers": (others, {"peers"}),
    "authors": (theirs, {"authors"}),
}
