"""`SurveyClasses`: the kinds of users that a survey found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cmab_gym import checks
from cmab_gym.arrays import FloatArray

# In the info of `reset`.
_NAMES = ("survey_class_weights", "survey_class_means", "survey_class_sigmas")


@dataclass(frozen=True, eq=False)
class SurveyClasses:
    """A mixture of C classes of users, who like different arms.

    Args:
        weights: float64 (C,), the share of each class, at least 0 with sum 1.
        means: float64 (C, K), the mean reward of each arm in each class.
        sigmas: float64 (K,), the standard deviation of the rewards of each arm within a class,
            above 0.

    Raises:
        ValueError: a shape does not fit, or a number is out of range.
    """

    weights: FloatArray
    means: FloatArray
    sigmas: FloatArray

    def __post_init__(self) -> None:
        for name in ("weights", "means", "sigmas"):
            array = checks.read_only(name, getattr(self, name))
            checks.moderate(name, array)
            object.__setattr__(self, name, array)
        shapes = self.weights.shape, self.means.shape, self.sigmas.shape
        if self.means.ndim != 2 or not self.means.size or shapes[0] + shapes[2] != shapes[1]:
            raise ValueError(
                f"weights, means and sigmas have shapes {shapes}: expected (C,), (C, K) and (K,) "
                "for C classes and K arms"
            )
        if self.weights.min() < 0 or abs(self.weights.sum() - 1) > 1e-9:
            raise ValueError(f"weights={self.weights}: expected shares that sum to 1")
        if self.sigmas.min() <= 0:
            raise ValueError(
                f"sigmas holds {self.sigmas.min():g}: expected standard deviations above 0"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # By the constructor: NumPy unpickles arrays that can be written to.
        return SurveyClasses, (self.weights, self.means, self.sigmas)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> SurveyClasses | None:
        """Build the classes from the info of `reset`; None if it has none."""
        if _NAMES[0] not in arrays:
            return None
        return cls(*(arrays[name] for name in _NAMES))

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """The parts by the names that they have in the info of `reset`."""
        return dict(zip(_NAMES, (self.weights, self.means, self.sigmas), strict=True))
