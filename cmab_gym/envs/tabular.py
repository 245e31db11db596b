"""`CMAB-Tabular-v0`: any joint distribution of finitely many rewards."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from cmab_gym import checks
from cmab_gym.envs.base import BanditEnv
from cmab_gym.envs.vector import BanditVectorEnv
from cmab_gym.models.presets import TABULAR
from cmab_gym.models.tabular import TabularModel, outcomes_of


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
    outcomes: ArrayLike
    probabilities: ArrayLike
    if pmf is not None:
        if preset is not None:
            raise ValueError(f"preset={preset!r} and a pmf: expected one of them; leave one out")
        outcomes, probabilities = outcomes_of(pmf, supports)
    else:
        if supports is not None:
            raise ValueError("supports without a pmf: expected both, or only a preset")
        name = checks.choice("preset", "table1-a" if preset is None else preset, TABULAR)
        chosen = TABULAR[name]
        outcomes, probabilities = chosen.outcomes, chosen.probabilities
        if pseudo_rewards is None:
            pseudo_rewards = chosen.pseudo_rewards
        if pseudo_lower_bounds is None:
            pseudo_lower_bounds = chosen.pseudo_lower_bounds
    return TabularModel(
        outcomes, probabilities, pseudo_rewards, reward_bounds, allow_invalid, pseudo_lower_bounds
    )


class TabularEnv(BanditEnv):
    """A bandit whose rewards have a given joint probability table.

    Description:
        Each round draws one joint outcome, the rewards of all arms. The player sees the reward of
        the arm it pulls.

    Arms:
        `Discrete(K)`, K >= 2: one for each axis of the table.

    Observation:
        `Discrete(1)`: a bandit has no state.

    Reward:
        The pulled arm's reward in the joint outcome.

    Information:
        `reset`: pseudo_rewards float64 (K, K, R); reward_support float64 (R,), the sorted rewards
        of all arms; reward_bounds float64 (2,), low and high; pseudo_lower_bounds float64
        (K, K, R), if they are known.
        `step`: pseudo_reward float64 (K,), s_lk of the pull for every arm l; reward_index int64;
        regret float, the sum of the gaps of this episode's pulls.

    Episode end:
        Terminates after `horizon` rounds.

    Arguments:
        preset: "table1-a" (default), "table1-b", "three-armed", "appendix" or "two-sided".
        pmf: (n_1, ..., n_K), the joint probabilities, instead of a preset.
        supports: K lists of rewards, one for each arm, of lengths n_1, ..., n_K; default 0, 1, ...,
            n_k - 1.
        pseudo_rewards: (K, K, R) over the sorted rewards of all arms; default the preset's, or the
            conditional means of the pmf.
        reward_bounds: (low, high); default the smallest and largest reward.
        allow_invalid: accept pseudo-rewards that are not upper bounds.
        pseudo_lower_bounds: (K, K, R), -infinity where nothing is known; default those of the
            preset, if it has any.
        horizon, step_info, draws, render_mode: see `BanditEnv`.

    Registered ids:
        `CMAB-Tabular-v0`.

    Source:
        Gupta et al. (2021), Section 2.1; Tables 1, 2, 3 and 5.

    Version history:
        v0: first version.

    Examples:
        >>> import gymnasium as gym
        >>> import cmab_gym
        >>> env = gym.make("CMAB-Tabular-v0", pmf=[[0.1, 0.2], [0.3, 0.4]])  # P(R_0, R_1)
        >>> env.unwrapped.model.means
        array([0.7, 0.6])
        >>> observation, info = env.reset(seed=0)
        >>> info["pseudo_rewards"][1, 0].round(3)  # E[R_1 | R_0 = 0] and E[R_1 | R_0 = 1]
        array([0.667, 0.571])
    """

    build_model = staticmethod(tabular_model)


class TabularVectorEnv(BanditVectorEnv):
    """Many trials of `TabularEnv` in lockstep."""

    compiled_loop = True
    build_model = staticmethod(tabular_model)
