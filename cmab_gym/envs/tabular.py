"""`CMAB-Tabular-v0`: any joint distribution of finitely many rewards."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.models.presets import TABULAR
from cmab_gym.models.tabular import TabularModel


def tabular_model(
    preset: str | None = None,
    pmf: ArrayLike | None = None,
    supports: Sequence[ArrayLike] | None = None,
    pseudo_rewards: ArrayLike | None = None,
    reward_bounds: tuple[float, float] | None = None,
    allow_invalid: bool = False,
    pseudo_lower_bounds: ArrayLike | None = None,
) -> TabularModel:
    """Build the model of `CMAB-Tabular-v0`; the arguments are those of `TabularEnv`."""
    if pmf is not None and preset is not None:
        raise ValueError(f"preset={preset!r} and a pmf: expected one of them")
    if pmf is not None:
        return TabularModel.from_pmf(
            pmf, supports, pseudo_rewards, reward_bounds, allow_invalid, pseudo_lower_bounds
        )
    if supports is not None:
        raise ValueError("supports without a pmf: expected both, or a preset alone")
    name = checks.choice("preset", preset or "table1-a", TABULAR)
    chosen = TABULAR[name]
    table = chosen.pseudo_rewards if pseudo_rewards is None else pseudo_rewards
    lower = chosen.pseudo_lower_bounds if pseudo_lower_bounds is None else pseudo_lower_bounds
    return TabularModel(
        chosen.outcomes, chosen.probabilities, table, reward_bounds, allow_invalid, lower
    )


class TabularEnv(BanditEnv):
    """A bandit given by the joint probability table of its rewards.

    Description:
        Each round draws one joint outcome, the rewards of all arms; the player sees the reward of
        the arm it pulls.

    Arms:
        `Discrete(K)`, K >= 2: one for each axis of the table.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        The pulled arm's part of the joint outcome.

    Information:
        `reset`: pseudo_rewards float64 (K, K, R); reward_support float64 (R,), all rewards of all
        arms, sorted; reward_bounds float64 (2,), low and high; pseudo_lower_bounds float64
        (K, K, R) where they are known.
        `step`: pseudo_reward float64 (K,), s_lk of the pull for every arm l; reward_index int64;
        regret float, the sum of the gaps of this episode's pulls.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        preset: "table1-a" (default), "table1-b", "three-armed", "appendix" or "two-sided".
        pmf: (n_1, ..., n_K), the joint probabilities, instead of a preset.
        supports: K lists of rewards, the k-th of length n_k; default 0, 1, ..., n_k - 1.
        pseudo_rewards: (K, K, R) over the sorted rewards of all arms; default the preset's, or the
            conditional means of the pmf.
        reward_bounds: (low, high); default the smallest and largest reward.
        allow_invalid: accept pseudo-rewards that are not upper bounds.
        pseudo_lower_bounds: (K, K, R), -infinity where nothing is known; default the preset's, or
            none.
        horizon, step_info, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-Tabular-v0`.

    Source:
        Gupta et al. (2021), Section 2.1; Tables 1, 2, 3 and 5.

    Version history:
        v0: first version.
    """

    build_model = staticmethod(tabular_model)


class TabularVectorEnv(BanditVectorEnv):
    """Many trials of `TabularEnv` in lockstep."""

    build_model = staticmethod(tabular_model)
