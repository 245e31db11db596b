"""The info dictionaries that `reset` and `step` return."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from cmab_gym.arrays import AnyArray, BoolArray
from cmab_gym.problem import BanditProblem

Info: TypeAlias = dict[str, Any]
StepInfo: TypeAlias = Literal["row", "table", "none"]
STEP_INFO = ("row", "table", "none")
NO_JOINT_OUTCOME = (
    "with draws='pulls' a round has no joint outcome: expected draws='rounds', which gives every "
    "arm a reward in each round; make the environment with it"
)


def reset_info(problem: BanditProblem, num_envs: int | None = None) -> Info:
    """Return the info of `reset`: fresh copies of what a player may know.

    Args:
        problem: the bandit problem with K arms and R rewards.
        num_envs: number of sub-environments, the first axis of each array; None adds no axis.

    Returns:
        pseudo_rewards float64 (K, K, R), if it takes at most `LARGEST_TABLE` bytes;
        reward_support float64 (R,); reward_bounds float64 (2,), low and high; reward_edges float64
        (R + 1,) and reward_bin_width float64 (), the width of the largest bin, if rewards are
        continuous; pseudo_lower_bounds float64 (K, K, R) if the problem has them; survey_means
        float64 (K,) and survey_counts int64 (K,) if it comes from a survey; survey_loadings float64
        (K, r), survey_deviation float64 () and survey_sigmas float64 (K,) if it has
        `SurveyFactors`; survey_class_weights float64 (C,), survey_class_means float64 (C, K) and
        survey_class_sigmas float64 (K,) if it has `SurveyClasses`; reward_sigma float64 () if it is
        known.
    """
    tables = ("pseudo_rewards", "pseudo_lower_bounds") if problem.rows.is_small else ()
    arrays: dict[str, Any] = {
        "reward_support": problem.reward_support,
        "reward_bounds": np.array(problem.reward_bounds),
    }
    for name in (*tables, "reward_edges", "survey_means", "survey_counts"):
        if getattr(problem, name) is not None:
            arrays[name] = getattr(problem, name)
    if problem.reward_edges is not None:
        arrays["reward_bin_width"] = np.diff(problem.reward_edges).max()
    for learned in (problem.survey_factors, problem.survey_classes):
        arrays |= {} if learned is None else learned.arrays
    if problem.reward_sigma is not None:
        arrays["reward_sigma"] = np.float64(problem.reward_sigma)
    if num_envs is None:
        return {key: array.copy() for key, array in arrays.items()}
    return {key: repeated(array, num_envs) for key, array in arrays.items()}


def repeated(array: AnyArray, times: int) -> AnyArray:
    """Copy an array `times` times along a new first axis."""
    copies: AnyArray = np.broadcast_to(array, (times, *array.shape)).copy()
    return copies


def with_masks(info: Info, present: BoolArray) -> Info:
    """Add Gymnasium's masks: `_key` says for which sub-environments `key` holds a value.

    Args:
        info: changed in place.
        present: bool (num_envs,), the mask of every key.
    """
    for key in tuple(info):
        info["_" + key] = present.copy()
    return info
