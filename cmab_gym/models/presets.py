"""The paper's example problems, as data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.models.latent import ScaledBeta
from cmab_gym.models.latent_bounds import Bound


@dataclass(frozen=True)
class TabularPreset:
    """Joint outcomes with their probabilities, and pseudo-rewards s[l][k] over the support.

    The pseudo-lower bounds, if there are any, have the same form.
    """

    source: str
    outcomes: tuple[tuple[float, ...], ...]
    probabilities: tuple[float, ...]
    pseudo_rewards: tuple[tuple[tuple[float, ...], ...], ...]
    pseudo_lower_bounds: tuple[tuple[tuple[float, ...], ...], ...] | None = None


@dataclass(frozen=True)
class LatentPreset:
    """The distribution of X, and one lower and one upper bound function per arm."""

    source: str
    latent: ScaledBeta
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]
    reward_bounds: tuple[float, float]


_BINARY = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))  # (R1, R2)
_TABLE_1 = (((0, 1), (0.8, 0.5)), ((0.7, 0.4), (0, 1)))
_APPENDIX = (((0, 1), (3 / 4, 2 / 3)), ((2 / 3, 6 / 7), (0, 1)))
# Table 2; entries that are unknown in the paper are the largest reward, 2.
_TABLE_2 = (
    ((0, 1, 2), (0.5, 1.3, 2), (1.5, 2, 0.7)),
    ((0.7, 0.8, 2), (0, 1, 2), (2, 1.3, 0.75)),
    ((2, 1.2, 1), (1.5, 2, 0.8), (0, 1, 2)),
)

# Four independent arms with rewards 0 and 1; a survey knows each mean up to 0.04.
_COINS = tuple(itertools.product((0.0, 1.0), repeat=4))
_COIN_MEANS = (0.7, 0.6, 0.6, 0.5)


def _known_within(margin: float) -> tuple[tuple[tuple[float, ...], ...], ...]:
    means = [round(mean + margin, 2) for mean in _COIN_MEANS]
    return tuple(
        tuple((0.0, 1.0) if k == l else (mean, mean) for k in range(4))
        for l, mean in enumerate(means)  # noqa: E741 (the paper's letter)
    )


TABULAR: Mapping[str, TabularPreset] = MappingProxyType(
    {
        "table1-a": TabularPreset(
            "Table 1 (a): arm 0 is best, C = 1", _BINARY, (0.2, 0.2, 0.4, 0.2), _TABLE_1
        ),
        "table1-b": TabularPreset(
            "Table 1 (b): arm 1 is best, C = 2", _BINARY, (0.2, 0.4, 0.3, 0.1), _TABLE_1
        ),
        # The paper gives the distribution of arm 0 only. This joint distribution has that marginal
        # and respects every pseudo-reward of Table 2.
        "three-armed": TabularPreset(
            "Tables 2 and 3: arm 0 is best, C = 2; the joint distribution is ours",
            ((0, 0, 0), (0, 0, 2), (1, 0, 1), (1, 1, 1), (2, 2, 0), (2, 2, 1)),
            (0.1, 0.1, 0.15, 0.05, 0.3, 0.3),
            _TABLE_2,
        ),
        "appendix": TabularPreset(
            "Table 5 (a): arm 0 is best, C = 2, though arm 1 could be ruled out",
            _BINARY,
            (0.1, 0.2, 0.3, 0.4),
            _APPENDIX,
        ),
        "two-sided": TabularPreset(
            "ours: bounds from both sides, arm 0 is best, C = 1; the lower ones help",
            _COINS,
            tuple(
                math.prod(p if r else 1 - p for r, p in zip(row, _COIN_MEANS, strict=True))
                for row in _COINS
            ),
            _known_within(0.04),
            _known_within(-0.04),
        ),
    }
)


def _line_below(x: FloatArray) -> FloatArray:
    return 2 * x - 1


def _line_above(x: FloatArray) -> FloatArray:
    return 2 * x + 1


def _parabola_below(x: FloatArray) -> FloatArray:
    return (3 - x) ** 2 - 1


def _parabola_above(x: FloatArray) -> FloatArray:
    return (3 - x) ** 2 + 1


def _hill(x: FloatArray) -> FloatArray:
    return 4 * x * (1 - x)


def _rise(x: FloatArray) -> FloatArray:
    return 1 - np.exp(-2.5 * x)


def _level(x: FloatArray) -> FloatArray:
    return np.full_like(x, 0.5)


def _two_arms(letter: str, verdict: str, a: float, b: float) -> LatentPreset:
    return LatentPreset(
        f"Figure 7 ({letter}): X = 6 * Beta({a:g}, {b:g}); {verdict}",
        ScaledBeta(a, b, 6.0),
        (_line_below, _parabola_below),
        (_line_above, _parabola_above),
        (-1.0, 13.0),
    )


def _three_arms(letter: str, verdict: str, a: float, b: float) -> LatentPreset:
    functions = (_hill, _rise, _level)
    return LatentPreset(
        f"Figure 9 ({letter}), a reconstruction: X ~ Beta({a:g}, {b:g}); {verdict}",
        ScaledBeta(a, b),
        functions,
        functions,
        (0.0, 1.0),
    )


LATENT: Mapping[str, LatentPreset] = MappingProxyType(
    {
        "two-arm-a": _two_arms("a", "arm 0 is best, C = 1", 1, 1),
        "two-arm-b": _two_arms("b", "arm 1 is best, C = 2", 1.5, 5),
        "three-arm-a": _three_arms("a", "arm 0 is best, C = 1", 4, 4),
        "three-arm-b": _three_arms("b", "arm 0 is best, C = 2", 2, 5),
        "three-arm-c": _three_arms("c", "arm 2 is best, C = 3", 1, 5),
    }
)
