"""The paper's statements about its curves, as data, and the tests that judge them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cmab_gym.arrays import FloatArray

ERRORS = 4.0  # standard errors, so that about 1 verdict in 15,000 is a false alarm
_SIMILAR = 0.1  # relative difference of two "similar" or "comparable" regrets


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about the curves of a panel.

    Args:
        kind: "bounded" or "grows", about the curve of one agent; "below", "no worse" or "similar",
            about its regret relative to that of another; or "gain shrinks": relative to the other
            agent's regret, it is larger than in an earlier panel, whose C is smaller.
        agent: the agent.
        place: where the paper says it.
        other: the other agent, of a statement about two; else "".
        earlier: name of the earlier panel, of "gain shrinks"; else "".
    """

    kind: str
    agent: str
    place: str
    other: str = ""
    earlier: str = ""

    @property
    def what(self) -> str:
        """The statement in words, such as "c-ucb below ucb"."""
        since = f" than in {self.earlier}" if self.earlier else ""
        sides = {"gain shrinks": f"{self.agent} gains less over {self.other}{since}"}
        return sides.get(self.kind, f"{self.agent} {self.kind} {self.other}".rstrip())


@dataclass(frozen=True)
class Measured:
    """What a statement is judged by.

    Args:
        value: the share of regret from the second half of the rounds; or the agent's regret divided
            by the other agent's.
        low: the value minus `ERRORS` standard errors.
        high: the value plus that.
        holds: whether the statement holds; None if the errors are too large to tell.
    """

    value: float
    low: float
    high: float
    holds: bool | None


Curves = Mapping[str, FloatArray]  # for each agent, regret (trials, checkpoints)


def judge(
    claim: Claim, curves: Curves, checkpoints: Sequence[int], earlier: Curves | None
) -> Measured:
    """Judge a statement by the regret of a panel's agents.

    Args:
        claim: the statement.
        curves: regret of each agent, float64 (trials, checkpoints).
        checkpoints: rounds of the columns.
        earlier: the same for the earlier panel; None if it was not run.
    """
    own = curves[claim.agent]
    if claim.kind in ("bounded", "grows"):
        return _judge_growth(own, checkpoints, claim.kind == "bounded")
    ratio, error = _ratio(own[:, -1], curves[claim.other][:, -1])
    low, high = ratio - ERRORS * error, ratio + ERRORS * error
    return Measured(ratio, low, high, _judge_ratio(claim, ratio, error, earlier))


def _judge_ratio(claim: Claim, ratio: float, error: float, earlier: Curves | None) -> bool | None:
    half = ERRORS * error
    if claim.kind == "below":
        return _told(ratio + half < 1, ratio - half > 1)
    if claim.kind == "no worse":
        return _told(ratio - half <= 1, ratio - half > 1)
    if claim.kind == "similar":
        off = abs(ratio - 1)
        return _told(off + half < _SIMILAR, off - half > _SIMILAR)
    if earlier is None:
        return None
    before, error_before = _ratio(earlier[claim.agent][:, -1], earlier[claim.other][:, -1])
    half = ERRORS * float(np.hypot(error, error_before))
    return _told(ratio - before > half, before - ratio > half)


def _judge_growth(regret: FloatArray, checkpoints: Sequence[int], bounded: bool) -> Measured:
    """Compare the share of regret from the second half of the rounds with half a logarithm's.

    A curve that grows as ln t gains the share ln 2 / ln T there, a bounded one nothing.
    """
    half = int(np.searchsorted(checkpoints, checkpoints[-1] / 2, side="right")) - 1
    share, error = _ratio(regret[:, -1] - regret[:, max(half, 0)], regret[:, -1])
    low, high = share - ERRORS * error, share + ERRORS * error
    limit = 0.5 * np.log(2) / np.log(max(checkpoints[-1], 2))
    flat, rising = high < limit, low > limit
    return Measured(share, low, high, _told(flat, rising) if bounded else _told(rising, flat))


