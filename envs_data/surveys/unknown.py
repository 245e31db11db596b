"""The share of a survey's pseudo-rewards that are unknown, and the note about it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from cmab_gym.arrays import FloatArray
from cmab_gym.envs_data.surveys.pooled import Pooled

_SPARSE = 0.5  # share of unknown pseudo-rewards above which a survey says little


class SparseSurveyWarning(UserWarning):
    """More than half of the pseudo-rewards of a survey are unknown.

    Examples:
        >>> import warnings
        >>> warnings.simplefilter("ignore", SparseSurveyWarning)
    """


@contextmanager
def without_survey_warnings() -> Iterator[None]:
    """Ignore `SparseSurveyWarning`, for callers that print the note or whose caller was warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseSurveyWarning)
        yield


def unknown_share(training: Pooled, test_counts: FloatArray, min_support: int) -> float:
    """Return the share of unknown entries among the pseudo-rewards that pulls can show.

    Pulls can show the entries [l, k, j] with l != k of rewards r_j that test users gave arm k.

    Args:
        training: the ratings of the training users.
        test_counts: float64 (K, R), how often each arm got each reward from test users.
        min_support: an entry based on fewer ratings is unknown.
    """
    others = ~np.eye(training.n_arms, dtype=np.bool_)[:, :, None]
    shown = others & (test_counts > 0)
    unknown = training.n_ratings < min_support
    return float(unknown[shown].mean()) if shown.any() else 0.0


def says_little(provenance: Mapping[str, Any]) -> bool:
    """Return whether more than half of the pseudo-rewards of a survey are unknown."""
    return bool(provenance.get("unknown_share", 0) > _SPARSE)


def unknown_note(provenance: Mapping[str, Any]) -> str:
    """Return a sentence about the unknown pseudo-rewards of a survey; "" if there are none."""
    share = provenance.get("unknown_share", 0)
    if not share:
        return ""
    fewest = provenance["method"]["min_support"]
    basis = "no rating" if fewest == 1 else f"fewer than {fewest} ratings"
    note = f"{100 * share:.1f} % of the pseudo-rewards are unknown (based on {basis})"
    if says_little(provenance):
        note += (
            ", so correlated agents gain little: round ratings that take many different values "
            "(round_to=[1, 2, 3, 4, 5]), or choose arms with more users in common"
        )
    return note
