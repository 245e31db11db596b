"""`Survey`: pseudo-rewards of the training users, and the reward histograms of the test users."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from cmab_gym import checks
from cmab_gym.arrays import AnyArray, FloatArray, read_only
from cmab_gym.envs_data.surveys.on_demand import RatingsOnDemand
from cmab_gym.files import read_arrays, reading, write_arrays
from cmab_gym.models.histogram import HistogramModel
from cmab_gym.problem import BanditProblem
from cmab_gym.pseudo_rewards import mask_and_pad
from cmab_gym.rows import too_large
from cmab_gym.survey_classes import SurveyClasses
from cmab_gym.survey_factors import SurveyFactors

FORMAT = 2
_LARGEST_COUNT = 2.0**53  # of which float64 knows every integer


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """The pseudo-rewards of the training users, and the reward histograms of the test users.

    Args:
        pseudo_rewards: float64 (K, K, R), pseudo-rewards [l, k, j] of the training users; or their
            ratings, if the table would be larger than `cmab_gym.rows.LARGEST_TABLE`.
        training_counts: float64 (K, R), how often each arm got each reward from training users.
        test_counts: float64 (K, R), the same of the test users.
        reward_support: float64 (R,), the possible rewards, increasing.
        reward_bounds: (low, high), the interval that holds every reward.
        arm_names: K names.
        reward_unit: the unit of the rewards.
        provenance: source, licence, checksum, arguments and sizes, as values of JSON.
        factors: how the means of new users may differ from those of the training users; None if it
            was not learned.
        classes: the kinds of training users; None if they were not learned.

    Raises:
        ValueError: the shapes do not fit, the rewards do not increase, a count is negative or not
            finite, or all training counts are 0.
    """

    pseudo_rewards: FloatArray | RatingsOnDemand
    training_counts: FloatArray
    test_counts: FloatArray
    reward_support: FloatArray
    reward_bounds: tuple[float, float]
    arm_names: tuple[str, ...]
    reward_unit: str = "stars"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    factors: SurveyFactors | None = None
    classes: SurveyClasses | None = None

    def __post_init__(self) -> None:
        for name in ("pseudo_rewards", "training_counts", "test_counts", "reward_support"):
            value = getattr(self, name)
            if not isinstance(value, RatingsOnDemand):
                object.__setattr__(self, name, read_only(value))
        n_arms, size = len(self.arm_names), self.reward_support.size
        tables = (self.pseudo_rewards, self.training_counts, self.test_counts)
        shapes = tuple(each.shape for each in tables)
        if shapes != ((n_arms, n_arms, size), (n_arms, size), (n_arms, size)):
            raise ValueError(
                f"pseudo_rewards, training_counts and test_counts have shapes {shapes}: expected "
                f"(K, K, R), (K, R) and (K, R) for {n_arms} arms and {size} rewards"
            )
        checks.increasing("reward_support", self.reward_support)
        for name in ("training_counts", "test_counts"):
            counts = getattr(self, name)
            if not ((counts >= 0) & (counts <= _LARGEST_COUNT)).all():
                raise ValueError(
                    f"{name} holds {counts.min():g} to {counts.max():g}: expected counts"
                )
        if not self.training_counts.any():
            raise ValueError("training_counts holds only 0: expected ratings of training users")

    def model(self, mask: float = 0.0, pad: float = 0.0, mask_seed: int = 0) -> HistogramModel:
        """Make a bandit model whose problem holds this table, masked and padded.

        Args:
            mask: share of the entries to mask (the paper's p), from 0 to 1.
            pad: buffer added to the other entries (the paper's q), in the reward's unit.
            mask_seed: seed of the choice of the entries to mask.

        Raises:
            ValueError: an argument is out of range.
        """
        # The second number makes the mask independent of the genre draw with the same seed.
        seed = (checks.whole_number("mask_seed", mask_seed, 0), 1)
        table, support, high = self.pseudo_rewards, self.reward_support, self.reward_bounds[1]
        rows = (
            table.rows(mask, pad, seed)
            if isinstance(table, RatingsOnDemand)
            else mask_and_pad(table, support, high, mask, pad, default_rng(seed))
        )
        counts = self.training_counts.sum(axis=1)
        totals = self.training_counts @ self.reward_support
        means = np.full(counts.size, totals.sum() / counts.sum())
        np.divide(totals, counts, out=means, where=counts > 0)
        problem = BanditProblem(
            rows,
            self.reward_support,
            self.reward_bounds,
            survey_means=means,
            survey_counts=counts.astype(np.int64),
            survey_factors=self.factors,
            survey_classes=self.classes,
        )
        return HistogramModel(
            self.test_counts, problem, self.arm_names, self.reward_unit, self.provenance
        )

    def save(self, path: str | Path) -> None:
        """Write the survey, whole or not at all, as an `.npz` file without pickles.

        Raises:
            ValueError: the table is too large to be computed whole.
        """
        if isinstance(self.pseudo_rewards, RatingsOnDemand):
            raise too_large("a saved survey", len(self.arm_names), self.reward_support.size)
        meta = {
            "format": FORMAT,
            "reward_bounds": list(self.reward_bounds),
            "reward_unit": self.reward_unit,
            "provenance": dict(self.provenance),
        }
        arrays = {
            "pseudo_rewards": self.pseudo_rewards,
            "training_counts": self.training_counts,
            "test_counts": self.test_counts,
            "reward_support": self.reward_support,
            "arm_names": np.array(self.arm_names, dtype=np.str_),
            "meta": np.array(json.dumps(meta, sort_keys=True)),
            **({} if self.factors is None else self.factors.arrays),
            **({} if self.classes is None else self.classes.arrays),
        }
        arrays["checksum"] = np.array(_checksum(arrays))
        write_arrays(Path(path), arrays)

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey that `save` wrote.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: it is not a survey, has another format, or its checksum is wrong.
        """
        if not isfile(path):
            raise FileNotFoundError(f"{path} is not a file: expected a survey (.npz)")
        with reading(str(path), f"expected a survey of format {FORMAT}; rebuild it"):
            content = read_arrays(Path(path))
            for name, array in content.items():
                if array.dtype.kind not in "fiuU":
                    raise ValueError(f"{name} is of type {array.dtype}")
            checksum, meta = str(content.pop("checksum")), json.loads(str(content["meta"]))
            if meta["format"] != FORMAT:
                raise ValueError(f"it has format {meta['format']}")
            if checksum != _checksum(content):
                raise ValueError("its checksum is wrong")
            return cls(
                content["pseudo_rewards"],
                content["training_counts"],
                content["test_counts"],
                content["reward_support"],
                checks.interval("reward_bounds", meta["reward_bounds"]),
                tuple(str(name) for name in content["arm_names"]),
                meta["reward_unit"],
                meta["provenance"],
                SurveyFactors.from_arrays(content),
                SurveyClasses.from_arrays(content),
            )


def _checksum(arrays: Mapping[str, AnyArray]) -> str:
    """Return the SHA-256 of the names, types, shapes and contents of arrays."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