def _told(holds: bool, fails: bool) -> bool | None:
    return bool(holds) if holds or fails else None


def _ratio(above: FloatArray, below: FloatArray) -> tuple[float, float]:
    """Return the ratio of two means over the same trials, and its standard error."""
    ratio = float(above.mean() / below.mean()) if below.any() else np.nan
    if len(above) < 2:
        return ratio, np.nan
    spread = float(np.std(above - ratio * below, ddof=1)) / np.sqrt(len(above))
    return ratio, spread / float(below.mean()) if below.any() else np.nan


_TABLE_1 = "Section 5.1, case"
_FIG_7, _FIG_9, _LATENT = "caption of Figure 7", "caption of Figure 9", "Section 5.2"
_LESS, _GAIN = "Section 6.3", "Section 7: C-Bandits reduce a K-armed bandit to a C-armed one"
_PAIRS = (("c-ucb", "ucb"), ("c-ts", "ts"))


def _grow(place: str, *agents: str) -> tuple[Claim, ...]:
    return tuple(Claim("grows", agent, place) for agent in agents)


def _bounded(place: str) -> tuple[Claim, ...]:
    return tuple(Claim("bounded", agent, place) for agent in ("c-ucb", "c-ts"))


def _pairs(kind: str, place: str, earlier: str = "") -> tuple[Claim, ...]:
    return tuple(Claim(kind, agent, place, other, earlier) for agent, other in _PAIRS)


def _all_competitive(place: str) -> tuple[Claim, ...]:
    return (*_grow(place, "c-ucb", "c-ts"), *_pairs("similar", place))


def _outperform(figure: int, letter: str, place: str) -> tuple[Claim, ...]:
    """Return what is said of panels with ratings, whose C grows from letter to letter."""
    earlier = f"fig{figure}{chr(ord(letter) - 1)}"
    return (
        *_grow(_GROWS, "ucb", "ts"),
        *_pairs("below", place),
        *(_pairs("gain shrinks", _GAIN, earlier) if letter > "a" else ()),
    )


# All K - 1 suboptimal arms are pulled O(log T) times.
_GROWS = "Section 7 and caption of Figure 9"
CLAIMS: Mapping[str, tuple[Claim, ...]] = MappingProxyType(
    {
        "fig5a": (*_grow(f"{_TABLE_1} (a)", "ucb", "ts"), *_bounded(f"{_TABLE_1} (a)")),
        "fig5b": (
            *_grow(_GROWS, "ucb", "ts"),
            *_all_competitive(f"{_TABLE_1} (b)"),
            Claim("below", "c-ts", f"{_TABLE_1} (b)", "c-ucb"),
            *_pairs("gain shrinks", _GAIN, "fig5a"),
        ),
        "fig7a": (*_grow(_GROWS, "ucb", "ts"), *_bounded(_FIG_7)),
        "fig7b": (
            *_grow(_GROWS, "ucb", "ts"),
            *_all_competitive(_FIG_7),
            *_pairs("gain shrinks", _GAIN, "fig7a"),
        ),
        "fig9a": (*_grow(_GROWS, "ucb", "ts"), *_bounded(_FIG_9)),
        "fig9b": (
            *_grow(_GROWS, "ucb", "ts", "c-ucb", "c-ts"),
            *_pairs("below", _LATENT),
            *_pairs("gain shrinks", _GAIN, "fig9a"),
        ),
        "fig9c": (
            *_grow(_GROWS, "ucb", "ts", "c-ucb", "c-ts"),
            *_pairs("no worse", _FIG_9),
            *_pairs("similar", _LATENT),
            *_pairs("gain shrinks", _GAIN, "fig9b"),
        ),
        **{
            f"fig{figure}{letter}": _outperform(figure, letter, f"caption of Figure {figure}")
            for figure in range(10, 16)
            for letter in ("ab" if figure in (12, 15) else "abc")
        },
        "fig14c": (
            *_outperform(14, "c", "caption of Figure 14"),
            Claim("similar", "c-ucb", _LESS, "ucb"),
        ),
    }
)
