"""`SurveyFactors`: how a new population may differ from the means of a survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.arrays import FloatArray

_NAMES = ("survey_loadings", "survey_deviation", "survey_sigmas")  # in the info of `reset`


@dataclass(frozen=True, eq=False)
class SurveyFactors:
    """A normal model of the means of a new population, given those of a survey.

    The mean of arm k is m_k + sum_i loadings[k, i] x_i + e_k, where m_k is its mean in the survey,
    x_1 to x_r are standard normal, e_k is normal with standard deviation `deviation`, and all are
    independent. So the means of arms with similar loadings rise and fall together.

    Args:
        loadings: float64 (K, r), in the reward's unit, r of at least 1.
        deviation: 0 or more, in the reward's unit.
        sigmas: float64 (K,), the standard deviation of one reward of each arm, above 0.

    Raises:
        ValueError: a shape does not fit, or a number is out of range.
    """

    loadings: FloatArray
    deviation: float
    sigmas: FloatArray

    def __init__(self, loadings: ArrayLike, deviation: float, sigmas: ArrayLike) -> None:
        for name, value in (("loadings", loadings), ("sigmas", sigmas)):
            object.__setattr__(self, name, checks.read_only(name, value))
        remedy = "it is a standard deviation"
        deviation = checks.number_between("deviation", deviation, 0, checks.LARGEST, remedy)
        object.__setattr__(self, "deviation", deviation)
        shapes = self.loadings.shape, self.sigmas.shape
        if self.loadings.ndim != 2 or shapes[1] != shapes[0][:1] or not self.loadings.size:
            raise ValueError(
                f"loadings and sigmas have shapes {shapes}: expected (K, r) and (K,) for K arms "
                "and r factors"
            )
        checks.moderate("loadings", self.loadings)
        checks.moderate("sigmas", self.sigmas)
        if not (self.sigmas > 0).all():
            raise ValueError(
                f"sigmas holds {self.sigmas.min():g}: expected standard deviations above 0"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # By the constructor: NumPy unpickles arrays that can be written to.
        return SurveyFactors, (self.loadings, self.deviation, self.sigmas)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> SurveyFactors | None:
        """Build the factors from the info of `reset`; None if it has none."""
        if _NAMES[0] not in arrays:
            return None
        loadings, deviation, sigmas = (arrays[name] for name in _NAMES)
        return cls(loadings, float(deviation), sigmas)

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """The parts by the names that they have in the info of `reset`."""
        return dict(
            zip(_NAMES, (self.loadings, np.array(self.deviation), self.sigmas), strict=True)
        )
